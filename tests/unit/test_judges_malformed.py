"""What is no history is said by file and line, makes every verdict unknown, and is never a crash and never a pass."""

import gzip
import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from scenarios.judging.guarantees import Guarantee
from scenarios.judging.judge import judge
from scenarios.judging.policy import NO_POLICY
from scenarios.judging.verdict import Ruling
from scenarios.record.history import Recorded
from scenarios.stored import reading
from scenarios.stored.judge_files import judge_path
from scenarios.stored.large.prefilter import prefilter
from scenarios.stored.reading import read_files, read_foreign
from tests.history_drafts import Draft
from tests.history_strategies import Life, live

GOOD = b'{"t_ns":5,"actor":"w","event":"crash"}\n'


def good_lines() -> list[bytes]:
    draft = Draft()
    live(draft, "a", Life("done", (), frozenset({"status"}), 1.0))
    return [json.dumps(_builtins(event)).encode() + b"\n" for event in draft.all_events()]


def _builtins(event: object) -> dict:
    import msgspec

    return msgspec.to_builtins(event)


def assert_unknown_throughout(recorded: Recorded) -> None:
    judgement = judge(recorded, claims=Guarantee, policy=NO_POLICY)

    assert {verdict.ruling for verdict in judgement.verdicts} == {Ruling.UNKNOWN}
    assert judgement.exit_code == 3


