"""The probe for workers in any language: what the lab records for them, what it answers, and what it refuses."""

import errno
import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scenarios.contract.tasklab_probe import Recorder
from scenarios.experiment.outside import Outside
from scenarios.real.flows import ThreadSignal
from scenarios.real.outside_server import LINE_BYTES_MAX, OutsideServer
from scenarios.real.remote_probe import BeginRequest, RemoteProbe, script_of

ROOT = Path(__file__).parents[2]
PERL_WORKER = Path(__file__).with_name("directory_worker.pl")
WAIT_S = 5.0
RUN_TIMEOUT_S = 120


class Lab:
    """A remote probe behind its socket; `events`: what it has recorded."""

    def __init__(self, place: Path) -> None:
        self.file = place / "history.probe.jsonl"
        self.recorder = Recorder(str(self.file), "lab", time.monotonic_ns())
        self.outside = Outside(self.recorder, self.recorder.now_ns, ThreadSignal)  # type: ignore[arg-type]
        self.probe = RemoteProbe(self.outside, self.recorder)  # type: ignore[arg-type]
        self.probe.admit(["worker-1"])
        self.server = OutsideServer(self.probe)
        self.server.start()

    def connect(self) -> socket.socket:
        host, _, port = self.server.address.rpartition(":")
        return socket.create_connection((host, int(port)), timeout=WAIT_S)

    def ask(self, *lines: str | dict[str, Any]) -> list[dict[str, Any]]:
        """The answers to these lines, on a connection of their own."""
        with self.connect() as connection, connection.makefile("rb") as answers:
            for line in lines:
                text = line if isinstance(line, str) else json.dumps({"actor": "worker-1", **line})
                connection.sendall(text.encode() + b"\n")
            return [json.loads(answers.readline()) for _ in lines]

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.file.read_text().splitlines()]

    def words(self) -> list[str]:
        return [str(event["event"]) for event in self.events()]

    def close(self) -> None:
        self.server.stop()
        self.recorder.close()


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    made = Lab(tmp_path)
    yield made
    made.close()


def script(payload: dict[str, Any], tries: int = 1, **options: Any) -> list[dict[str, Any]]:
    return script_of(BeginRequest(actor="worker-1", payload=payload, **options), tries)


def test_a_begun_attempt_is_recorded_and_answered_with_what_to_do(lab: Lab) -> None:
    [answer] = lab.ask({"op": "begin", "payload": {"task": "a", "work_s": 0.2}, "attempt": 1, "key": "k", "fence": 7})

    assert answer["script"] == [
        {"do": "rest", "seconds": 0.2},
        {
            "do": "send",
            "request": {
                "actor": "worker-1",
                "op": "effect",
                "task": "a",
                "step": 1,
                "attempt": 1,
                "key": "k:1",
                "fence": 7,
            },
        },
        {
            "do": "send",
            "request": {"actor": "worker-1", "op": "record", "event": "attempt.ok", "task": "a", "attempt": 1},
        },
        {"do": "return", "value": {"task": "a"}},
    ]
    assert [(event["event"], event["actor"], event["attempt"]) for event in lab.events()] == [
        ("attempt.start", "worker-1", 1)
    ]


def test_a_script_sent_back_step_by_step_is_a_whole_attempt(lab: Lab) -> None:
    [answer] = lab.ask({"op": "begin", "payload": {"task": "a", "steps": 2}})
    requests = [step["request"] for step in answer["script"] if step["do"] == "send"]

    assert lab.ask(*requests) == [{"accepted": True}, {"accepted": True}, {"recorded": True}]
    assert lab.words() == ["attempt.start", "effect", "effect", "attempt.ok"]
    assert lab.outside.tasks_with_effect() == ("a",)


def test_the_try_decides_how_an_attempt_ends(lab: Lab) -> None:
    payload = {"task": "a", "outcomes": ["transient", "permanent", "die"]}
    ends = [lab.ask({"op": "begin", "payload": payload})[0]["script"][-1] for _ in range(4)]

    assert [(end["do"], end.get("error")) for end in ends] == [
        ("fail", "transient"),
        ("fail", "permanent"),
        ("die", None),
        ("return", None),
    ]


def test_a_death_is_announced_and_nothing_is_recorded_after_it() -> None:
    steps = script({"task": "a", "outcomes": ["die"]})

    assert steps[1:] == [
        {"do": "send", "request": {"actor": "worker-1", "op": "arrive", "point": "death", "subject": "a"}},
        {"do": "die"},
    ]


