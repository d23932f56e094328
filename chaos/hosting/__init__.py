"""Processes of the system under test and of services: started, watched, killed, never left behind."""
