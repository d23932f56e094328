"""What the commands carry out: an environment by its name, a run that is judged and reported, the drivers and searches behind it."""
