"""The services: how each is started in a directory of its own, and the round trip that shows that it is healthy."""
