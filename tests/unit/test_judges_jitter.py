"""A busy lab sees late: observations that are delayed, and say since when they may have been true, break no promise."""

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scenarios.judging.guarantees import Guarantee
from scenarios.judging.judge import judge
from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Ruling
from scenarios.record.events import NS_PER_S, Event
from scenarios.record.history import History, Recorded
from scenarios.stored.large.prefilter import prefilter
from tests.examples import examples
from tests.histories import events
from tests.history_drafts import Draft, policy_with
from tests.history_files import write_by_actor
from tests.history_strategies import Life, legal_drafts, live

SEEN_BY_THE_LAB = ("crash", "restart", "fault.begin", "fault.bit", "fault.end", "fault.healed")
DELAY_NS_MAX = round(0.3 * NS_PER_S)

delays = st.lists(st.integers(0, DELAY_NS_MAX), min_size=200, max_size=200)


def seen_late(truth: list[Event], delays_ns: list[int]) -> list[Event]:
    """What a busy lab records: it works through its observations in order, each up to 0.3 s after its true time."""
    late, newest_ns, number = [], 0, 0
    for event in truth:
        if event.event not in SEEN_BY_THE_LAB:
            late.append(event)
            continue
        newest_ns = max(newest_ns, event.t_ns + delays_ns[number % len(delays_ns)])
        late.append(replace(event, t_ns=newest_ns, asked_ns=event.t_ns))
        number += 1
    return sorted(late, key=lambda event: event.t_ns)


def broken(recorded: Recorded, policy: Policy) -> dict[Guarantee, tuple[str, ...]]:
    judgement = judge(recorded, claims=Guarantee, policy=policy)
    assert judgement.malformed == ()
    return {one.guarantee: one.witnesses for one in judgement.verdicts if one.ruling is Ruling.BROKEN}


def broken_in_parts(seen: list[Event], policy: Policy) -> dict[Guarantee, tuple[str, ...]]:
    """The same by the engine for large histories."""
    with tempfile.TemporaryDirectory() as directory:
        prefiltered = prefilter(write_by_actor(seen, Path(directory)), policy, parts_min=3)
        judgement = judge(prefiltered.recorded, claims=Guarantee, policy=policy, unremarkable=prefiltered.unremarkable)
    return {one.guarantee: one.witnesses for one in judgement.verdicts if one.ruling is Ruling.BROKEN}


@examples(100)
@given(legal_drafts(), delays)
def test_a_healthy_history_breaks_no_promise_however_late_the_lab_sees(draft: Draft, delays_ns: list[int]) -> None:
    seen = seen_late(draft.all_events(), delays_ns)

    assert broken(Recorded(History(seen)), draft.policy) == {}
    assert broken_in_parts(seen, draft.policy) == {}


def killed(delay_ns: int, *, bracketed: bool) -> dict[Guarantee, tuple[str, ...]]:
    """The promises that break where a broker delivers 50 ms after the kill, and the lab sees the death so late."""
    draft = Draft()
    live(draft, "A", Life("done", ("killed",), frozenset(), 1.0))
    seen = seen_late(draft.all_events(), [delay_ns])
    if not bracketed:
        seen = [replace(event, asked_ns=None) for event in seen]
    return broken(Recorded(History(seen)), draft.policy)


def test_only_the_bracket_explains_a_delivery_that_comes_before_the_lab_has_seen_the_death() -> None:
    assert killed(0, bracketed=False) == {}
    assert killed(DELAY_NS_MAX, bracketed=True) == {}
    assert killed(DELAY_NS_MAX, bracketed=False) == {Guarantee.DUPLICATES_EXPLAINED: ("A",)}


def test_a_bracket_excuses_nothing_that_came_before_it() -> None:
    seen = events(
        """
        0     client  submit.invoke  A
        0.01  client  submit.ok      A
        1     w1      attempt.start  A  attempt=1
        1.1   w2      attempt.start  A  attempt=1
        1.2..1.5  w1  crash
        1.9   w2      effect         A  attempt=1
        2     w2      attempt.ok     A  attempt=1
        9     lab     final          done=A
        """
    )

    assert broken(Recorded(History(seen)), policy_with("sliding", {})) == {Guarantee.DUPLICATES_EXPLAINED: ("A",)}
