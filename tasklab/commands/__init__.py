"""The command line, one command a file; the only place that knows every other package."""
