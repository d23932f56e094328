"""What the tests of rules 18 to 27 share: histories of one line an event, and the verdict of one promise on them."""

# ruff: noqa: N817 -- a case is a line, and reads as one

import json
from collections.abc import Iterable
from pathlib import Path

from scenarios.judging.guarantees import Guarantee as G
from scenarios.judging.judge import judge
from scenarios.judging.policy import policy_from
from scenarios.judging.verdict import Ruling
from scenarios.record.history import Event, History, Recorded, event_from
from scenarios.stored import reading


def event(line: str) -> Event:
    """`1.5 w1 attempt.start A attempt=1`: time, actor, event, task (or -), fields; a value is JSON, or else a text."""
    at_s, actor, name, task, *fields = line.split()
    values: dict[str, object] = {"t_s": float(at_s), "actor": actor, "event": name}
    if task != "-":
        values["task"] = task
    for field in fields:
        key, _, value = field.partition("=")
        try:
            values[key] = json.loads(value)
        except ValueError:
            values[key] = value
        if key == "asked_s":
            values["asked_ns"] = round(float(str(values.pop(key))) * 1e9)
    return event_from(values)


def final(at_s: float = 100, *, healed: bool = True, caught_up: bool = True, **lists: Iterable[str] | None) -> Event:
    names = ("done", "dead", "cancelled", "expired", "pending")
    listed = {name: lists.get(name, ()) for name in names}
    as_tuples = {name: None if tasks is None else tuple(tasks) for name, tasks in listed.items()}
    return Event(event="final", actor="lab", t_ns=round(at_s * 1e9), healed=healed, caught_up=caught_up, **as_tuples)


def history_of(*lines: str | Event) -> History:
    return History([line if isinstance(line, Event) else event(line) for line in lines])


def verdict(guarantee: G, lines: Iterable[str | Event], **policy: object) -> str | tuple[str, ...]:
    """`held`, `unknown`, or the witnesses of the break."""
    judgement = judge(Recorded(history_of(*lines)), claims=[guarantee], policy=policy_from(policy))
    (one,) = judgement.verdicts
    return one.witnesses if one.ruling is Ruling.BROKEN else one.ruling.value


SUBMITTED = ("0 client submit.invoke A", "0.01 client submit.ok A")


OTHER = (
    "0 client submit.invoke K",
    "0.01 client submit.ok K",
    "1 w9 attempt.start K attempt=1",
    "1.05 w9 effect K attempt=1",
    "1.1 w9 attempt.ok K attempt=1",
)


RAN = (*SUBMITTED, "1 w1 attempt.start A attempt=1", "1.05 w1 effect A attempt=1", "1.1 w1 attempt.ok A attempt=1")


FAILED = (*SUBMITTED, "1 w1 attempt.start A attempt=1", "1.1 w1 attempt.fail A attempt=1 error=transient")


DONE = final(done=["A"])


def fault(begun_s: float, healed_s: float | None, name: str = "service_killed", target: str = "rabbitmq") -> list[str]:
    steps = [
        f"{begun_s} lab fault.begin - fault={name} target={target}",
        f"{begun_s} lab fault.bit - fault={name} target={target}",
    ]
    return steps + ([] if healed_s is None else [f"{healed_s} lab fault.healed - fault={name} target={target}"])


def of_user(task: str, start_s: float, end_s: float, worker: str, user: str = "u") -> list[str]:
    return [
        f"0 c submit.invoke {task} user={user}",
        f"0 c submit.ok {task}",
        f"{start_s} {worker} attempt.start {task}",
        f"{end_s} {worker} attempt.ok {task}",
    ]


def written(place: Path, name: str, *lines: str | Event) -> Path:
    file = place / name
    events = [line if isinstance(line, Event) else event(line) for line in lines]
    file.write_bytes(b"".join(reading.msgspec.json.encode(one) + b"\n" for one in events))
    return file
