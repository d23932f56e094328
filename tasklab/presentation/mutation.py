"""Generated mutants on the terminal: a line for each trial, and the survivors, each with its diff and the line that repeats it."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tasklab.mutation.campaign import GeneratedMutant
    from tasklab.mutation.trial import TrialResult

    Tried = tuple[GeneratedMutant, TrialResult]

NAMES = {
    "promise": "a broken promise",
    "crash": "a crash",
    "stuck": "a loop or a world without end",
    "busy": "more than twice the work of the unchanged reference",
    "unknown": "an unknown verdict",
}


def line_of(mutant: "GeneratedMutant", outcome: "TrialResult") -> str:
    """What became of one mutant."""
    where = f"{mutant.change.id} ({mutant.change.operator})"
    if outcome.how == "survived":
        reached = "" if outcome.reached else "; no world reached it"
        return f"{where}: SURVIVED {outcome.worlds} worlds{reached}"
    found = f"in {outcome.world}" if outcome.world else "when it was imported"
    return f"{where}: {outcome.how}, {outcome.what}, {found}"


def print_survivors(tried: "Sequence[Tried]", *, seed: int, seconds: float) -> None:
    """How many were killed and by what; then every survivor."""
    counts: Counter[str] = Counter(outcome.how for _, outcome in tried)
    survivors = [(mutant, outcome) for mutant, outcome in tried if outcome.how == "survived"]
    for mutant, outcome in survivors:
        print(line_of(mutant, outcome))
        for line in mutant.diff:
            print(f"    {line}")
        where = f"{mutant.change.file} --only {mutant.change.id}"
        print(f"    tasklab mutants --generate {where} --seed {seed} --seconds {seconds:g}")
    killed = len(tried) - len(survivors)
    print(f"{killed} of {len(tried)} mutants killed ({_percent(killed, len(tried))}), seed {seed}")
    for how, name in NAMES.items():
        if counts[how]:
            print(f"  {counts[how]:4} by {name}")
    unreached = sum(not outcome.reached for _, outcome in survivors)
    if unreached:
        print(f"  {unreached:4} of the survivors are in code that no world reached")


def document_of(tried: "Sequence[Tried]", *, seed: int, seconds: float) -> dict[str, object]:
    """The campaign as JSON."""
    return {"seed": seed, "seconds": seconds, "mutants": [_row(mutant, outcome) for mutant, outcome in tried]}


def _row(mutant: "GeneratedMutant", outcome: "TrialResult") -> dict[str, object]:
    change = mutant.change
    return {
        "id": change.id,
        "file": change.file,
        "line": change.line,
        "operator": change.operator,
        "diff": list(mutant.diff),
        "how": outcome.how,
        "what": outcome.what,
        "world": outcome.world,
        "worlds": outcome.worlds,
        "cpu_s": outcome.cpu_s,
        "reached": outcome.reached,
    }


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "none"
