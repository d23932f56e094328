"""Checks a system before any fault: does each word of its protocol do what it says."""
