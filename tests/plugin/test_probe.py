"""The probe in a worker: asynchronous handlers, leases, exceptions that travel, forks."""

import asyncio
import json
import os
import pickle
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from scenarios.contract.tasklab_probe import Probe, Recorder, TaskError, digest
from scenarios.experiment.outside import Outside
from scenarios.real.flows import ThreadSignal
from scenarios.real.outside_server import OutsideServer
from scenarios.real.remote_probe import RemoteProbe

WAIT_S = 2.0


@pytest.fixture
def probe(tmp_path: Path) -> Iterator[Probe]:
    t0_ns = time.monotonic_ns()
    outside_recorder = Recorder(str(tmp_path / "history.outside.jsonl"), "outside", t0_ns)
    resource = Outside(outside_recorder, outside_recorder.now_ns, ThreadSignal)  # type: ignore[arg-type]
    remote = RemoteProbe(resource, outside_recorder)  # type: ignore[arg-type]
    remote.admit(["worker-1"])
    outside = OutsideServer(remote)
    outside.start()
    variables = {
        "TASKLAB_RUN": str(tmp_path),
        "TASKLAB_ACTOR": "worker-1",
        "TASKLAB_T0_NS": str(t0_ns),
        "TASKLAB_OUTSIDE": outside.address,
    }
    made = Probe(variables)
    yield made
    made.recorder.close()
    outside.stop()
    outside_recorder.close()


