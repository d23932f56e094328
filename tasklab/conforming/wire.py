"""The first half of `tasklab conform`, the test kit of the protocol: what a client process does with lines, request by request."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from scenarios.errors import PluginLost
from scenarios.plugin.process import ClientProcess, ErrorAnswer
from scenarios.plugin.protocol import Describe, Description, PluginRequest
from tasklab.conforming.findings import WordFindings

DEADLINE_S = 10.0
END_S = 5.0
PIPELINED = 8
UNKNOWN_DO = "tasklab.unknown"
MEND_LOST = (
    "answer every request in time, write nothing but answers to standard output, one JSON object a line with the id of the request, "
    "and flush after each; print to standard error"
)
MEND_ERROR = "answer describe with ok and the description"
MEND_DESCRIBE = "see `describe` in docs/protocol.md for the fields and their types"


class UnknownRequest(PluginRequest, frozen=True, kw_only=True, tag=UNKNOWN_DO):
    """A request of a later version of the protocol."""


class LaterDescribe(PluginRequest, frozen=True, kw_only=True, tag="describe"):
    """`describe` with a field of a later version."""

    protocol: int = 1
    answer_bytes_max: int = Describe().answer_bytes_max
    added_later: tuple[dict[str, str], ...] = ({"field": "to be ignored"},)


@dataclass(frozen=True, slots=True)
class Speaker:
    """A program that speaks the protocol itself. `describes`: whether the lab asks it to describe its system, or tasklab.toml does."""

    argv: Sequence[str]
    directory: Path
    describes: bool = True


def check_wire(speaker: Speaker, findings: WordFindings, *, deadline_s: float | None) -> None:
    """Start the client process for each check, and see what it makes of its lines. `deadline_s`: for an answer; None: 10 s."""
    limit_s = DEADLINE_S if deadline_s is None else deadline_s
    deadlines_s = {"describe": limit_s, UNKNOWN_DO: limit_s}
    checks: tuple[tuple[str, Callable[[ClientProcess, WordFindings], None]], ...] = (
        *((("several requests at once", _pipelined), ("unknown field", _unknown_field)) if speaker.describes else ()),
        ("unknown request", _unknown_request),
        ("end of input", _end_of_input),
    )
    for word, check in checks:
        with closing(ClientProcess(speaker.argv, directory=speaker.directory, deadlines_s=deadlines_s)) as process:
            try:
                check(process, findings)
            except PluginLost as lost:
                findings.mend(word, str(lost), MEND_LOST)
            except ErrorAnswer as error:
                findings.mend(word, f"describe was answered with the error {error.kind}: {error.message}", MEND_ERROR)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                findings.mend(word, f"the answer to describe is malformed: {error}", MEND_DESCRIBE)


def _described(process: ClientProcess, request: PluginRequest) -> Description:
    return msgspec.json.decode(process.ask(request), type=Description)


def _pipelined(process: ClientProcess, findings: WordFindings) -> None:
    with ThreadPoolExecutor(PIPELINED) as pool:
        asked = [pool.submit(_described, process, Describe()) for _ in range(PIPELINED)]
        names = {one.result().name for one in asked}
    wrong = [f"describe states {len(names)} different names"] * (len(names) > 1)
    right = f"{PIPELINED} requests sent at once were all answered, each with its id"
    findings.decide("several requests at once", wrong, right, "describe the same system each time")


def _unknown_field(process: ClientProcess, findings: WordFindings) -> None:
    _described(process, LaterDescribe())
    findings.ok("unknown field", "it is ignored")


def _unknown_request(process: ClientProcess, findings: WordFindings) -> None:
    mend = "answer an unknown `do` with the error unsupported: the lab may add requests"
    try:
        answer = bytes(process.ask(UnknownRequest())).decode(errors="replace")
    except ErrorAnswer as error:
        wrong = [] if error.kind == "unsupported" else [f"it is answered with the error {error.kind}"]
    else:
        wrong = [f"it is answered with ok: {answer[:80]}"]
    findings.decide("unknown request", wrong, "it is answered with the error unsupported", mend)


def _end_of_input(process: ClientProcess, findings: WordFindings) -> None:
    with suppress(ErrorAnswer):
        process.ask(UnknownRequest())  # it has started, and reads
    is_over = process.ends_with_its_input(END_S)
    wrong = [] if is_over else [f"the process still runs {END_S:g} s after the end of its standard input"]
    findings.decide(
        "end of input", wrong, "the process ends", "end when standard input ends: do not wait for workers or timers"
    )
