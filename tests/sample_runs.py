"""Run directories as the lab leaves them, with made-up runs: for tests of the report, which need a run and no world to run it in."""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from operator import attrgetter
from pathlib import Path

import msgspec

from scenarios.record.history import NS_PER_S, Event
from scenarios.record.run_facts import FaultRecord, RunFacts, Turn
from scenarios.stored.rundir import VERDICTS_FILE, RunDirectory
from tests.histories import events, quoted

CLAIMS = (
    "no_lost_task",
    "no_stuck_task",
    "no_phantom_task",
    "exactly_one_effect",
    "duplicates_explained",
    "legal_transitions",
    "recovers_in_time",
)
BEGUN_S, BIT_S, ENDED_S, HEALED_S, FINAL_S = 4.0, 4.031, 6.5, 8.914, 14.2
STORY = (
    "RabbitMQ is killed with kill -9 while tasks are being submitted, and started again on the same data two and a half "
    "seconds later. Clients go on submitting. Nothing that was acknowledged may be lost, stuck or done twice."
)
_LANES = {
    "submit": "client",
    "status": "client",
    "state": "database",
    "attempt": "worker",
    "ack": "broker",
    "effect": "outside",
}
_WORDS = {
    "submit.invoke": "submits the task",
    "submit.ok": "is told that the task is accepted",
    "attempt.start": "begins attempt {attempt}",
    "attempt.ok": "ends attempt {attempt} successfully",
    "ack.invoke": "acknowledges the message of attempt {attempt}",
    "ack.ok": "the acknowledgement has arrived at the broker",
    "ack.info": "the acknowledgement may not have arrived: the connection is gone",
    "effect": "accepts the effect of attempt {attempt}",
    "effect.rejected": "refuses the effect of attempt {attempt}: its key was seen before",
    "state": "the task's row becomes {to}",
}


class Recording:
    """A run directory in the making: events in any order, written one file an actor, each in the order of its times."""

    def __init__(self, path: Path) -> None:
        self.directory = RunDirectory(path)
        self.directory.create()
        self.events: list[Event] = []

    def add(self, *texts: str) -> None:
        """The events of these lines, in the notation of tests/histories.py."""
        self.events.extend(events(*texts))

    def write(self, facts: RunFacts, verdicts: Mapping[str, object] | None = None) -> Path:
        by_actor: defaultdict[str, list[Event]] = defaultdict(list)
        for event in sorted(self.events, key=attrgetter("t_ns")):
            by_actor[event.actor].append(event)
        for place, (actor, own) in enumerate(by_actor.items()):
            name = "".join(letter for letter in actor if letter.isalnum() or letter == "-")
            file = self.directory.path / f"history.{name}.{4100 + place}.jsonl"
            file.write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in own))
        self.directory.write_facts(facts)
        if verdicts is not None:
            (self.directory.path / VERDICTS_FILE).write_bytes(msgspec.json.encode(verdicts))
        return self.directory.path

    def journey(self, task: str) -> list[dict[str, object]]:
        return [
            {
                "t_ns": event.t_ns,
                "actor": event.actor,
                "lane": _LANES[event.event.split(".")[0]],
                "event": event.event,
                "text": _WORDS[event.event].format(attempt=event.attempt, to=event.to),
            }
            for event in sorted((event for event in self.events if event.task == task), key=attrgetter("t_ns"))
        ]


def verdict(
    ruling: str, reason: str = "", *, witnesses: Sequence[str] = (), exercised: bool = True, **figures: float
) -> dict[str, object]:
    return {
        "verdict": ruling,
        "reason": reason,
        "witnesses": list(witnesses),
        "exercised": exercised,
        "figures": figures,
    }


def facts_of(system: str, scenario: str = "broker_killed", **changes: object) -> RunFacts:
    given: dict[str, object] = {
        "scenario": scenario,
        "system": system,
        "environment": "local",
        "seed": 7,
        "repeat": f"tasklab run {scenario} --system {system} --environment local --seed 7",
        "argv": ["tasklab", "run", scenario, "--system", system, "--seed", "7"],
        "story": STORY,
        "claims": list(CLAIMS),
        "at_stake": ["no_stuck_task", "no_lost_task"],
        "policy": {"attempts_max": 5, "budget_s": 20.0},
        "versions": {
            "tasklab": "0.1.0",
            "MariaDB": "10.11.14",
            "Redis": "7.0.15",
            "RabbitMQ": "3.10.8",
            "Python": "3.11.7",
        },
        "commit": "8e4422bd0c1f",
        "started_at": "2026-11-29 16:08:12 UTC",
        "startup_s": {"mysql": 0.81, "redis": 0.22, "rabbitmq": 4.3},
        "took_s": 19.6,
        "phases_ns": {"storm": 0, "calm": round(HEALED_S * NS_PER_S), "drain": round(10.5 * NS_PER_S)},
        "strikes": [strike()],
        "finished": True,
    }
    return RunFacts(**(given | changes))  # type: ignore[arg-type]


