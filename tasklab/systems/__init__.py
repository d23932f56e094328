"""The systems that the lab brings, for the entry points: one address in a clone and in a wheel."""
