"""Processes of the system under test and of services: started, watched, killed; none outlives the lab."""