def strike(**changes: object) -> FaultRecord:
    given: dict[str, object] = {
        "fault": "service_killed",
        "target": "rabbitmq",
        "when": "after 90 effects",
        "begun_ns": round(BEGUN_S * NS_PER_S),
        "bit_ns": round(BIT_S * NS_PER_S),
        "ended_ns": round(ENDED_S * NS_PER_S),
        "healed_ns": round(HEALED_S * NS_PER_S),
        "evidence": "process 4711 ended with signal 9; port 40213 refuses connections",
    }
    return FaultRecord(**(given | changes))  # type: ignore[arg-type]


def held(path: Path, *, scenario: str = "broker_killed", tasks: int = 240, seed: int = 7) -> Path:
    """The outbox waits for the broker; what was in flight is delivered again, and the outside recognises it."""
    recording, names = Recording(path), [f"task-{n:04d}" for n in range(1, tasks + 1)]
    chance = random.Random(seed)
    repeated: list[str] = []
    waiting = 0
    for place, task in enumerate(names):
        at_s = 0.4 + place * 9.6 / tasks
        _submit(recording, chance, at_s, task)
        starts_s = at_s + chance.uniform(0.02, 0.06)
        if BEGUN_S <= starts_s < HEALED_S:
            waiting += 1
            starts_s = HEALED_S + 0.05 + waiting * 0.011
        elif BEGUN_S - 0.12 <= starts_s < BEGUN_S:
            repeated.append(task)
            _attempt(recording, chance, starts_s, task, 1, ack="ack.info")
            again_s = HEALED_S + 0.2 + len(repeated) * 0.02
            recording.add(f"{again_s} worker-2 attempt.start {task} attempt=2")
            recording.add(f"{again_s + 0.03} outside effect.rejected {task} attempt=2")
            continue
        _attempt(recording, chance, starts_s, task, 1)
    _faults(recording)
    recording.add(f"{FINAL_S} lab final done={','.join(names)}")
    verdicts = {name: verdict("held", f"{tasks} tasks were judged.", tasks=tasks) for name in CLAIMS}
    verdicts["duplicates_explained"] = verdict("held", "Every repeated attempt has its cause.", repeated=len(repeated))
    verdicts["recovers_in_time"] = verdict("held", "Caught up 1.6 s after healing.", caught_up_s=1.612, budget_s=20.0)
    verdicts["no_phantom_task"] = verdict("held", "No submission surely failed.", exercised=False)
    return recording.write(
        facts_of("reference", scenario),
        judgement(
            verdicts,
            account(tasks, done=tasks),
            duplicates={"lost_ack": len(repeated)},
            exit_code=0,
            bounds={"recovers_in_time": "20 s from the last healing"},
        ),
    )


def broken(path: Path, *, scenario: str = "broker_killed", tasks: int = 240, seed: int = 7) -> Path:
    """What is submitted while the broker is away is a row that no message ever tells of; one row is gone altogether."""
    recording, names = Recording(path), [f"task-{n:04d}" for n in range(1, tasks + 1)]
    chance = random.Random(seed)
    stuck: list[str] = []
    for place, task in enumerate(names):
        at_s = 0.4 + place * 9.6 / tasks
        _submit(recording, chance, at_s, task)
        if BEGUN_S <= at_s < HEALED_S - 0.4:
            stuck.append(task)
            continue
        _attempt(recording, chance, at_s + chance.uniform(0.01, 0.04), task, 1)
    lost = [stuck.pop(3)]
    _faults(recording)
    done = [task for task in names if task not in stuck and task not in lost]
    recording.add(f"{FINAL_S} lab final done={','.join(done)} pending={','.join(stuck)}")
    verdicts = {name: verdict("held", f"{tasks} tasks were judged.", tasks=tasks) for name in CLAIMS[:5]}
    verdicts["no_stuck_task"] = verdict(
        "broken",
        f"{len(stuck)} accepted tasks never reached a final state.",
        witnesses=stuck,
        stuck=len(stuck),
        waited_s=5.3,
    )
    verdicts["no_lost_task"] = verdict(
        "broken", "1 acknowledged task is in no list of the system.", witnesses=lost, lost=1
    )
    verdicts["duplicates_explained"] = verdict("held", "No attempt was repeated.", exercised=False)
    return recording.write(
        facts_of("naive", scenario, claims=list(CLAIMS[:5])),
        judgement(
            verdicts,
            account(tasks, done=len(done), lost=lost, stuck=stuck),
            not_claimed={
                "recovers_in_time": verdict("broken", "It never caught up.", witnesses=stuck, stuck=len(stuck)),
                "legal_transitions": verdict("unknown", "The system keeps no audit trail.", exercised=False),
            },
            journeys={task: recording.journey(task) for task in [*lost, *stuck]},
            exit_code=1,
        ),
    )


