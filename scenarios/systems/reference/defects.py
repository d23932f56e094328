"""What the reference never does in a world, whatever the faults: beyond its promises, what it documents of its answers and rows."""

from collections import Counter
from collections.abc import Iterator, Sequence

from chaos.simulation.kernel.trace import Step
from reference_impl.settings import Settings
from reference_impl.task import FINAL, TaskState
from scenarios.contract.system import ReadStatus, Submit
from scenarios.simulated.inspection import Answer, Inspection
from scenarios.systems.reference.dead_queue import wrong_messages
from scenarios.systems.reference.documented import contradictions
from scenarios.systems.reference.refusals import wrong_answers

NEW = "202 new"
"""The detail of an answer to a submission that has created its task."""


def defects(inspection: Inspection, settings: Settings, settled: Counter[str]) -> Sequence[str]:
    """A sentence for each. `settled`: the attempts that the metrics count as settled, by outcome."""
    return [
        *_failures(inspection.answers),
        *_conflicts_without_cause(inspection.answers),
        *_shared_ids(inspection.answers),
        *_wrongly_new(inspection.answers),
        *_created_without_limit(inspection.steps),
        *_wrong_views(inspection),
        *wrong_answers(inspection),
        *wrong_messages(inspection, settings.dead_queue),
        *contradictions(inspection, settings, settled),
    ]


def _failures(answers: Sequence[Answer]) -> Iterator[str]:
    """No request ends in an error that the API does not know, and none tells of its statements."""
    for answer in answers:
        if (answer.outcome.detail or "").startswith("500") or "[SQL" in (answer.outcome.detail or ""):
            yield f"{type(answer.operation).__name__} was answered {answer.outcome.detail}"


def _submissions(answers: Sequence[Answer]) -> list[tuple[Answer, Submit]]:
    return [(answer, answer.operation) for answer in answers if isinstance(answer.operation, Submit)]


def _shared_ids(answers: Sequence[Answer]) -> Iterator[str]:
    """No two requests are answered with one task."""
    tasks: dict[str, str] = {}
    for answer, submit in _submissions(answers):
        if answer.outcome.kind == "ok" and answer.outcome.id is not None:
            first = tasks.setdefault(answer.outcome.id, submit.task)
            if first != submit.task:
                yield f"{submit.task} was answered with the id of {first}"


def _wrongly_new(answers: Sequence[Answer]) -> Iterator[str]:
    """A task is new once; and only to whom it may have been submitted before is it not."""
    asked = _submissions(answers)
    new: set[str] = set()
    for answer, submit in asked:
        if answer.outcome.kind != "ok":
            continue
        if answer.outcome.detail == NEW:
            if submit.task in new:
                yield f"{submit.task} was answered as new twice"
            new.add(submit.task)
        elif not any(
            other is not answer and before.task == submit.task and other.asked_ns <= answer.answered_ns
            for other, before in asked
        ):
            yield f"{submit.task} was answered as known, and had never been submitted before"


def _created_without_limit(steps: Sequence[Step]) -> Iterator[str]:
    """No request creates a task before it has asked the rate limit, whether or not the cache answered."""
    asked: set[str] = set()
    for step in steps:
        if step.what.startswith("count"):
            asked.add(step.fiber)
        elif step.what == "insert tasks" and step.fiber not in asked:
            yield f"{step.fiber} created a task without asking the limit of new tasks"


def _wrong_views(inspection: Inspection) -> Iterator[str]:
    """A task that has ended shows no progress any more, and if it is done, the result that it handed back."""
    has_result = {task.task for task in inspection.plan.tasks if "result_size" in task.payload}
    for answer in inspection.answers:
        read, outcome = answer.operation, answer.outcome
        if not isinstance(read, ReadStatus) or outcome.kind != "ok" or outcome.state not in FINAL:
            continue
        if outcome.percent is not None:
            yield f"{read.task} was read as {outcome.state} and {outcome.percent:g} % done"
        if outcome.state == TaskState.SUCCEEDED and outcome.result is None and read.task in has_result:
            yield f"{read.task} was read as {outcome.state} without its result"


def _conflicts_without_cause(answers: Sequence[Answer]) -> Iterator[str]:
    """A key is refused only to whom another task was, or may have been, submitted under it before."""
    asked = _submissions(answers)
    for answer, submit in asked:
        if not answer.has_code("409"):
            continue
        if not any(
            other.asked_ns < answer.answered_ns
            and (before.user, before.key) == (submit.user, submit.key)
            and before.task != submit.task
            for other, before in asked
        ):
            yield f"{submit.task} was refused for its key, under which {submit.user} has submitted nothing else"
