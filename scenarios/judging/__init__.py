"""From histories to verdicts. Pure."""