def events(run: Path, name: str) -> list[dict[str, Any]]:
    (file,) = run.glob(f"history.{name}*.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


def words(run: Path, name: str = "worker-1") -> list[str]:
    return [event["event"] for event in events(run, name)]


def run(probe: Probe, **options: Any) -> dict[str, Any]:
    """The coroutine in a loop of its own, whose one helping thread closes its connection at the end."""

    async def work() -> dict[str, Any]:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        try:
            return await asyncio.wait_for(probe.run_task_async(**options), timeout=WAIT_S)
        finally:
            await asyncio.get_running_loop().run_in_executor(None, close_connection, probe)

    return asyncio.run(work())


def close_connection(probe: Probe) -> None:
    probe.outside._replies.close()
    probe.outside._socket.close()


def test_a_coroutine_does_what_a_handler_does(probe: Probe, tmp_path: Path) -> None:
    reports: list[tuple[str, int]] = []

    async def report(step: str, percent: int) -> None:
        reports.append((step, percent))

    payload = {"task": "a", "work_s": 0.02, "steps": 2}
    done = run(probe, payload=payload, attempt=1, key="k", fence=3, report=report)

    assert done == {"task": "a"}
    assert words(tmp_path) == ["attempt.start", "progress", "attempt.ok"]
    assert words(tmp_path, "outside") == ["effect", "effect"]
    assert reports == [("half-way", 50)]


def test_what_a_payload_plans_to_be_handed_back_is_returned_and_a_result_is_recorded_as_its_digest(
    probe: Probe, tmp_path: Path
) -> None:
    children, then = [{"task": "a.1"}], {"task": "a.then"}

    done = probe.run_task({"task": "a", "result_size": 30, "children": children, "then": then}, attempt=1)
    close_connection(probe)

    assert done == {"task": "a", "result": "a try 1 " + "x" * 22, "children": children, "then": then}
    assert events(tmp_path, "worker-1")[-1]["result"] == digest(done["result"])


def test_progress_is_reported_as_often_as_the_payload_says(probe: Probe, tmp_path: Path) -> None:
    reports: list[tuple[str, int]] = []

    probe.run_task({"task": "a", "reports": 3}, report=lambda step, percent: reports.append((step, percent)))
    close_connection(probe)

    assert reports == [("part 1", 25), ("part 2", 50), ("part 3", 75)]
    assert [one["percent"] for one in events(tmp_path, "worker-1") if one["event"] == "progress"] == [25, 50, 75]


def test_a_coroutine_that_is_cancelled_has_failed(probe: Probe, tmp_path: Path) -> None:
    with pytest.raises(TimeoutError):
        run(probe, payload={"task": "a", "work_s": 60})

    assert words(tmp_path) == ["attempt.start", "attempt.fail"]


def test_a_planned_failure_reaches_whoever_runs_the_coroutine(probe: Probe, tmp_path: Path) -> None:
    with pytest.raises(TaskError) as failed:
        run(probe, payload={"task": "a", "outcomes": ["permanent"]}, attempt=1)

    assert failed.value.kind == "permanent"
    assert events(tmp_path, "worker-1")[-1]["error"] == "permanent"


def test_a_lease_is_told_from_the_inside(probe: Probe, tmp_path: Path) -> None:
    with probe.lease("task:a", fence=3, ttl_s=5.0, asked_ns=1) as held:
        held.renewed(asked_ns=2)
    held.renewed()  # under way while it was released
    held.released()

    told = [
        {name: event.get(name) for name in ("event", "fence", "ttl_s", "asked_ns")}
        for event in events(tmp_path, "worker-1")
    ]
    assert told == [
        {"event": "lease.acquired", "fence": 3, "ttl_s": 5.0, "asked_ns": 1},
        {"event": "lease.renewed", "fence": 3, "ttl_s": 5.0, "asked_ns": 2},
        {"event": "lease.released", "fence": 3, "ttl_s": None, "asked_ns": None},
    ]


def test_a_planned_failure_can_be_handed_from_process_to_process() -> None:
    copy = pickle.loads(pickle.dumps(TaskError("transient", "a")))

    assert (copy.kind, copy.task, str(copy)) == ("transient", "a", "transient failure of task a, as planned")


def test_a_forked_child_has_a_history_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the workers of prefork pools do."""
    from scenarios.contract import tasklab_probe

    for name, value in {"RUN": str(tmp_path), "ACTOR": "worker-1", "T0_NS": "0", "OUTSIDE": "127.0.0.1:1"}.items():
        monkeypatch.setenv(f"TASKLAB_{name}", value)
    monkeypatch.setattr(tasklab_probe, "_probe", None)
    tasklab_probe.probe().record("attempt.start", task="a")
    tasklab_probe.probe().recorder.close()

    child = os.fork()
    if child == 0:
        tasklab_probe.lease("b", ttl_s=1.0).acquired()
        os._exit(0)
    os.waitpid(child, 0)

    files = {file.name for file in tmp_path.glob("history.*.jsonl")}
    assert files == {f"history.worker-1.{pid}.jsonl" for pid in (os.getpid(), child)}


def test_a_child_that_its_task_kills_is_a_crash_of_its_process_although_that_one_goes_on(tmp_path: Path) -> None:
    recorder = Recorder(str(tmp_path / "history.outside.jsonl"), "outside", time.monotonic_ns())
    outside = Outside(recorder, recorder.now_ns, ThreadSignal)  # type: ignore[arg-type]
    outside.plan_deaths({"a": 1})
    remote = RemoteProbe(outside, recorder)  # type: ignore[arg-type]
    remote.admit(["worker-1"])
    server = OutsideServer(remote)
    server.start()
    variables = {
        "TASKLAB_RUN": str(tmp_path),
        "TASKLAB_ACTOR": "worker-1",
        "TASKLAB_T0_NS": str(time.monotonic_ns()),
        "TASKLAB_OUTSIDE": server.address,
    }

    child = os.fork()
    if child == 0:
        Probe(variables).run_task({"task": "a", "outcomes": ["die"]})
        os._exit(0)
    _, status = os.waitpid(child, 0)
    is_noted = outside.counted.wait_until(lambda: outside.deaths["worker-1"] == 1, WAIT_S)
    server.stop()
    recorder.close()

    assert (os.WTERMSIG(status), is_noted) == (9, True)
    (crash,) = events(tmp_path, "outside")
    assert (crash["event"], crash["actor"], crash["asked_ns"] <= crash["t_ns"]) == ("crash", "worker-1", True)


def test_a_death_that_no_task_was_planned_to_cause_is_not_believed(tmp_path: Path) -> None:
    recorder = Recorder(str(tmp_path / "history.outside.jsonl"), "outside", time.monotonic_ns())
    outside = Outside(recorder, recorder.now_ns, ThreadSignal)  # type: ignore[arg-type]
    outside.plan_deaths({"a": 1})

    for task in ("b", "a", "a"):
        outside.note_death("worker-1", task, 0)
    recorder.close()

    assert outside.deaths == {"worker-1": 1}
    assert [event["detail"] for event in events(tmp_path, "outside")] == ["killed by a, as planned"]
