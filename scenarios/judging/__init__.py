"""From a record to verdicts: pure functions over histories."""
