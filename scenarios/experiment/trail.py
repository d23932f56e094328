"""What is written into the history after the fact: the system's own audit trail, and the acks that the lab swallowed."""

import time
from collections.abc import Mapping, Sequence

import msgspec

from chaos.environment import Services
from scenarios.contract.guard import plugin_call
from scenarios.contract.system import Audited, System
from scenarios.contract.tasklab_probe import Recorder
from scenarios.record.history import Event
from scenarios.record.run_facts import FaultRecord
from scenarios.stored.rundir import RunDirectory


def write_trail(system: System, services: Services, directory: RunDirectory, t0_ns: int) -> None:
    """The audit trail, moved from the wall clock of this machine onto the run's clock."""
    if not isinstance(system, Audited):
        return
    began_wall_ns = time.time_ns() - (time.monotonic_ns() - t0_ns)
    with plugin_call(system.name, "trail()"):
        trail = system.trail(services)
    events = [msgspec.structs.replace(event, t_ns=(event.t_ns or 0) - began_wall_ns) for event in trail]
    _write(directory, "database", events, t0_ns)


def write_lost_acks(
    strikes: Sequence[FaultRecord], ids: Mapping[str, str], directory: RunDirectory, t0_ns: int
) -> None:
    """For each ack that was swallowed, the task whose message it was for: found by its id in what was seen of the message."""
    events = [
        Event(event="ack.info", actor="broker", t_ns=t_ns, task=task)
        for t_ns, evidence in sorted(
            (strike.bit_ns, strike.evidence)
            for strike in strikes
            if strike.fault == "ack_swallowed" and strike.bit_ns is not None
        )
        for task, id_ in ids.items()
        if id_ in evidence
    ]
    _write(directory, "broker", events, t0_ns)


def _write(directory: RunDirectory, name: str, events: Sequence[Event], t0_ns: int) -> None:
    if not events:
        return
    recorder = Recorder(str(directory.path / f"history.{name}.jsonl"), name, t0_ns)
    try:
        for event in events:
            recorder.append(msgspec.to_builtins(event))
    finally:
        recorder.close()
