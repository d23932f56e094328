"""What stands between a process and a service, so that exactly one thing can be lost."""
