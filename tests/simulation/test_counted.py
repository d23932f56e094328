"""The counters of a world are held against its audit trail: what was surely settled was counted, and nothing more than that."""

from collections import Counter
from types import SimpleNamespace

import pytest

from scenarios.systems.reference.counted import wrong_counts

ROWS = [
    SimpleNamespace(actor="worker-1", from_status="RUNNING", to_status=to_status, calm=calm)
    for to_status, calm in (("SUCCEEDED", True), ("SUCCEEDED", False), ("RETRYING", True))
] + [SimpleNamespace(actor="rescuer-1", from_status="RUNNING", to_status="RETRYING", calm=True)]


@pytest.mark.parametrize(
    ("counted", "wrong"),
    [
        ({"succeeded": 2, "retrying": 1}, []),
        ({"succeeded": 1, "retrying": 1, "not held": 7}, []),
        ({"succeeded": 2}, ["1 attempts were settled as retrying, and 0 counted"]),
        ({"succeeded": 3, "retrying": 1}, ["2 attempts were settled as succeeded, and 3 counted"]),
    ],
)
def test_what_a_worker_settled_in_calm_is_counted(counted: dict[str, int], wrong: list[str]) -> None:
    found = wrong_counts(ROWS, Counter(counted), lambda row: not row.calm, workers=["worker-1"])

    assert list(found) == wrong
