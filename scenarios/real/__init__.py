"""The experiment on real services: threads, processes, sockets and a run directory."""
