"""From a run directory to its verdicts: reads what the run left, has it judged, and leaves verdicts.json beside it."""

import msgspec

from scenarios.guarantees import Guarantee
from scenarios.judge import Judgement, judge
from scenarios.policy import Policy
from scenarios.rundir import VERDICTS_FILE, RunDirectory, write_whole


def judge_run(directory: RunDirectory) -> Judgement:
    """Judge the run with the judges of today; the judgement is written to verdicts.json.

    Raises:
        FileNotFoundError, msgspec.DecodeError: this is no run directory.
    """
    facts = directory.read_facts()
    problems = list(facts.problems)
    if not facts.finished:
        problems.append("the run did not come to its end")
    judgement = judge(
        directory.read_history(),
        claims=[Guarantee(name) for name in facts.claims],
        policy=msgspec.convert(facts.policy, Policy),
        problems=problems,
    )
    content = msgspec.json.format(msgspec.json.encode(judgement.to_json()), indent=2)
    write_whole(directory.path / VERDICTS_FILE, content + b"\n")
    return judgement
