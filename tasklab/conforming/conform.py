"""`tasklab conform` as a whole: the lines of the client process, then one run without a scenario's fault, then its record."""

from collections.abc import Sequence
from pathlib import Path

from chaos.environment import Environment
from scenarios.contract.capabilities import OWN_BODY
from scenarios.contract.system import System
from scenarios.experiment.plan import Plan
from scenarios.experiment.run import Experiment
from scenarios.experiment.scenario import Scenario, Workload
from scenarios.judging.guarantees import Guarantee
from scenarios.real.run import run
from scenarios.real.stage import RealStage
from scenarios.stored.rundir import RunDirectory
from tasklab.conforming.driver import ConformDriver
from tasklab.conforming.findings import WordFindings
from tasklab.conforming.record import check_record
from tasklab.running.judged_run import Say
from tasklab.running.places import directory_of_run

CONFORM = Scenario(
    "conform",
    "Every word of the protocol is tried once, before any fault; at the end a worker is killed and started again.",
    Workload(tasks=0, rate_per_s=1.0),
    (),
    (Guarantee.NO_LOST_TASK,),
)
SEED = 0
MEND_BY_START = (
    (
        "was not ready within",
        "the workers have to consume as soon as they run, and each task has to call run_task (or begin)",
    ),
    (
        "did not start clean",
        "use the namespace, the directory or the database of the run for every name, and list only its tasks",
    ),
    ("ended at start", "read its log: the process has to stay up"),
    ("account", "answer account with the five lists, from the beginning of the run on"),
    ("the probe refused", "see the requests of the probe in docs/protocol.md"),
)
MEND_OTHER = "see the logs in the run directory"


def check_running(
    system: System, world: Environment, findings: WordFindings, *, place: Path, repeat: str, say: Say
) -> Path:
    """Run the system in a started environment, and check every word; the run directory.

    Raises:
        NotApplicable: the environment lacks a service that the system needs.
    """
    made: list[ConformDriver] = []

    def drive(stage: RealStage, experiment: Experiment, _: Plan) -> ConformDriver:
        made.append(ConformDriver(stage, experiment, findings))
        return made[0]

    out = directory_of_run(place, CONFORM.name, system.name, SEED)
    finished = run(CONFORM, system, world, seed=SEED, out=out, repeat=repeat, say=say, drive=drive)
    _check_ends(finished, findings, was_complete=bool(made) and made[0].is_over)
    return finished.path


def _check_ends(finished: RunDirectory, findings: WordFindings, *, was_complete: bool) -> None:
    facts = finished.read_facts()
    if was_complete:
        check_record(finished, findings, has_own_body=OWN_BODY in facts.capabilities)
    said = " ".join(finding.said for finding in findings.all)
    for problem in facts.problems:
        if problem not in said:
            findings.mend("run", problem, _mend_of(problem))
    ends = [f"{death.process} ended by itself ({death.how}){_last(death.last_lines)}" for death in facts.deaths]
    if was_complete:
        findings.decide("stays up", ends, "no process ended by itself", "a process has to run until it is told to stop")
    else:
        for end in ends:
            findings.mend("stays up", end, "a process has to run until it is told to stop")


def _mend_of(problem: str) -> str:
    return next((mend for words, mend in MEND_BY_START if words in problem), MEND_OTHER)


def _last(lines: Sequence[str]) -> str:
    return f"; its last line: {lines[-1]}" if lines else ""
