"""The engine for large histories: unremarkable tasks are counted, the checkers see the rest."""
