"""Adapters: an app of Celery, Dramatiq or RQ is tested as it is configured, in its own Python, without a plug-in.

`adapted.py` says which library and app; `shims/` is what runs in the user's Python, two files a library.
"""
