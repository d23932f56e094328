"""Mutants: the reference with one planted defect each, one per module, with the guarantees that must be found broken.

`scenarios/systems/mutant.py` says what a mutant is and finds one by its name. A module here holds `system`: a `Mutant` with its name,
its defect, the guarantees that must be found broken, and the patch (`ack_before_commit.py` is a short example).

None of them enqueues undelivered tasks again: that safety net would hide many of the defects.
"""