def undecided(path: Path, *, scenario: str = "broker_killed") -> Path:
    """The fault missed: nothing was put to the test."""
    recording = Recording(path)
    chance = random.Random(3)
    names = [f"task-{n:04d}" for n in range(1, 61)]
    for place, task in enumerate(names):
        _submit(recording, chance, 0.4 + place * 0.1, task)
        _attempt(recording, chance, 0.43 + place * 0.1, task, 1)
    recording.add(f"{BEGUN_S} lab fault.begin fault=service_killed target=rabbitmq")
    recording.add(f"9 lab final done={','.join(names)}")
    problem = "fault service_killed on rabbitmq did not bite: it still answers after 5 s"
    missed = strike(
        bit_ns=None, ended_ns=round(9.0 * NS_PER_S), healed_ns=None, evidence="", problem="it still answers after 5 s"
    )
    verdicts = {name: verdict("unknown", "The fault did not bite.", exercised=False) for name in CLAIMS}
    return recording.write(
        facts_of("reference", scenario, strikes=[missed], problems=[problem], took_s=11.2),
        judgement(verdicts, account(60, done=60), problems=[problem], exit_code=3),
    )


def unfinished(path: Path, *, scenario: str = "broker_killed") -> Path:
    """The lab was killed in the middle of the storm: no end, no verdicts, and one line torn."""
    recording = Recording(path)
    chance = random.Random(5)
    for place in range(120):
        at_s, task = 0.4 + place * 0.04, f"task-{place + 1:04d}"
        _submit(recording, chance, at_s, task)
        if at_s < BEGUN_S - 0.1:
            _attempt(recording, chance, at_s + 0.03, task, 1)
    recording.add(f"{BEGUN_S} lab fault.begin fault=service_killed target=rabbitmq")
    recording.add(f"{BIT_S} lab fault.bit fault=service_killed target=rabbitmq")
    planned = strike(begun_ns=None, bit_ns=None, ended_ns=None, healed_ns=None, evidence="")
    facts = facts_of("reference", scenario, strikes=[planned], finished=False, took_s=None, phases_ns={"storm": 0})
    written = recording.write(facts)
    with next(written.glob("history.client.*")).open("ab") as file:
        file.write(b'{"t_ns":5190000000,"actor":"client","ev')
    return written


HOSTILE = (
    '</script><script>window.pwned = 1</script><img src=x onerror="window.pwned = 1">\' " & \u2028 \u202e {{ 7 * 7 }}'
)
HOSTILE_LINK = "javascript:window.pwned=1//"


