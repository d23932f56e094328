"""The driver of the run of `tasklab conform`: tries the words one after another, where the clients of a scenario would submit."""

from collections.abc import Callable, Sequence

from chaos.errors import ChaosError
from chaos.faults import KillProcess
from scenarios.contract.capabilities import CAPABILITIES
from scenarios.errors import RunFailed
from scenarios.experiment.fitting import HANDLER_ROLE
from scenarios.experiment.run import Experiment
from scenarios.experiment.scenario import AtStart, Strike
from scenarios.real.stage import RealStage
from tasklab.conforming.bench import ACTOR, Bench, patience_of
from tasklab.conforming.capabilities import (
    BY_CAPABILITY,
    UNTRIED,
    check_children,
    check_failures,
    check_key,
    check_redrive,
    check_result,
)
from tasklab.conforming.findings import WordFindings
from tasklab.conforming.words import (
    check_account_of_ended,
    check_effect,
    check_held,
    check_status_of_ended,
    check_submit,
)

Check = Callable[[Bench], None]

FIRST: tuple[Check, ...] = (
    check_submit,
    check_effect,
    check_status_of_ended,
    check_account_of_ended,
    check_held,
)
DOWN_S = 0.3
MEND_RAISED = (
    "a failure of the system is an outcome (fail or info), never an error; answer in time, and print to standard error"
)


class ConformDriver:
    """A `scenarios.experiment.driver.Driver` that checks. `is_over`: every check was made."""

    def __init__(self, stage: RealStage, experiment: Experiment, findings: WordFindings) -> None:
        self._stage = stage
        self._experiment = experiment
        self._findings = findings
        self.is_over = False

    def start(self) -> None:
        """The warm-up was run: say so."""
        names = ", ".join(self._stage.processes)
        self._findings.ok("start", f"{names} started; a first task was accepted and had its effect")

    def await_end(self) -> None:
        """Make every check; a failure of the plug-in ends them all."""
        client = self._stage.client(ACTOR)
        bench = Bench(self._stage, self._experiment, self._findings, client, patience_of(self._stage))
        try:
            for check in self._checks(bench):
                check(bench)
                self._stage.check_plugin()
            self.is_over = True
        except RunFailed as error:
            self._findings.mend("requests", str(error), MEND_RAISED)
        finally:
            client.close()

    def stop(self) -> None:
        """There is nothing to stop."""

    def problems(self) -> Sequence[str]:
        """Always empty: what is wrong is a finding."""
        return ()

    def _checks(self, bench: Bench) -> Sequence[Check]:
        able = [check for capability, check in BY_CAPABILITY.items() if capability in bench.capabilities]
        words = (*FIRST, check_failures, check_key, *able)
        asked_of_handler = frozenset((check_failures, check_redrive, check_result, check_children))
        tried = [check for check in words if not (bench.has_own_body and check in asked_of_handler)]
        return (*tried, say_untried, check_restart)


def say_untried(bench: Bench) -> None:
    """The capabilities that were not tried, and those that the system does not state."""
    untried = sorted(bench.capabilities & UNTRIED)
    if untried:
        bench.findings.skipped(", ".join(untried), "needs a crowd of tasks: scenarios try it")
    words = {"status", "key", "resume", *BY_CAPABILITY, *UNTRIED}
    lacking = [name for name in CAPABILITIES if name in words - bench.capabilities]
    if lacking:
        bench.findings.skipped(
            "not stated", f"the system does not state {', '.join(lacking)}: the lab asks for none of it"
        )


def check_restart(bench: Bench) -> None:
    """A worker is killed while it has a task in hand, and started again: the system takes tasks and runs them as before."""
    point = bench.outside.arm("effect", 1)
    nemesis = bench.experiment.nemesis
    try:
        bench.submit("killed")
        is_caught = point.reached.wait_until(lambda: point.is_reached, bench.patience_s)
        target = point.actor if is_caught and point.actor in bench.stage.processes else HANDLER_ROLE
        state = nemesis.add(Strike(KillProcess(target), AtStart()))
        try:
            nemesis.strike(state)
            bench.stage.sleep(DOWN_S)
            nemesis.lift(state)
        finally:
            nemesis.close(state)
    except ChaosError as error:
        mend = "the same argv has to start the process again: remove stale files and locks at the start"
        bench.findings.mend("restart", str(error), mend)
        return
    finally:
        point.release()
    outcome = bench.submit_until_accepted("after-restart")
    missing = outcome.kind == "fail" or bench.without_effect(["after-restart"])
    wrong = [
        f"after {state.target} was killed and started again, a new task had no effect within {bench.seconds()}"
    ] * bool(missing)
    mend = "a process that is started again by the same argv has to work as before"
    bench.findings.decide(
        "restart", wrong, f"{state.target} was killed and started again, and a new task was run", mend
    )
