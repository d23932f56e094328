"""The second opinion on locks and statuses agrees with the first where both mean the same, and sees staleness where only it looks."""

from hypothesis import given
from hypothesis import strategies as st

from scenarios.judging.checkers import single_holder
from scenarios.judging.linearizability.objects import OBJECTS
from scenarios.judging.linearizability.search import linearizable
from scenarios.judging.policy import NO_POLICY
from scenarios.judging.verdict import Ruling
from scenarios.record.history import History
from tests.examples import examples
from tests.histories import history

ACTIONS = st.tuples(
    st.sampled_from(["lease.acquired", "lease.renewed", "lease.released"]), st.sampled_from("abc"), st.integers(1, 6)
)


@st.composite
def lock_histories(draw: st.DrawFn) -> History:
    """What holders could have seen of one lock; each does only what it can: renew and release what it holds, acquire what it does not."""
    until: dict[str, float] = {}
    lines = []
    for place, (name, actor, ttl_s) in enumerate(draw(st.lists(ACTIONS, max_size=12))):
        holds = until.get(actor, -1) > place
        if holds != (name != "lease.acquired"):
            continue
        until[actor] = -1 if name == "lease.released" else place + ttl_s - 0.5
        lines.append(f"{place} {actor} {name} resource=r ttl_s={ttl_s - 0.5}")
    return history(*lines)


@examples(300)
@given(lock_histories())
def test_a_lock_has_a_single_holder_if_and_only_if_it_is_a_linearizable_mutex(seen: History) -> None:
    model, calls = OBJECTS["lock"]

    answer = linearizable(calls(seen), model)

    assert (answer.ruling is Ruling.BROKEN) == bool(single_holder.check(seen, NO_POLICY).violations)


ROWS = """
    1.0   database  state  a  to=ACCEPTED
    1.5   database  state  a  from=ACCEPTED  to=RUNNING
    1.8   database  state  a  from=RUNNING  to=SUCCEEDED
"""


def ruling_on(*reads: str) -> Ruling:
    model, calls = OBJECTS["status"]
    return linearizable(calls(history(ROWS, *reads)), model).ruling


def test_a_status_that_keeps_up_with_its_rows_is_linearizable() -> None:
    assert (
        ruling_on(
            """
        1.2  reader  status  a  state=ACCEPTED
        1.6  reader  status  a  state=RUNNING
        2.0  reader  status  a  state=SUCCEEDED
        """
        )
        is Ruling.HELD
    )


def test_a_status_from_a_cache_that_lags_is_not() -> None:
    assert ruling_on("1.6 reader status a state=RUNNING", "1.7 reader status a state=ACCEPTED") is Ruling.BROKEN


def test_a_status_ahead_of_its_row_is_not() -> None:
    assert ruling_on("1.2 reader status a state=SUCCEEDED") is Ruling.BROKEN
