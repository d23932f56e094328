"""What `tasklab check` can be given beside a single run: many runs, judged cases, histories of Jepsen, single objects."""
