"""Run → judge → report, once for all commands: a run by its name, and its result."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tasklab.exit_codes import EXIT_UNKNOWN, worst
from tasklab.running.places import directory_of_run

if TYPE_CHECKING:
    from scenarios.judging.judge import Judgement
    from scenarios.record.run_facts import DeathRecord, RunFacts
    from scenarios.stored.open_tasks import OpenTasks
    from scenarios.stored.rundir import RunDirectory

SEED_MAX = 2**31 - 1

Say = Callable[[str], None]
"""Writes one line of progress."""

CarryOut = Callable[[Path], "RunDirectory"]
"""Carries a run out, into a directory that it creates."""


@dataclass(frozen=True, slots=True)
class RunName:
    """The identity of a run; `repeat`: the command that repeats it."""

    scenario: str
    system: str
    environment: str
    seed: int
    repeat: str


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """A finished run: its directory and judgement. `judgement` None: it was not applicable, for the reason `why`.

    `deaths`: the processes of the system that ended by themselves. `open_tasks`: where the tasks are that had not ended.
    `documented`: by promise, what the documentation of the system says of not keeping it. `refused`: by log, the addresses outside of
    the lab that processes of an app asked for. `facts`: of its run.json.
    """

    name: RunName
    directory: Path | None
    report: Path | None
    judgement: "Judgement | None"
    why: str = ""
    deaths: "Sequence[DeathRecord]" = ()
    open_tasks: "OpenTasks | None" = None
    documented: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, Sequence[str]] = field(default_factory=dict)
    facts: "RunFacts | None" = None

    @property
    def exit_code(self) -> int:
        """The exit code of this run."""
        return EXIT_UNKNOWN if self.judgement is None else self.judgement.exit_code

    def to_json(self) -> dict[str, object]:
        """For --json."""
        from msgspec import structs, to_builtins

        judged = {} if self.judgement is None else self.judgement.to_json()
        return {
            "scenario": self.name.scenario,
            "system": self.name.system,
            "environment": self.name.environment,
            "seed": self.name.seed,
            "repeat": self.name.repeat,
            "directory": self.directory and str(self.directory),
            "report": self.report and str(self.report),
            "why": self.why,
            "deaths": [structs.asdict(death) for death in self.deaths],
            "open_tasks": self.open_tasks and to_builtins(self.open_tasks),
            "documented": dict(self.documented),
            "refused": {log: list(addresses) for log, addresses in self.refused.items()},
            **judged,
            "exit_code": self.exit_code,
        }


def judged(name: RunName, place: Path, carry_out: CarryOut, say: Say) -> JudgedRun:
    """Carry a run out in a directory of `place`, judge it, and write its report.

    Raises:
        NotApplicable: the scenario has no target in this system or environment.
    """
    from reports.build import write_report
    from scenarios.adapters.adapted import refused_addresses
    from scenarios.stored.judge_files import judge_run
    from scenarios.stored.rundir import REPORT_FILE

    say(f"{name.scenario} × {name.system}: {name.repeat}")
    run = carry_out(directory_of_run(place, name.scenario, name.system, name.seed))
    judgement = judge_run(run)
    report = write_report([run.path], run.path / REPORT_FILE)
    facts = run.read_facts()
    return JudgedRun(
        name,
        run.path,
        report,
        judgement,
        deaths=facts.deaths,
        open_tasks=run.read_open_tasks(),
        documented=facts.documented,
        refused=refused_addresses(run.logs) if facts.settings else {},
        facts=facts,
    )


def judged_if_applicable(name: RunName, place: Path, carry_out: CarryOut, say: Say) -> JudgedRun:
    """As `judged`; a scenario that has no target is a run without a judgement."""
    from scenarios.errors import NotApplicable

    try:
        return judged(name, place, carry_out, say)
    except NotApplicable as error:
        say(f"  not applicable: {error}")
        return JudgedRun(name, None, None, None, str(error))


def report_of_runs(runs: Sequence[JudgedRun], place: Path) -> Path | None:
    """One report of all runs side by side, in `place`; None if no run was applicable."""
    from reports.build import write_report
    from reports.matrix import Inapplicable
    from scenarios.stored.rundir import REPORT_FILE

    ran = [one.directory for one in runs if one.directory is not None]
    inapplicable = [Inapplicable(one.name.scenario, one.name.system, one.why) for one in runs if one.directory is None]
    return write_report(ran, place / REPORT_FILE, inapplicable=inapplicable) if ran else None


def exit_code_of_runs(runs: Sequence[JudgedRun]) -> int:
    """The exit code of several runs: those that are not applicable do not count, unless all are."""
    return worst(run.exit_code for run in runs if run.judgement is not None)
