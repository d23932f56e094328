"""The second opinion on locks and statuses agrees with the first where both mean the same, and sees staleness where only it looks."""

from hypothesis import given
from hypothesis import strategies as st

from scenarios.judging.checkers import single_holder
from scenarios.judging.linearizability.objects import OBJECTS
from scenarios.judging.linearizability.search import linearizable
from scenarios.judging.policy import NO_POLICY
from scenarios.judging.verdict import Ruling
from scenarios.record.history import Event, History
from tests.history_strategies import Draft, Life, examples, live

ACTIONS = st.tuples(
    st.sampled_from(["lease.acquired", "lease.renewed", "lease.released"]), st.sampled_from("abc"), st.integers(1, 6)
)


@st.composite
def lock_histories(draw: st.DrawFn) -> History:
    """What holders could have seen of one lock; each does only what it can: renew and release what it holds, acquire what it does not."""
    until: dict[str, float] = {}
    events = []
    for place, (name, actor, ttl_s) in enumerate(draw(st.lists(ACTIONS, max_size=12))):
        holds = until.get(actor, -1) > place
        if holds != (name != "lease.acquired"):
            continue
        until[actor] = -1 if name == "lease.released" else place + ttl_s - 0.5
        events.append(Event(event=name, actor=actor, t_ns=place * 10**9, resource="r", ttl_s=ttl_s - 0.5))
    return History(events)


@examples(300)
@given(lock_histories())
def test_a_lock_has_a_single_holder_if_and_only_if_it_is_a_linearizable_mutex(history: History) -> None:
    model, calls = OBJECTS["lock"]

    answer = linearizable(calls(history), model)

    assert (answer.ruling is Ruling.BROKEN) == bool(single_holder.check(history, NO_POLICY).violations)


def a_status(*reads: tuple[float, str]) -> Ruling:
    draft = Draft(audited=True)
    live(draft, "a", Life("done", (), frozenset(), 1.0))
    for at_s, state in reads:
        draft.add(at_s, "reader", "status", task="a", state=state)
    model, calls = OBJECTS["status"]
    return linearizable(calls(draft.recorded().history), model).ruling


def test_a_status_that_keeps_up_with_its_rows_is_linearizable() -> None:
    assert a_status((1.2, "ACCEPTED"), (1.6, "RUNNING"), (2.0, "SUCCEEDED")) is Ruling.HELD


def test_a_status_from_a_cache_that_lags_is_not() -> None:
    assert a_status((1.6, "RUNNING"), (1.7, "ACCEPTED")) is Ruling.BROKEN


def test_a_status_ahead_of_its_row_is_not() -> None:
    assert a_status((1.2, "SUCCEEDED")) is Ruling.BROKEN
