"""Mutants: the reference with one planted defect each, one per module, with the guarantees that must be found broken.

None of them enqueues undelivered tasks again: that safety net would hide many of the defects.
"""
