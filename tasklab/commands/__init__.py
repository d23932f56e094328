"""The command line, one command a file; the only package that uses every other one."""
