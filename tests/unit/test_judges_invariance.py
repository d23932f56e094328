"""What must not change a verdict: the order of simultaneous events, names, tasks that nothing happened to, how files are cut."""

import tempfile
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from scenarios.judging.guarantees import Guarantee
from scenarios.judging.judge import judge
from scenarios.judging.policy import Policy
from scenarios.record.events import FINAL_LISTS, NS_PER_S, Event
from scenarios.record.history import History, Recorded
from scenarios.stored.reading import read_files
from tests.anomalies import KINDS, planted
from tests.examples import examples
from tests.history_drafts import Draft
from tests.history_strategies import Life, legal_drafts, live


@st.composite
def drafts(draw: st.DrawFn) -> Draft:
    """A legal history, or one with an anomaly in it."""
    draft = draw(legal_drafts())
    kind = draw(st.sampled_from([None, *KINDS]))
    return draft if kind is None else planted(draft, kind, draw(st.integers(0, 100)))[0]


def said(recorded: Recorded, policy: Policy) -> dict[Guarantee, tuple[str, tuple[str, ...]]]:
    judgement = judge(recorded, claims=Guarantee, policy=policy)
    return {verdict.guarantee: (verdict.ruling.value, verdict.witnesses) for verdict in judgement.verdicts}


@examples(200)
@given(drafts(), st.sampled_from([0.5, 1, 5]), st.randoms(use_true_random=False))
def test_the_order_of_simultaneous_events_of_different_actors_changes_nothing(
    draft: Draft, grain_s: float, random: Random
) -> None:
    grain_ns = round(grain_s * NS_PER_S)
    coarse = [msgspec.structs.replace(event, t_ns=event.t_ns // grain_ns * grain_ns) for event in draft.all_events()]

    assert said(Recorded(History(shuffled(coarse, random))), draft.policy) == said(
        Recorded(History(coarse)), draft.policy
    )


def shuffled(events: list[Event], random: Random) -> list[Event]:
    """Any order in which each actor's events keep theirs."""
    queues: dict[str, list[Event]] = {}
    for event in events:
        queues.setdefault(event.actor, []).append(event)
    result = []
    while queues:
        actor = random.choice(sorted(queues))
        result.append(queues[actor].pop(0))
        if not queues[actor]:
            del queues[actor]
    return result


@examples(200)
@given(drafts())
def test_other_names_of_tasks_and_actors_change_nothing_but_the_names(draft: Draft) -> None:
    actors = {event.actor for event in draft.events}

    def renamed(name: str | None) -> str | None:
        return None if name is None else f"~{name[::-1]}"

    def with_other_names(event: Event) -> Event:
        changes: dict[str, Any] = {
            field: renamed(getattr(event, field))
            for field in ("task", "actor", "resource", "user", "key", "scope", "order_key", "schedule", "parent")
        }
        if event.target in actors:  # a fault on a process; other targets are words that a judge reads
            changes["target"] = renamed(event.target)
        lists = {name: getattr(event, name) for name in FINAL_LISTS}
        changes |= {name: tasks and tuple(map(renamed, tasks)) for name, tasks in lists.items()}
        return msgspec.structs.replace(event, **changes)

    expected = {
        guarantee: (ruling, tuple(sorted(renamed(witness) or "" for witness in witnesses)))
        for guarantee, (ruling, witnesses) in said(draft.recorded(), draft.policy).items()
    }

    schedules = {renamed(name): schedule for name, schedule in draft.schedules.items()}
    policy = replace(draft.policy, schedules=schedules)

    assert said(Recorded(History(map(with_other_names, draft.all_events()))), policy) == expected


@examples(200)
@given(drafts(), st.integers(1, 5))
def test_tasks_that_nothing_happened_to_change_nothing(draft: Draft, count: int) -> None:
    before = said(draft.recorded(), draft.policy)

    for number in range(count):
        live(draft, f"untouched-{number}", Life("done", (), frozenset(), 100 + number))

    assert said(draft.recorded(), draft.policy) == before


@examples(60)
@given(drafts(), st.integers(1, 4), st.randoms(use_true_random=False))
def test_how_a_history_is_cut_into_files_changes_nothing(draft: Draft, count: int, random: Random) -> None:
    events = draft.all_events()
    with tempfile.TemporaryDirectory() as directory:
        files = [Path(directory) / f"history.{number}.jsonl" for number in range(count)]
        contents = [b""] * count
        for event in events:
            contents[random.randrange(count)] += msgspec.json.encode(event) + b"\n"
        for file, content in zip(files, contents, strict=True):
            file.write_bytes(content)

        assert said(read_files(files), draft.policy) == said(draft.recorded(), draft.policy)
