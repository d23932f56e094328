"""Load on a system's HTTP API by Locust, in a process of its own, because Locust patches the process that imports it."""
