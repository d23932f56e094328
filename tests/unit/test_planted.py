"""Secrets planted in payloads are found again wherever a run shows them, and nowhere else."""

import json
from pathlib import Path

from scenarios.contract.system import Submit
from scenarios.experiment.canaries import Search, search, secret_of, with_secret
from scenarios.stored.rundir import RunDirectory


def a_run(path: Path, **files: str) -> RunDirectory:
    directory = RunDirectory(path)
    directory.create()
    for name, content in files.items():
        place = directory.logs / f"{name}.log" if name != "client" else path / "history.client.jsonl"
        place.write_text(content)
    return directory


def test_a_planted_payload_keeps_what_it_had() -> None:
    submit = with_secret(Submit("a", {"task": "a", "work_s": 1}, key="a"))

    assert submit.payload == {"task": "a", "work_s": 1, "secret": secret_of("a")}
    assert secret_of("a") != secret_of("b")


def test_what_came_to_light_is_named_by_place_and_task(tmp_path: Path) -> None:
    payload = json.dumps(dict(with_secret(Submit("b", {"task": "b"}, key="b")).payload))
    run = a_run(
        tmp_path / "run",
        api="all is well\n",
        worker=f"handling {payload} for the\nsecond time: {payload} and {secret_of('of another run')}\n",
        client=f'{{"event":"submit.fail","task":"a","detail":"refused: {secret_of("a")}"}}\n',
    )

    assert list(search(run, ["a", "b", "c"])) == [
        Search("logs/api.log", ()),
        Search("logs/worker.log", ("b",)),
        Search("history.client.jsonl", ("a",)),
    ]
