"""How a history too large to be held in Python gets the same verdicts."""
