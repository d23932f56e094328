"""What the lab observes late breaks no promise; a judgement over a violated assumption can be written down."""

from pathlib import Path
from random import Random

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from scenarios.judging.guarantees import Guarantee
from scenarios.judging.judge import judge
from scenarios.judging.verdict import Ruling
from scenarios.record.history import Event, History, Recorded
from scenarios.record.run_facts import RunFacts
from scenarios.stored.judge_files import judge_run
from scenarios.stored.rundir import RunDirectory
from tests.examples import examples
from tests.history_strategies import Draft, legal_drafts
from tests.unit.rule_cases import SUBMITTED, final, written


def test_a_judgement_over_a_violated_assumption_can_be_written_down(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    directory.create()
    written(tmp_path, "history.lab.jsonl", *SUBMITTED, final(done=["A"]))
    directory.seal(
        RunFacts(scenario="s", system="s", environment="e", seed=1, repeat="", claims=[Guarantee.NO_LOST_TASK.value])
    )

    assert judge_run(directory).problems == ("A: listed as done, and never ran",)


LATE_NS = 300_000_000


@examples(60)
@given(legal_drafts(), st.randoms(use_true_random=False))
def test_what_the_lab_observes_late_breaks_no_promise(draft: Draft, random: Random) -> None:
    """A busy machine stamps a crash or a step of a fault up to 0.3 s after it happened, and says when it asked for it."""

    def observed(one: Event) -> Event:
        if not one.event.startswith(("crash", "restart", "fault.")):
            return one
        return msgspec.structs.replace(one, asked_ns=one.t_ns, t_ns=one.t_ns + random.randrange(LATE_NS))

    judgement = judge(Recorded(History(map(observed, draft.all_events()))), claims=Guarantee, policy=draft.policy)

    assert {one.guarantee: one.reason for one in judgement.verdicts if one.ruling is not Ruling.HELD} == {}
