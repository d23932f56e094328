"""Old Jepsen runs of queues, judged again: their histories read, judged as Jepsen does and as this lab does (docs/jepsen.md)."""
