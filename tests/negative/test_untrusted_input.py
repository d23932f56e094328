"""Tokens, run directories and rows come from elsewhere: they import nothing, write nowhere else, and have bounds."""

import base64
import json
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scenarios.errors import NotAToken, NotTrusted
from scenarios.simulated.search.token import PLAN_BYTES_MAX, Token, check_trusted, options_of, read_token
from scenarios.simulated.worlds.plan import DelayPlan, PlannedCallFault, PlannedStrike, PlannedTask, WorldPlan

EVIL = """
from pathlib import Path
Path("imported").write_text("")
from scenarios.systems.reference.plugin import system
from scenarios.catalogue.ack_lost import SCENARIO
"""
TASK = PlannedTask(0.1, "t1", {"task": "t1"})
MUTANT = "scenarios.systems.mutants.key_per_attempt:system"


def tasklab(cwd: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    (cwd / "evil.py").write_text(EVIL)
    command = [sys.executable, "-m", "tasklab", *argv]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=120)


def a_plan(**changes: Any) -> WorldPlan:
    return WorldPlan(**{"scenario": "swarm", "seed": 1, "tasks": (TASK,), **changes})


def a_token(system: str = "reference", **changes: Any) -> str:
    return str(Token("swarm", system, 1, a_plan(**changes)))


def packed(content: bytes) -> str:
    return "world~" + base64.urlsafe_b64encode(zlib.compress(content, 9)).decode().rstrip("=")


@pytest.mark.parametrize(
    ("token", "option"),
    [
        ("swarm~evil:system~7", "--system evil:system"),
        (a_token("evil:system"), "--system evil:system"),
        ("evil:SCENARIO~reference~7", "--scenario evil:SCENARIO"),
        (a_token(scenario="evil:SCENARIO"), "--scenario evil:SCENARIO"),
    ],
)
def test_a_token_imports_no_code_that_is_not_registered(token: str, option: str, tmp_path: Path) -> None:
    done = tasklab(tmp_path, "replay", token)

    assert done.returncode == 2
    assert f"add {option}" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "imported").exists()


def test_nor_does_the_run_directory_of_a_simulated_run(tmp_path: Path) -> None:
    facts = {"scenario": "swarm", "system": "x", "environment": "simulated", "seed": 1}
    (tmp_path / "run").mkdir()
    for repeat in ("tasklab replay swarm~evil:system~7", "tasklab run swarm --system evil:system --seed 1"):
        (tmp_path / "run" / "run.json").write_text(json.dumps({**facts, "repeat": repeat}))
        done = tasklab(tmp_path, "replay", "run")

        assert (done.returncode, "add --system evil:system" in done.stderr) == (2, True)
    assert not (tmp_path / "imported").exists()


def test_nor_do_the_rows_of_a_campaign(tmp_path: Path) -> None:
    row = {"series": "crash_points", "system": "evil:system", "seed": 1, "exit_code": 0, "token": "x"}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")

    done = tasklab(tmp_path, "simulate", "--merge", "rows.jsonl")

    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "imported").exists()


@pytest.mark.parametrize("repeat", ["", "tasklab replay", "tasklab run x --system"])
def test_a_run_directory_that_does_not_say_what_was_simulated_is_refused(repeat: str, tmp_path: Path) -> None:
    facts = {"scenario": "swarm", "system": "x", "environment": "simulated", "seed": 1, "repeat": repeat}
    (tmp_path / "run.json").write_text(json.dumps(facts))

    done = tasklab(tmp_path, "replay", ".")

    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)


def test_code_that_the_user_names_is_imported(tmp_path: Path) -> None:
    done = tasklab(tmp_path, "replay", "swarm~evil:system~7", "--system", "evil:system", "--out", "out", "--json")

    (run,) = json.loads(done.stdout)["runs"]
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "imported").exists()
    repeat = json.loads((Path(tmp_path / run["directory"]) / "run.json").read_text())["repeat"]
    assert repeat == "tasklab replay swarm~evil:system~7 --system evil:system"


@pytest.mark.parametrize("system", ["reference", "key_per_attempt", MUTANT])
def test_the_systems_of_the_lab_need_no_option(system: str) -> None:
    token = Token("swarm", system, 7)

    check_trusted(token)

    assert options_of(token) == ""


@pytest.mark.parametrize(
    "system",
    [
        "evil:system",
        "scenarios.systems.:x",
        "scenarios.systems..evil:x",
        "scenarios.lookup:x",
        "os:system",
        ":",
        "../x:y",
    ],
)
def test_an_address_that_only_looks_like_the_labs_is_not_trusted(system: str) -> None:
    with pytest.raises(NotTrusted):
        check_trusted(Token("swarm", system, 7))


@pytest.mark.parametrize(
    "scenario", ["../../x", "/tmp/x", "a/b", "a\x1b[2Jb", "a\u202eb", "a\nb", "x" * 300, "a\ud800"]
)
def test_no_name_in_a_token_becomes_a_path(scenario: str, tmp_path: Path) -> None:
    if "\ud800" in scenario:
        with pytest.raises(NotAToken):
            read_token(packed(b'{"series":"a\\ud800","system":"reference","seed":1,"plan":{}}'))
        return
    out = tmp_path / "a" / "b"

    done = tasklab(tmp_path, "replay", a_token(scenario=scenario), "--out", str(out))

    assert done.returncode == 2
    assert "is not a valid name of a run directory" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not list(out.glob("**/*"))


def test_a_token_that_unpacks_to_gigabytes_is_refused_at_its_bound() -> None:
    packer = zlib.compressobj(9)
    bomb = b"".join(packer.compress(b" " * 2**20) for _ in range(2 * PLAN_BYTES_MAX // 2**20)) + packer.flush()

    with pytest.raises(NotAToken, match="its plan has more than"):
        read_token("world~" + base64.urlsafe_b64encode(bomb).decode())


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"tasks": (TASK,) * 10_001}, "10,001 tasks"),
        ({"tasks": (PlannedTask(1e300, "t", {"task": "t"}),)}, "a duration of 1e\\+300 s"),
        ({"tasks": (PlannedTask(0.1, "t", {"task": "t"}, tries=10**9),)}, "a duration of 1000000000 s"),
        ({"read_every_s": 1e-9}, "read_every_s = 1e-09"),
        ({"patience_s": 1e308}, "a duration of 1e\\+308 s"),
        ({"delays": DelayPlan(slow_s=1e9)}, "a duration"),
        ({"sizes": {"workers": 10**6}}, "workers = 1000000"),
        ({"tasks": (PlannedTask(0.1, "t", {}),)}, "whose payload does not name it"),
        ({"strikes": (PlannedStrike("no_such_fault", {}),)}, "a fault that does not exist"),
        ({"call_faults": (PlannedCallFault("api-1", 1, "no_such_kind"),)}, "a fault that does not exist"),
    ],
)
def test_a_plan_of_which_no_world_can_be_made_is_refused_in_a_sentence(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(NotAToken, match=why):
        read_token(packed(msgspec.json.encode(Token("swarm", "reference", 1, a_plan(**changes)))))


@pytest.mark.parametrize("content", [b"[" * 10**6, b'{"series":"s","system":"x","seed":1' + b"0" * 10**5 + b"}", b"{}"])
def test_depth_and_numbers_of_a_token_are_bounded(content: bytes) -> None:
    with pytest.raises(NotAToken):
        read_token(packed(content))
