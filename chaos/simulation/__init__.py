"""A world without a real clock, thread or socket: a seed decides everything in it."""
