"""Load on the reference's API by Locust, in a process of its own, because Locust patches the one it is in."""
