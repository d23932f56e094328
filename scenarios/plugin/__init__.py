"""A plug-in's code in a process of its own: the client process, its protocol, and the system that the lab sees."""
