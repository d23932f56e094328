"""Damaged histories: never a crash, and never "held" for a promise that the undamaged history breaks by a witness nobody touched.

A hundred drawn histories, each damaged in ten ways; the nightly run (benchmarks/judge_nightly.py) draws a hundred times as many.
"""

import tempfile
from pathlib import Path
from random import Random

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from scenarios.judging.guarantees import Guarantee
from scenarios.judging.judge import judge
from scenarios.judging.verdict import Ruling
from scenarios.record.history import Event
from scenarios.stored.reading import read_foreign
from tests.anomalies import AUDITED_KINDS, KINDS, Plant, planted
from tests.examples import examples
from tests.history_drafts import Draft
from tests.history_strategies import legal_drafts

WAYS = ("flip", "delete", "repeat", "cut", "swap", "insert", "retype")
FINAL_WAYS = ("delete", "cut", "insert")
GARBAGE = (b"\x00\xff\xfe", b"{}", b"[1,2", b'{"event":"final"}', b"null", b'"', b"\n\n", b'{"t_ns":1e400}', b"9" * 400)


@examples(100)
@given(legal_drafts(st.just(True)), st.sampled_from([*KINDS, *AUDITED_KINDS]), st.randoms(use_true_random=False))
def test_damage_elsewhere_never_makes_a_broken_promise_held(draft: Draft, plant: Plant, random: Random) -> None:
    history, expected = planted(draft, plant, random.randrange(100))
    witnessing = set(map(id, history.events[len(draft.events) :]))
    events = history.all_events()
    lines = [msgspec.json.encode(event) for event in events]
    decisive = [id(event) in witnessing or explains(event) for event in events]
    for _ in range(10):
        content = damaged(lines, decisive, random)

        rulings = rulings_of(content, history)

        assert {guarantee: rulings[guarantee] for guarantee in expected if rulings[guarantee] == Ruling.HELD} == {}


def explains(event: Event) -> bool:
    """Whether another meaning of this line could honestly explain or excuse what the witness did."""
    return event.event.startswith(("fault.", "crash"))


def damaged(lines: list[bytes], decisive: list[bool], random: Random) -> bytes:
    """The history with one to three of its lines damaged, none of them decisive; or cut off, or with something added."""
    copy = list(lines)
    harmless = [place for place, is_decisive in enumerate(decisive) if not is_decisive]
    for _ in range(random.randint(1, 3)):
        place = random.choice(harmless)
        is_final = place == len(lines) - 1
        copy[place] = damage(copy, place, random.choice(FINAL_WAYS if is_final else WAYS), random)
    content = b"\n".join(copy) + b"\n"
    match random.randrange(8):
        case 0:
            last = max((place for place, is_decisive in enumerate(decisive) if is_decisive), default=0)
            decided = len(b"\n".join(copy[: last + 1])) + 1
            return content[: random.randrange(min(decided, len(content) - 1), len(content))]
        case 1:
            return content + random.choice(GARBAGE)
    return content


def damage(lines: list[bytes], place: int, way: str, random: Random) -> bytes:
    line = lines[place]
    at = random.randrange(len(line)) if line else 0
    match way:
        case "flip":
            return line[:at] + bytes([random.randrange(256)]) + line[at + 1 :]
        case "delete":
            return b""
        case "repeat":
            return line + b"\n" + line
        case "cut":
            return line[:at]
        case "swap":
            return line[at:] + line[:at]
        case "insert":
            return line[:at] + random.choice(GARBAGE) + line[at:]
    return line.replace(b'"', b"", 2) if random.random() < 0.5 else line.replace(b":", b":-", 1)


def rulings_of(content: bytes, history: Draft) -> dict[Guarantee, Ruling]:
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "history.jsonl"
        file.write_bytes(content)
        recorded = read_foreign(file).recorded
    judgement = judge(recorded, claims=Guarantee, policy=history.policy)
    msgspec.json.encode(judgement.to_json())
    return {verdict.guarantee: verdict.ruling for verdict in judgement.verdicts}
