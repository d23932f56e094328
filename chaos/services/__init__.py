"""The servers a lab talks to: how each is started in a directory of its own, and the round trip that shows it healthy."""
