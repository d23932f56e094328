"""The old address of `tasklab.suite`, in a clone: the plug-in of pytest collects that one instead (tasklab/pytest_plugin.py)."""
