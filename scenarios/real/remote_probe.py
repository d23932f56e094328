"""The probe for a worker in any language: the lab records on its behalf, and answers what its handler has to do (docs/protocol.md)."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from scenarios.contract.tasklab_probe import Probe, TaskError
from scenarios.experiment.outside import Outside, Request
from scenarios.experiment.stage import Records
from scenarios.record.events import REQUIRED_FIELDS, UNKNOWN_TO_PROCESSES, Event, MalformedEvent, Whole, event_from

VERSION = 1
SOURCE = "probe"
"""The events are in history.probe.jsonl, a file of the lab's own."""

RECORDABLE = frozenset(REQUIRED_FIELDS) - UNKNOWN_TO_PROCESSES
"""Events that a process of the system can know."""
NEEDED: Mapping[str, tuple[str, ...]] = {"effect": ("task",), "write": ("resource",), "arrive": ("point", "subject")}
"""By request to the outside resource, the fields without which it means nothing."""
LINE_SHOWN = 60
REFUSALS_MAX = 3
_FIELDS = frozenset(Event.__struct_encode_fields__) - {"t_ns", "t_s"}

Step = dict[str, object]


class RequestRefused(ValueError):
    """A request that the lab does not carry out; the message says what is wrong with it."""


class PayloadChanged(RequestRefused):
    """The payload is not that of a submission of the lab."""


class BeginRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="op", tag="begin"):
    """An attempt begins. `reports`, `stops`: whether the handler can report progress to its system, and be told to stop by it."""

    actor: str
    payload: dict[str, Any]
    attempt: Whole | None = None
    key: str | None = None
    fence: Whole | None = None
    reports: bool = False
    stops: bool = False
    probe: int = VERSION


class _Named(msgspec.Struct, frozen=True):
    op: str


class RemoteProbe:
    """Answers the requests `begin`, `record` and `now`; every other request goes to the outside resource. Safe for many threads.

    Only processes of the run, by their names (TASKLAB_ACTOR), are recorded: see `admit`. `refusals`: the first requests that were
    refused, a sentence each; what they would have told is missing in the record. `changed_payloads`: the first ones without what the
    lab had put into them; a system may lose that, and its record shows what follows.
    """

    def __init__(self, outside: Outside, records: Records) -> None:
        self.outside = outside
        self.refusals: list[str] = []
        self.changed_payloads: list[str] = []
        self._records = records
        self._actors: frozenset[str] = frozenset()

    def admit(self, processes: Iterable[str]) -> None:
        """Record events of these processes only."""
        self._actors = frozenset(processes)

    def answer(self, line: bytes) -> tuple[Request | None, Mapping[str, object]]:
        """The answer to one line; with it the request, if it was one to the outside resource.

        Raises:
            RequestRefused, msgspec.DecodeError: it is no valid request; nothing was recorded.
        """
        op = msgspec.json.decode(line, type=_Named).op
        if op == "begin":
            return None, self._begin(msgspec.json.decode(line, type=BeginRequest))
        if op == "record":
            return None, self._record(msgspec.json.decode(line, type=dict[str, Any]))
        if op == "now":
            return None, {"t_ns": self.outside.now_ns()}
        request = msgspec.json.decode(line, type=Request)
        self._check_actor(request.actor)
        if missing := [name for name in NEEDED[request.op] if getattr(request, name) is None]:
            raise RequestRefused(f"{request.op} without {missing[0]}")
        return request, self.outside.answer(request)

    def refused(self, line: bytes, error: Exception) -> Mapping[str, object]:
        """The answer to a request that was refused; it is noted, each reason once."""
        why = str(error) or repr(error)
        noted = self.changed_payloads if isinstance(error, PayloadChanged) else self.refusals
        if len(noted) < REFUSALS_MAX and not any(one.endswith(why) for one in noted):
            noted.append(f"the probe refused {line[:LINE_SHOWN].decode(errors='replace').strip()!r}: {why}")
        return {"error": why}

    def _begin(self, begin: BeginRequest) -> Mapping[str, object]:
        self._check_actor(begin.actor)
        if begin.probe != VERSION:
            raise RequestRefused(
                f"the worker speaks version {begin.probe} of the probe; this lab speaks version {VERSION}"
            )
        task = begin.payload.get("task")
        if not isinstance(task, str):
            raise PayloadChanged('begin without a task: pass the "payload" of the submission unchanged')
        self._records.record("attempt.start", actor=begin.actor, task=task, attempt=begin.attempt)
        arrived = Request(op="arrive", actor=begin.actor, point="attempt", subject=task)
        tries = self.outside.answer(arrived)["count"]
        try:
            script = script_of(begin, int(str(tries)))
        except PayloadChanged as error:
            ended = {"task": task, "attempt": begin.attempt, "error": "unknown", "detail": str(error)}
            self._records.record("attempt.fail", actor=begin.actor, **ended)
            raise
        return {"probe": VERSION, "script": script}

    def _record(self, fields: dict[str, Any]) -> Mapping[str, object]:
        del fields["op"]
        if not isinstance(actor := fields.get("actor"), str):
            raise RequestRefused("record without an actor: pass TASKLAB_ACTOR")
        self._check_actor(actor)
        if unknown := sorted(set(fields) - _FIELDS):
            raise RequestRefused(
                f"record has no field {unknown[0]!r}; the time is the lab's, the rest is in docs/history.md"
            )
        try:
            event = event_from({**fields, "t_ns": 0})
        except MalformedEvent as error:
            raise RequestRefused(str(error)) from error
        if event.event not in RECORDABLE:
            raise RequestRefused(f"a process of the system cannot know the event {event.event!r}")
        self._check_times(event)
        self._records.record(**fields)
        return {"recorded": True}

    def _check_times(self, event: Event) -> None:
        """A lease by another clock, or in other units, would excuse repeats, or tasks that wait forever."""
        now_ns = self.outside.now_ns()
        if event.asked_ns is not None and not 0 <= event.asked_ns <= now_ns:
            raise RequestRefused(f"asked_ns = {event.asked_ns} is not of the run, now at {now_ns}: take it from `now`")
        if event.ttl_s is not None and event.ttl_s <= 0:
            raise RequestRefused(f"ttl_s = {event.ttl_s:g}: a lease has a duration above 0")

    def _check_actor(self, actor: str) -> None:
        if actor not in self._actors:
            known = ", ".join(sorted(self._actors)) or "none yet"
            raise RequestRefused(f"{actor!r} is no process of this run ({known}): pass TASKLAB_ACTOR as the actor")


