"""The real world behind the ports: the only importers of drivers, time, random and threading."""
