"""Tables of judged cases in tests/cases/*.txt: one case a row, grouped by the promise that is judged.

    RAN = 0 client submit.invoke A; 1 w attempt.start A; 2 w attempt.ok A

    [no_lost_task]
    held     | done        | RAN; 9 lab final done=A
    broken A | not listed  | RAN; 9 lab final

    [poison_bounded attempts_max=2]
    held     | never tried | 0 client submit.invoke A; 0.01 client submit.ok A;
                             9 lab final done=A

The columns, separated by `|`: the expected result, the name of the case, and its history in the notation of tests/histories.py, with
`;` between its lines. A row that begins with a space continues the history of the row before. `NAME = …` names a piece of a
history; the rows below may use the name in its place. The fields after a promise are the policy to judge by, their values in JSON.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scenarios.judging.guarantees import Guarantee
from scenarios.judging.policy import NO_POLICY, Policy, policy_from
from scenarios.record.history import History
from tests.histories import history

CASES = Path(__file__).parent / "cases"


class BadRow(ValueError):
    """A row that cannot be read; the message names file and line."""


@dataclass(frozen=True)
class Case:
    """One row: by this promise, under this policy, this history gives what is expected."""

    guarantee: Guarantee
    policy: Policy
    expected: str
    name: str
    history: History

    def __str__(self) -> str:
        return f"{self.guarantee}: {self.name}"


def cases_in(name: str) -> list[Case]:
    """The cases of tests/cases/`name`, in the order of the file.

    Raises:
        BadRow: a row that is not in the format, or a history that is not in the notation.
    """
    pieces: dict[str, str] = {}
    guarantee, policy, cases = None, NO_POLICY, []
    for number, row in _rows(CASES / name):
        try:
            if row.startswith("["):
                guarantee, policy = _section(row)
            elif "|" not in row:
                piece, _, lines = row.partition("=")
                pieces[piece.strip()] = _expanded(lines, pieces)
            elif guarantee is None:
                raise ValueError("no promise is named above this row")
            else:
                expected, title, lines = (cell.strip() for cell in row.split("|"))
                cases.append(Case(guarantee, policy, expected, title, history(_expanded(lines, pieces))))
        except ValueError as error:
            raise BadRow(f"{name}:{number}: {error}") from error
    return cases


def _rows(file: Path) -> Iterator[tuple[int, str]]:
    """Each row with the number of its first line; continued rows are joined."""
    rows: list[tuple[int, str]] = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith(" "):
            first, row = rows.pop()
            rows.append((first, f"{row} {line.strip()}"))
        else:
            rows.append((number, line))
    yield from rows


def _section(row: str) -> tuple[Guarantee, Policy]:
    name, *stated = row.strip("[]").split()
    fields = (field.partition("=") for field in stated)
    return Guarantee(name), policy_from({field: json.loads(value) for field, _, value in fields})


def _expanded(lines: str, pieces: dict[str, str]) -> str:
    """The lines of a history, one below the other, each named piece replaced by its own lines."""
    parts = (part.strip() for part in lines.split(";"))
    return "\n".join(pieces.get(part, part) for part in parts)
