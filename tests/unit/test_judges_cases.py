"""Every judged case comes out as it was worked out by hand."""

import json
from pathlib import Path

import pytest

from scenarios.judging.guarantees import Guarantee
from scenarios.judging.judge import judge
from scenarios.judging.policy import policy_from
from scenarios.record.history import History, Recorded, event_from

PLACE = Path(__file__).parent.parent / "cases"
CASES = [
    case for name in ("task-histories.json", "public-histories.json") for case in json.loads((PLACE / name).read_text())
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_judged_case_comes_out_as_worked_out_by_hand(case: dict) -> None:
    recorded = Recorded(History(map(event_from, case["events"])))
    claims = [Guarantee(name) for name in case["claims"]]

    judgement = judge(recorded, claims=claims, policy=policy_from(case["policy"])).to_json()

    said = judgement["verdicts"]
    for name, expected in case["expect"].items():
        actual = {field: said[name][field] for field in expected}
        assert actual == expected, f"{name}: {said[name]['reason']}"