BAD_LINES = {
    "no JSON": (b"not json\n", "malformed"),
    "torn in the middle": (b'{"t_ns":6,"actor":"w","ev\n', "truncated"),
    "a number": (b"7\n", "object"),
    "a list": (b"[]\n", "object"),
    "unknown event": (b'{"t_ns":6,"actor":"w","event":"attempt.begin","task":"a"}\n', "unknown event 'attempt.begin'"),
    "no event": (b'{"t_ns":6,"actor":"w"}\n', "event"),
    "no actor": (b'{"t_ns":6,"event":"crash"}\n', "actor"),
    "no time": (b'{"actor":"w","event":"crash"}\n', "without a time"),
    "no task": (b'{"t_ns":6,"actor":"w","event":"attempt.start"}\n', "without 'task'"),
    "null task": (b'{"t_ns":6,"actor":"w","event":"attempt.start","task":null}\n', "without 'task'"),
    "wrong type": (b'{"t_ns":6,"actor":"w","event":"attempt.start","task":7}\n', "`str"),
    "quoted number": (b'{"t_ns":6,"actor":"w","event":"attempt.start","task":"a","attempt":"1"}\n', "`int"),
    "null for a step": (b'{"t_ns":6,"actor":"w","event":"effect","task":"a","step":null}\n', "`int | str`"),
    "fractional nanoseconds": (b'{"t_ns":6.5,"actor":"w","event":"crash"}\n', "`int`"),
    "NaN": (b'{"t_s":NaN,"actor":"w","event":"crash"}\n', "malformed"),
    "infinite time": (b'{"t_s":1e999,"actor":"w","event":"crash"}\n', ""),
    "time out of range": (b'{"t_s":1e300,"actor":"w","event":"crash"}\n', "impossible time"),
    "huge integer": (b'{"t_ns":' + b"9" * 30 + b',"actor":"w","event":"crash"}\n', ""),
    "invalid UTF-8": (b'{"t_ns":6,"actor":"w\xff","event":"crash"}\n', "utf-8"),
    "time goes back": (b'{"t_ns":4,"actor":"w","event":"restart"}\n', "time goes back for actor 'w'"),
    "named twice in the account": (
        b'{"t_ns":6,"actor":"lab","event":"final","healed":true,"caught_up":true,"done":["a","a"]}\n',
        "names task 'a' twice",
    ),
    "deep nesting": (b'{"t_ns":6,"actor":"w","event":"crash","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", ""),
    "zero bytes": (b"\x00" * 64 + b"\n", ""),
}


@pytest.mark.parametrize(("line", "why"), BAD_LINES.values(), ids=BAD_LINES.keys())
def test_a_line_that_is_no_event_is_named_by_file_and_line_by_both_engines(
    line: bytes, why: str, tmp_path: Path
) -> None:
    file = tmp_path / "history.w.jsonl"
    file.write_bytes(GOOD + line + b'{"t_ns":7,"actor":"v","event":"crash"}\n')

    for recorded in (read_files([file]), prefilter([file], NO_POLICY, parts_min=2).recorded):
        assert [(one.file, one.line) for one in recorded.malformed] == [("history.w.jsonl", 2)]
        assert why.lower() in recorded.malformed[0].why.lower()
        assert_unknown_throughout(recorded)


@pytest.mark.parametrize(
    "line",
    [
        b'{"t_ns":6,"actor":"w","event":"submit.ok","task":"a","task":"b"}\n',
        b'{"t_ns" : 6, "actor" : "w", "event" : "submit.ok", "task" : "a:b", "task" : "b"}\n',
        b'{"t_ns":6,"actor":"w","event":"submit.ok","task":"a","t\\u0061sk":"\\u003a"}\n',
        b'{"t_ns":6,"actor":"w","event":"submit.ok","task":"a","other":1,"other":' + b"9" * 5000 + b"}\n",
    ],
)
def test_a_name_that_occurs_twice_is_refused(line: bytes, tmp_path: Path) -> None:
    (tmp_path / "h.jsonl").write_bytes(GOOD + line)

    (malformed,) = read_files([tmp_path / "h.jsonl"]).malformed

    assert str(malformed).startswith("h.jsonl:2: the name ")
    assert "occurs 2 times" in malformed.why


def test_colons_and_quotes_within_texts_are_no_names(tmp_path: Path) -> None:
    line = b'{"t_ns":6,"actor":"w:1","event":"submit.ok","task":"a\\":b","other":{"task":"c"}}\n'
    (tmp_path / "h.jsonl").write_bytes(line)

    assert read_files([tmp_path / "h.jsonl"]).malformed == ()


def test_a_torn_last_line_is_counted_and_passed_over_by_both_engines(tmp_path: Path) -> None:
    file = tmp_path / "history.w.jsonl"
    file.write_bytes(b"".join(good_lines()) + b'{"t_ns":6,"actor":"w","ev')

    for recorded in (read_files([file]), prefilter([file], NO_POLICY).recorded):
        assert (recorded.torn, recorded.malformed) == (1, ())
        assert judge(recorded, claims=[Guarantee.NO_LOST_TASK], policy=NO_POLICY).exit_code in (0, 3)


def test_a_last_line_without_its_end_that_is_whole_is_an_event(tmp_path: Path) -> None:
    file = tmp_path / "history.w.jsonl"
    file.write_bytes(GOOD + GOOD.rstrip())

    assert (read_files([file]).torn, len(read_files([file]).history.events)) == (0, 2)


def test_a_second_account_is_malformed_for_both_engines(tmp_path: Path) -> None:
    final = b'{"t_ns":9,"actor":"lab","event":"final","healed":true,"caught_up":true}\n'
    file = tmp_path / "history.lab.jsonl"
    file.write_bytes(GOOD + final + final)

    for recorded in (read_files([file]), prefilter([file], NO_POLICY, parts_min=3).recorded):
        assert [str(one) for one in recorded.malformed] == [
            "history.lab.jsonl:3: a second final: a history has one account"
        ]


def test_rows_of_different_tasks_need_no_order_and_those_of_one_task_do(tmp_path: Path) -> None:
    def row(t_ns: int, task: str, before: str | None, after: str) -> bytes:
        fields = {"t_ns": t_ns, "actor": "database", "event": "state", "task": task, "from": before, "to": after}
        return json.dumps(fields).encode() + b"\n"

    apart, back = tmp_path / "apart.jsonl", tmp_path / "back.jsonl"
    start = b'{"t_ns":6,"actor":"w","event":"attempt.start","task":"b"}\n'
    apart.write_bytes(
        row(5, "a", None, "ACCEPTED") + row(4, "b", None, "ACCEPTED") + start + row(7, "b", "ACCEPTED", "RUNNING")
    )
    back.write_bytes(row(5, "a", None, "ACCEPTED") + row(4, "a", "ACCEPTED", "RUNNING"))

    for read in (lambda file: read_files([file]), lambda file: prefilter([file], NO_POLICY, parts_min=2).recorded):
        assert read(apart).malformed == ()
        assert len(read(apart).history.tasks["b"].states) == 2
        assert [one.line for one in read(back).malformed] == [2]


@pytest.mark.parametrize("content", [b"", b"\n\n  \n"], ids=["no byte", "empty lines"])
def test_a_file_without_any_event_is_malformed(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "nothing.jsonl"
    file.write_bytes(content)

    recorded = read_foreign(file).recorded

    assert [str(one) for one in recorded.malformed] == ["nothing.jsonl: holds no event"]
    assert_unknown_throughout(recorded)


def test_a_line_longer_than_any_event_is_refused_without_being_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LINE_BYTES_MAX", 1000)
    file = tmp_path / "long.jsonl"
    file.write_bytes(GOOD + b'{"detail":"' + b"x" * 5000 + b'"}\n' + GOOD)

    recorded = read_files([file])

    assert [(one.line, one.why) for one in recorded.malformed] == [
        (2, "a line of more than 1000 bytes is not an event")
    ]
    assert len(recorded.history.events) == 2


def test_a_file_that_is_no_history_at_all_is_not_read_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "novel.txt"
    file.write_bytes(b"It was a dark and stormy night.\n" * 10_000)

    recorded = read_foreign(file).recorded

    assert len(recorded.malformed) == reading.MALFORMED_MAX + 1
    assert_unknown_throughout(recorded)


def test_a_packed_history_reads_like_a_plain_one(tmp_path: Path) -> None:
    lines = good_lines()
    plain, packed = tmp_path / "plain.jsonl", tmp_path / "packed.jsonl.gz"
    plain.write_bytes(b"".join(lines))
    packed.write_bytes(gzip.compress(b"".join(lines)))

    assert read_files([packed]).history.events == read_files([plain]).history.events
    assert prefilter([packed], NO_POLICY).unremarkable.tasks == 1
    assert prefilter([packed.rename(tmp_path / "packed.jsonl")], NO_POLICY).unremarkable.tasks == 1


@pytest.mark.parametrize("large_bytes_min", [0, 10**9], ids=["prefiltered", "whole"])
def test_a_damaged_packed_history_is_malformed(
    large_bytes_min: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LARGE_BYTES_MIN", large_bytes_min)
    file = tmp_path / "damaged.jsonl.gz"
    file.write_bytes(gzip.compress(b"".join(good_lines()))[:-40])

    judged = judge_path(file)

    assert "the packed file is damaged" in judged.judgement.malformed[-1]
    assert judged.judgement.exit_code == 3


def document(events: Iterable[object], **stated: object) -> bytes:
    return json.dumps({**stated, "events": list(events)}, indent=1).encode()


def test_one_document_reads_like_its_lines_and_says_what_to_judge_by(tmp_path: Path) -> None:
    events = [json.loads(line) for line in good_lines()]
    file = tmp_path / "history.json"
    file.write_bytes(document(events, claims=["no_lost_task"], policy={"attempts_max": 2}))

    read = read_foreign(file)

    assert read.claims == ("no_lost_task",)
    assert read.policy == {"attempts_max": 2}
    assert read.recorded.malformed == ()
    assert len(read.recorded.history.events) == len(events)


def test_an_entry_of_a_document_that_is_no_event_is_named_by_its_number(tmp_path: Path) -> None:
    file = tmp_path / "history.json"
    file.write_bytes(document([{"t_s": 0, "actor": "a", "event": "crash"}, {"t_s": 1, "event": "crash"}]))

    assert [(one.file, one.line) for one in read_foreign(file).recorded.malformed] == [("history.json", 2)]


@pytest.mark.parametrize("content", [b'{"events": 3}', b'{"events": [', b'{"policy": {}}', b"\xff\xfe", b"{}"])
def test_a_document_that_is_none_is_malformed_and_unknown(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "history.json"
    file.write_bytes(content + b"\n")

    recorded = read_foreign(file).recorded

    assert recorded.malformed
    assert_unknown_throughout(recorded)
