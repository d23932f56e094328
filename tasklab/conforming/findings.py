"""What `tasklab conform` finds: one finding for each word of the protocol."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

from tasklab.exit_codes import EXIT_BROKEN, EXIT_HELD, EXIT_UNKNOWN
from tasklab.running.judged_run import Say


class Mark(StrEnum):
    """How a word was found. `note`: it does what it may do, and the user should know."""

    OK = "ok"
    MEND = "mend"
    NOTE = "note"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class WordFinding:
    """One word of the protocol. `said`: what was seen, in a sentence; `mend`: what to do about it."""

    word: str
    mark: Mark
    said: str
    mend: str = ""

    def to_json(self) -> dict[str, str]:
        """For --json."""
        return {name: str(value) for name, value in asdict(self).items()}


class WordFindings:
    """All findings, in their order; each is said as soon as it is made."""

    def __init__(self, say: Say) -> None:
        self.say = say
        self.all: list[WordFinding] = []

    def ok(self, word: str, said: str) -> None:
        """It does what the protocol says."""
        self._add(WordFinding(word, Mark.OK, said))

    def note(self, word: str, said: str) -> None:
        """It may do so; scenarios judge what follows."""
        self._add(WordFinding(word, Mark.NOTE, said))

    def skipped(self, word: str, said: str) -> None:
        """It was not tried."""
        self._add(WordFinding(word, Mark.SKIPPED, said))

    def unknown(self, word: str, said: str) -> None:
        """The lab could not tell."""
        self._add(WordFinding(word, Mark.UNKNOWN, said))

    def mend(self, word: str, said: str, mend: str) -> None:
        """It is wrong; `mend`: what to do."""
        self._add(WordFinding(word, Mark.MEND, said, mend))

    def decide(self, word: str, wrong: Sequence[str], right: str, mend: str) -> bool:
        """A word that is right if nothing is wrong with it; whether it is."""
        if wrong:
            self.mend(word, "; ".join(wrong), mend)
        else:
            self.ok(word, right)
        return not wrong

    @property
    def exit_code(self) -> int:
        """1: something is to be mended; 3: something could not be told; else 0."""
        marks = {finding.mark for finding in self.all}
        if Mark.MEND in marks:
            return EXIT_BROKEN
        return EXIT_UNKNOWN if Mark.UNKNOWN in marks or Mark.OK not in marks else EXIT_HELD

    def _add(self, finding: WordFinding) -> None:
        self.all.append(finding)
        self.say(f"{finding.word}: {finding.mark}: {finding.said}")
