"""Many worlds: campaigns, shrinking what fails, and telling it as a story."""
