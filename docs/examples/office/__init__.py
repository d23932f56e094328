"""A task system that makes every promise the lab can judge, on one SQLite file; each promise can be broken on purpose (defects.py)."""
