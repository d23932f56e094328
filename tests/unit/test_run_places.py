"""Where results go: said before any work is done, if they cannot."""

import os
from pathlib import Path

import pytest

from scenarios.errors import WrongUsage
from tasklab.running.places import NotWritable, directory_of_run, file_for_rows, place_for_runs


def test_a_place_that_is_named_is_made(tmp_path: Path) -> None:
    assert place_for_runs(tmp_path / "a" / "b").is_dir()


def test_without_a_name_nobody_else_has_the_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    places = {place_for_runs(None) for _ in range(5)}

    assert len(places) == 5
    assert all(place.parent == Path("runs") for place in places)


def test_a_file_is_no_place_for_runs(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(NotWritable, match=r"results cannot be written to .*file: .*; name another place with --out"):
        place_for_runs(tmp_path / "file")
    with pytest.raises(NotWritable):
        place_for_runs(tmp_path / "file" / "below")


def test_nor_is_one_named_runs_in_this_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs").write_text("")

    with pytest.raises(NotWritable):
        place_for_runs(None)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_of_somebody_else_is_no_place(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)

    with pytest.raises(NotWritable, match="permission denied"):
        place_for_runs(tmp_path)


def test_rows_are_appended_to_a_file_and_not_to_a_directory(tmp_path: Path) -> None:
    assert file_for_rows(tmp_path / "new" / "rows.jsonl").exists()
    with pytest.raises(NotWritable, match="is a directory"):
        file_for_rows(tmp_path)


@pytest.mark.parametrize("name", ["../..", "/etc/passwd", "a/b", "a\0b"])
def test_no_name_of_a_scenario_or_system_leads_out_of_the_place(name: str, tmp_path: Path) -> None:
    with pytest.raises(WrongUsage, match="is not a valid name of a run directory"):
        directory_of_run(tmp_path, name, "reference", 7)
    with pytest.raises(WrongUsage, match="is not a valid name of a run directory"):
        directory_of_run(tmp_path, "swarm", name, 7)

    assert directory_of_run(tmp_path, "swarm", "reference", 7) == tmp_path / "swarm-reference-7"
