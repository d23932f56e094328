"""Inputs of `tasklab check` other than a single run: many runs, judged cases, histories of Jepsen, single objects."""