def script_of(begin: BeginRequest, tries: int) -> list[Step]:
    """What the handler has to do, step by step, at its try of this number: that of `tasklab_probe.run_task`, written down.

    Raises:
        PayloadChanged: the payload holds what the lab never puts into one.
    """
    probe = _ScriptingProbe(begin.actor, tries)

    def report(_: str, percent: int) -> None:
        probe.steps.append({"do": "report", "percent": percent})

    def should_stop() -> bool:
        probe.steps.append({"do": "ask_stop"})
        return False

    try:
        value = probe.run_task(
            begin.payload,
            attempt=begin.attempt,
            key=begin.key,
            fence=begin.fence,
            report=report if begin.reports else None,
            should_stop=should_stop if begin.stops else None,
        )
    except TaskError as error:
        return [*probe.steps, {"do": "fail", "error": error.kind, "message": str(error)}]
    except _Died:
        return [*probe.steps, {"do": "die"}]
    except (TypeError, ValueError, KeyError) as error:
        raise PayloadChanged(f"the payload was changed on its way: {error!r}") from error
    return [*probe.steps, {"do": "return", "value": value}]


class _Died(BaseException):
    """The handler would have killed its process here."""


class _ScriptingProbe(Probe):
    """Writes down what `Probe.run_task` does, and does nothing."""

    def __init__(self, actor: str, tries: int) -> None:
        self.steps: list[Step] = []
        self._actor = actor
        self._tries = tries
        self._is_dead = False

    @property
    def outside(self) -> Any:
        """Itself: its requests are steps, too."""
        return self

    def arrive(self, point: str, subject: str) -> int:
        """The attempt has arrived before; a death is still to come."""
        if point != "attempt":
            self._send(op="arrive", point=point, subject=subject)
        return self._tries

    def effect(self, task: str, **fields: Any) -> bool:
        """A step."""
        self._send(op="effect", task=task, **fields)
        return True

    def record(self, event: str, **fields: Any) -> None:
        """A step; the start is recorded by the lab, and what comes after a death by no process."""
        if event != "attempt.start" and not self._is_dead:
            self._send(op="record", event=event, **fields)

    def _send(self, **request: Any) -> None:
        given = {name: value for name, value in request.items() if value is not None}
        self.steps.append({"do": "send", "request": {"actor": self._actor, **given}})

    def _rest(self, seconds: float) -> None:
        if self.steps and self.steps[-1]["do"] == "rest":
            seconds += float(str(self.steps.pop()["seconds"]))
        self.steps.append({"do": "rest", "seconds": round(seconds, 6)})

    def _die(self, task: str) -> None:
        self.arrive("death", task)
        self._is_dead = True
        raise _Died
