"""The work of the commands: environments by name, judged and reported runs, the load driver, and searches."""