def test_progress_and_the_question_whether_to_stop_come_only_where_the_handler_can_do_them() -> None:
    payload = {"task": "a", "work_s": 0.2, "stops": True}
    plain, able = script(payload), script(payload, reports=True, stops=True)

    assert {step["do"] for step in plain} == {"rest", "send", "return"}
    assert [step["do"] for step in able] == [
        "ask_stop",
        "rest",
        "send",
        "report",
        "ask_stop",
        "rest",
        "send",
        "send",
        "return",
    ]
    assert able[3] == {"do": "report", "percent": 50}


def test_results_and_children_are_handed_back_and_recorded() -> None:
    steps = script({"task": "a", "result_size": 12, "children": [{"task": "b"}], "then": {"task": "c"}}, tries=2)
    end, value = steps[-2]["request"], steps[-1]["value"]

    assert value == {"task": "a", "children": [{"task": "b"}], "then": {"task": "c"}, "result": "a try 2 xxxx"}
    assert (end["children"], end["then"], len(end["result"])) == (["b"], "c", 16)


def test_a_lease_is_recorded_as_its_holder_tells_it(lab: Lab) -> None:
    [now] = lab.ask({"op": "now"})
    lease = {"op": "record", "resource": "a", "fence": 3}
    answers = lab.ask(
        {**lease, "event": "lease.acquired", "ttl_s": 2.5, "asked_ns": now["t_ns"]},
        {**lease, "event": "lease.released"},
    )

    assert answers == [{"recorded": True}] * 2
    assert [(event["event"], event["fence"]) for event in lab.events()] == [
        ("lease.acquired", 3),
        ("lease.released", 3),
    ]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("nonsense", "malformed"),
        ("[1]", "Expected `object`"),
        ('{"op": "end"}', "Invalid enum value 'end'"),
        ({"op": "begin"}, "missing required field `payload`"),
        ({"op": "begin", "payload": {"task": "a"}, "atempt": 1}, "unknown field `atempt`"),
        ({"op": "begin", "payload": {"work_s": 1}}, 'pass the "payload" of the submission unchanged'),
        ({"op": "begin", "payload": {"task": "a"}, "probe": 2}, "speaks version 2 of the probe"),
        (
            {"op": "begin", "payload": {"task": "a"}, "actor": "worker-9"},
            "'worker-9' is no process of this run (worker-1)",
        ),
        ('{"op": "record", "event": "attempt.ok", "task": "a"}', "pass TASKLAB_ACTOR"),
        ({"op": "record", "event": "attempt.fail", "task": "a"}, "attempt.fail without 'error'"),
        ({"op": "record", "event": "attempt.ok", "task": "a", "attemt": 1}, "no field 'attemt'"),
        ({"op": "record", "event": "attempt.ok", "task": "a", "t_ns": 5}, "the time is the lab's"),
        ({"op": "record", "event": "effect", "task": "a"}, "cannot know the event 'effect'"),
        ({"op": "record", "event": "crash"}, "cannot know the event 'crash'"),
        ({"op": "record", "event": "finished", "task": "a"}, "unknown event 'finished'"),
        ('{"op": "begin", "x": ' + "[" * 5000 + "]" * 5000 + "}", "recursion"),
    ],
)
def test_a_refused_request_records_nothing_and_is_named(lab: Lab, line: str | dict[str, Any], why: str) -> None:
    refused, answered = lab.ask(line, {"op": "now"})

    assert why in refused["error"]
    assert "t_ns" in answered, "the connection goes on"
    assert lab.file.read_text() == ""
    assert len(lab.probe.refusals + lab.probe.changed_payloads) == 1


@pytest.mark.parametrize("payload", [{}, {"work_s": 0.1}, {"task": 7}])
def test_a_payload_that_the_system_has_lost_is_no_fault_of_the_record(lab: Lab, payload: dict[str, Any]) -> None:
    [refused] = lab.ask({"op": "begin", "payload": payload})

    assert "without a task" in refused["error"]
    assert lab.probe.refusals == []
    assert lab.file.read_text() == ""


def test_an_attempt_with_a_changed_payload_has_begun_and_failed(lab: Lab) -> None:
    [refused] = lab.ask({"op": "begin", "payload": {"task": "a", "work_s": "long"}})

    assert "the payload was changed on its way" in refused["error"]
    assert lab.words() == ["attempt.start", "attempt.fail"]


