"""The systems that come with the lab, for the entry points: the same address in a clone and in a wheel."""
