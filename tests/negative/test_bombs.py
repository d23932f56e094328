"""Files that were made to fill memory or time: each is refused at its bound, in a sentence."""

import gzip
import json
from pathlib import Path

import pytest

from scenarios.errors import MalformedPolicy, NothingToJudge
from scenarios.judging.policy import policy_from
from scenarios.judging.verdict import EXIT_UNKNOWN
from scenarios.stored import reading
from scenarios.stored.judge_files import Judged, judge_path, read_cases
from scenarios.stored.reading import read_document

EVENT = b'{"t_s":1,"actor":"c","event":"submit.ok","task":"A"}\n'


@pytest.fixture(autouse=True)
def small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "UNPACKED_BYTES_MIN", 2**16)
    monkeypatch.setattr(reading, "UNPACKED_BY_MAX", 10)
    monkeypatch.setattr(reading, "EMPTY_LINES_MAX", 10_000)


def judged(file: Path, content: bytes) -> Judged:
    file.write_bytes(content)
    return judge_path(file)


@pytest.mark.parametrize("first", [b"", EVENT], ids=["no event", "an event first"])
@pytest.mark.parametrize("filling", [b"0", b" ", b"\n", EVENT], ids=["zeros", "spaces", "empty lines", "events"])
@pytest.mark.parametrize("is_large", [False, True])
def test_a_packed_file_is_read_to_its_bound(
    filling: bytes, first: bytes, is_large: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_large:
        monkeypatch.setattr(reading, "LARGE_BYTES_MIN", 0)

    said = judged(tmp_path / "bomb.gz", gzip.compress(first + filling * (4 * 2**20 // len(filling))))

    assert said.judgement.exit_code == EXIT_UNKNOWN
    assert any("unpacks to more than" in why or "empty lines" in why for why in said.judgement.malformed)


def test_a_history_that_packs_well_is_read(tmp_path: Path) -> None:
    said = judged(tmp_path / "history.gz", gzip.compress(EVENT * 1000))

    assert (said.judgement.malformed, len(said.recorded.history.events)) == ((), 1000)


def test_a_file_of_empty_lines_is_no_history(tmp_path: Path) -> None:
    said = judged(tmp_path / "lines", EVENT + b"\n" * 200_000)

    assert said.judgement.malformed == ("lines:10002: more than 10,000 empty lines in a row",)


def test_a_long_line_is_no_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LINE_BYTES_MAX", 1000)

    said = judged(tmp_path / "lines", EVENT + b'{"actor":"' + b"x" * 10_000 + b'"}\n' + EVENT)

    assert said.judgement.malformed == ("lines:2: a line of more than 1000 bytes is not an event",)


@pytest.mark.parametrize(
    "content", [b"[" * 10**6, b'{"a":' * 10**6, b'{"events":' + b"[" * 10**6], ids=["lists", "maps", "events"]
)
def test_depth_is_bounded(content: bytes, tmp_path: Path) -> None:
    assert judged(tmp_path / "deep.json", content).judgement.exit_code == EXIT_UNKNOWN
    with pytest.raises(NothingToJudge):
        read_cases(tmp_path / "deep.json")
    (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(NothingToJudge):
        judge_path(tmp_path)


def test_a_document_that_is_read_whole_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "DOCUMENT_BYTES_MAX", 10)
    (tmp_path / "cases").write_bytes(b" " * 11)

    with pytest.raises(NothingToJudge, match="more than 10 bytes"):
        read_document(tmp_path / "cases")


@pytest.mark.parametrize(
    "number", ["1e300", "-1e300", "1e400", "9" * 30, "9" * 5000], ids=["1e300", "-1e300", "1e400", "30 digits", "5000"]
)
@pytest.mark.parametrize("field", ["t_s", "ttl_s", "due_s", "deadline_s", "fence", "attempt", "t_ns", "asked_ns"])
def test_an_event_with_a_number_that_cannot_be_is_malformed(field: str, number: str, tmp_path: Path) -> None:
    event = {"t_s": 1, "actor": "w", "event": "lease.acquired", "resource": "r", "fence": 1, "ttl_s": 1}
    text = json.dumps({**event, field: "NUMBER"}).replace('"NUMBER"', number)

    said = judged(tmp_path / "history", EVENT + text.encode() + b"\n")

    assert said.judgement.exit_code == EXIT_UNKNOWN
    assert [why[:10] for why in said.judgement.malformed] == ["history:2:"]


@pytest.mark.parametrize("number", [1e308, 2e9, 10**30, 10**5000], ids=["1e308", "2e9", "30 digits", "5000 digits"])
@pytest.mark.parametrize(
    "stated",
    [
        *("budget_s", "ack_s", "grace_s", "tolerance_s", "lease_s", "key_window_s", "result_ttl_s", "wait_s"),
        *("attempts_max", "overtakes_max"),
    ],
)
def test_a_policy_with_a_number_that_cannot_be_is_refused_in_a_short_sentence(stated: str, number: float) -> None:
    with pytest.raises(MalformedPolicy) as caught:
        policy_from({stated: number})

    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "stated",
    [
        {"delays_s": [[0, 1e308]]},
        {"window": {"kind": "sliding", "n": 10**30, "per_s": 1}},
        {"window": {"kind": "sliding", "n": 1, "per_s": 1e300}},
        {"window": {"kind": "bucket", "n": 1, "per_s": 1, "burst": 1e300}},
        {"concurrency": {"by": "all", "n": 10**30}},
        {"schedules": {"x": {"every_s": 1e-300}}},
        {"schedules": {"x": {"every_s": 1, "since_s": -1e300}}},
        {"schedules": {"x": {"every_s": 1, "until_s": 1e300}}},
    ],
)
def test_so_is_a_window_or_a_schedule(stated: dict[str, object]) -> None:
    with pytest.raises(MalformedPolicy):
        policy_from(stated)
