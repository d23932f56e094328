"""Celery's own settings: nothing is stated. Messages are acknowledged before their task runs."""
