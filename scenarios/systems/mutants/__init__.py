"""The reference with one planted defect each: what the judges have to find, and the name of the promise that has to find it.

All of them lack the last safety net, the sweep that puts undelivered tasks in the queue again: it is there to hide just such defects.
"""
