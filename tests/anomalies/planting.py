"""How a known misbehaviour is planted into a history, and what the planting is expected to break."""

from collections.abc import Callable, Mapping

from scenarios.judging.guarantees import Guarantee
from tests.history_drafts import Draft

Expected = Mapping[Guarantee, tuple[str, ...]]


Plant = Callable[[Draft, float], Expected]


X = "planted"


UNTROUBLED_S = 800
"""From here on no fault of a legal draft is at work that could explain or excuse anything."""


LATE_S = 1001
"""From here on the budget of a task is not over when the history ends."""


def done(draft: Draft, task: str = X) -> None:
    draft.lists["done"].append(task)


def write_rows(draft: Draft, at_s: float, *states: str) -> None:
    """A refused submission, and rows all the same: nothing but the rows is judged."""
    draft.submit(at_s, X, "fail")
    before = None
    for number, state in enumerate(states):
        draft.add(at_s + 1 + number, "database", "state", task=X, from_=before, to=state)
        before = state


def succeeded_with_rows(draft: Draft, at_s: float) -> None:
    draft.submit(at_s, X)
    draft.row(at_s + 0.9, X, "ACCEPTED", "RUNNING")
    draft.succeed(at_s + 1, X, "worker-x")
    draft.row(at_s + 1.4, X, "RUNNING", "SUCCEEDED")
    done(draft)


def planted(draft: Draft, plant: Plant, at_s: float) -> tuple[Draft, Expected]:
    """A copy of the draft with one anomaly in it, and what that breaks."""
    copy = Draft(
        draft.window,
        draft.audited,
        draft.leased,
        list(draft.events),
        {name: list(tasks) for name, tasks in draft.lists.items()},
        draft.end_s,
        dict(draft.schedules),
    )
    return copy, plant(copy, at_s)
