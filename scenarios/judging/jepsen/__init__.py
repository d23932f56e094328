"""Jepsen histories of queues, judged by Jepsen's checkers and by this lab's promises (docs/jepsen.md)."""
