"""A world without a real clock, thread or socket: everything that happens in it is decided by a seed."""