def hostile(path: Path) -> Path:
    """Every text that comes from outside tries to become markup or script."""
    recording = Recording(path)
    tasks = [f"{HOSTILE} {n}" for n in range(3)] + [HOSTILE_LINK]
    for place, task in enumerate(tasks):
        recording.add(
            f"{0.5 + place} {quoted(HOSTILE)} submit.invoke {quoted(task)}",
            f"{0.6 + place} {quoted(HOSTILE)} submit.ok {quoted(task)} detail={quoted(HOSTILE)}",
            f"{0.9 + place} outside effect {quoted(task)}",
        )
    moments = [
        {"t_ns": 500_000_000, "actor": HOSTILE, "lane": HOSTILE, "event": HOSTILE, "text": HOSTILE},
        {"t_ns": 900_000_000, "actor": HOSTILE_LINK, "lane": "outside", "event": "effect", "text": HOSTILE_LINK},
    ]
    ruled = verdict("broken", HOSTILE, witnesses=tasks) | {"figures": {HOSTILE: 1, "text": HOSTILE}}
    return recording.write(
        facts_of(
            HOSTILE,
            HOSTILE,
            environment=HOSTILE,
            repeat=HOSTILE,
            story=HOSTILE,
            steps=[Turn(0, HOSTILE, HOSTILE)],
            argv=[HOSTILE],
            policy={HOSTILE: HOSTILE},
            versions={HOSTILE: HOSTILE},
            commit=HOSTILE,
            started_at=HOSTILE,
            problems=[HOSTILE, HOSTILE_LINK],
            phases_ns={HOSTILE: 0},
            at_stake=[HOSTILE],
            startup_s={HOSTILE: 1.0},
            strikes=[strike(fault=HOSTILE, target=HOSTILE, when=HOSTILE, evidence=HOSTILE, problem=HOSTILE)],
        ),
        judgement(
            {HOSTILE: ruled, "no_lost_task": ruled},
            account(4, done=2, lost=[HOSTILE], stuck=[HOSTILE_LINK]),
            not_claimed={HOSTILE_LINK: ruled},
            duplicates={HOSTILE: 1},
            bounds={HOSTILE: HOSTILE},
            journeys=dict.fromkeys(tasks, moments),
            problems=[HOSTILE],
            malformed=[HOSTILE],
            exit_code=1,
        ),
    )


def large(path: Path, *, tasks: int = 20_000) -> Path:
    """Five events a task, an hour long."""
    recording = Recording(path)
    chance = random.Random(11)
    names = [f"task-{n:06d}" for n in range(tasks)]
    for place, task in enumerate(names):
        at_s = place * 3600 / tasks
        recording.add(f"{at_s} client submit.invoke {task}", f"{at_s + 0.005} client submit.ok {task}")
        _attempt(recording, chance, at_s + chance.expovariate(4), task, 1, audited=False)
    recording.add(f"3620 lab final done={','.join(names)}")
    verdicts = {name: verdict("held") for name in CLAIMS}
    return recording.write(facts_of("reference"), judgement(verdicts, account(tasks, done=tasks), exit_code=0))


def account(submitted: int, *, done: int, lost: Sequence[str] = (), stuck: Sequence[str] = ()) -> dict[str, object]:
    rest = dict.fromkeys(("dead", "cancelled", "expired", "pending", "never_accepted"), 0)
    return {"submitted": submitted, "done": done, **rest, "lost": list(lost), "stuck": list(stuck), "balanced": True}


def judgement(verdicts: Mapping[str, object], balance: Mapping[str, object], **more: object) -> dict[str, object]:
    empty: dict[str, object] = {
        "not_claimed": {},
        "duplicates": {},
        "bounds": {},
        "journeys": {},
        "problems": [],
        "malformed": [],
    }
    return {"verdicts": verdicts, "account": balance, **empty, **more}


def _submit(recording: Recording, chance: random.Random, at_s: float, task: str) -> None:
    recording.add(
        f"{at_s} client submit.invoke {task}",
        f"{at_s + 0.003} database state {task} to=ACCEPTED",
        f"{at_s + chance.uniform(0.005, 0.009)} client submit.ok {task}",
    )


def _attempt(
    recording: Recording,
    chance: random.Random,
    at_s: float,
    task: str,
    attempt: int,
    *,
    ack: str = "ack.ok",
    audited: bool = True,
) -> None:
    worker = f"worker-{chance.randint(1, 2)}"
    works_s = chance.uniform(0.015, 0.03)
    ends_s = at_s + works_s
    recording.add(
        f"{at_s + 0.001} {worker} attempt.start {task} attempt={attempt}",
        f"{ends_s} outside effect {task} attempt={attempt}",
        f"{ends_s + 0.001} {worker} attempt.ok {task} attempt={attempt}",
    )
    if audited:
        recording.add(
            f"{at_s} database state {task} to=RUNNING",
            f"{ends_s + 0.004} database state {task} to=SUCCEEDED",
            f"{ends_s + 0.005} {worker} ack.invoke {task} attempt={attempt}",
            f"{ends_s + 0.006} {worker} {ack} {task} attempt={attempt}",
        )


def _faults(recording: Recording) -> None:
    for at_s, name in ((BEGUN_S, "begin"), (BIT_S, "bit"), (ENDED_S, "end"), (HEALED_S, "healed")):
        recording.add(f"{at_s} lab fault.{name} fault=service_killed target=rabbitmq")