def test_a_line_without_an_end_in_sight_closes_the_connection(lab: Lab) -> None:
    with lab.connect() as connection, connection.makefile("rb") as answers:
        connection.sendall(b'{"op": "begin", "x": "' + b"x" * LINE_BYTES_MAX)

        assert "at most 1,048,576 bytes" in json.loads(answers.readline())["error"]
        assert answers.readline() == b""


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        ({"op": "effect"}, "effect without task"),
        ({"op": "write"}, "write without resource"),
        ({"op": "arrive"}, "arrive without point"),
        ({"op": "arrive", "point": "leader"}, "arrive without subject"),
        ({"op": "effect", "task": "a", "actor": "worker-9"}, "'worker-9' is no process of this run"),
        ({"op": "effect", "task": "a", "attempt": 2**63}, "9223372036854775807"),
        ({"op": "effect", "task": "a", "fence": 10**30}, "9223372036854775807"),
        ({"op": "begin", "payload": {"task": "a"}, "attempt": 2**63}, "9223372036854775807"),
    ],
)
def test_an_effect_or_attempt_that_the_record_would_lack_is_refused_and_noted(
    lab: Lab, request_: dict[str, Any], why: str
) -> None:
    refused, after = lab.ask(request_, {"op": "effect", "task": "b"})

    assert why in refused["error"]
    assert after == {"accepted": True}
    assert len(lab.probe.refusals) == 1
    assert lab.words() == ["effect"]


@pytest.mark.parametrize(
    ("times", "why"),
    [
        ({"ttl_s": 5, "asked_ns": 1_790_000_000_000_000_000}, "asked_ns = 1790000000000000000 is not of the run"),
        ({"ttl_s": 5, "asked_ns": -1}, "asked_ns = -1 is not of the run"),
        ({"ttl_s": 0}, "above 0"),
        ({"ttl_s": -5}, "above 0"),
    ],
)
def test_a_lease_by_another_clock_is_refused(lab: Lab, times: dict[str, Any], why: str) -> None:
    [asked] = lab.ask({"op": "now"})
    lease = {"op": "record", "event": "lease.acquired", "resource": "a"}
    refused, recorded = lab.ask({**lease, **times}, {**lease, "ttl_s": 5, "asked_ns": asked["t_ns"]})

    assert why in refused["error"]
    assert recorded == {"recorded": True}
    assert len(lab.probe.refusals) == 1


def test_a_request_at_which_the_lab_itself_fails_is_noted(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(lab.recorder, "record", full_disk)
    [refused] = lab.ask({"op": "effect", "task": "a"})

    assert "No space left on device" in refused["error"]
    assert len(lab.probe.refusals) == 1


def test_a_line_cut_short_by_a_death_is_no_event(lab: Lab) -> None:
    with lab.connect() as connection:
        request = {"op": "record", "actor": "worker-1", "event": "attempt.ok", "task": "a"}
        connection.sendall(json.dumps(request).encode())
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""

    assert lab.file.read_text() == ""
    assert lab.probe.refusals == []


def test_what_was_sent_before_a_death_is_recorded(lab: Lab) -> None:
    program = (
        "import os, socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1])));"
        's.sendall(b\'{"op":"record","actor":"worker-1","event":"attempt.ok","task":"a"}\\n\'); os.kill(os.getpid(), 9)'
    )
    subprocess.run([sys.executable, "-c", program, lab.server.address.rpartition(":")[2]], check=False, timeout=WAIT_S)
    deadline_s = time.monotonic() + WAIT_S
    while not lab.file.read_text() and time.monotonic() < deadline_s:
        pass

    assert lab.words() == ["attempt.ok"]


def test_a_planned_death_is_a_crash_when_the_worker_hangs_up(lab: Lab) -> None:
    lab.outside.plan_deaths({"a": 1})
    lab.ask({"op": "arrive", "point": "death", "subject": "a"})
    lab.outside.counted.wait_until(lambda: lab.outside.deaths["worker-1"] == 1, WAIT_S)

    assert lab.words() == ["crash"]


@pytest.mark.slow
def test_a_worker_in_perl_is_tested_like_any_other(tmp_path: Path) -> None:
    perl = shutil.which("perl")
    if perl is None or subprocess.run([perl, "-MJSON::PP", "-e", "1"], capture_output=True, check=False).returncode:
        pytest.skip("perl, or its JSON::PP, is not installed")
    client = (ROOT / "docs" / "examples" / "plain" / "client.py").read_text()
    program = tmp_path / "client.py"
    program.write_text(client.replace("[sys.executable, str(WORKER),", f'["{perl}", "{PERL_WORKER}",'))
    program.chmod(0o755)
    arguments = ["run", "worker_killed_after_effect", "poison_tasks", "--seed", "7", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "tasklab", *arguments, "--system", "./client.py", "--environment", "embedded"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_S,
        check=False,
    )

    assert done.stdout, done.stderr
    runs = msgspec.json.decode(done.stdout)["runs"]
    assert [(one["scenario"], one["problems"]) for one in runs] == [
        ("worker_killed_after_effect", []),
        ("poison_tasks", []),
    ]
    said = {(one["scenario"], name): each["verdict"] for one in runs for name, each in one["verdicts"].items()}
    assert {place: verdict for place, verdict in said.items() if verdict != "held"} == {}
    assert done.returncode == 0
