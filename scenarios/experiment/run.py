"""One experiment, from the first process to the last event; on real services and in the simulator alike."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from chaos.injection import Interruption
from scenarios.contract.system import Account, Submit
from scenarios.errors import RunFailed
from scenarios.experiment.drain import SETTLED_S, Drained, all_ended, drain, ended_in, listed_in
from scenarios.experiment.driver import Driver
from scenarios.experiment.lost_acks import acks_in_hand, lost_acks
from scenarios.experiment.nemesis import Nemesis
from scenarios.experiment.outside import Outside
from scenarios.experiment.scenario import Strike
from scenarios.experiment.stage import Stage
from scenarios.experiment.status_reader import StatusReader
from scenarios.experiment.submissions import Submissions
from scenarios.experiment.supervision import RESTARTS_MAX, Supervisor
from scenarios.record.history import Event
from scenarios.record.run_facts import WorkFigures

READY_TIMEOUT_S = 30.0
LOOK_S = 0.05
READ_LAST_S = 5.0
FOREIGN_SHOWN = 3
STOP_S = 5.0
"""For a process to end when it is asked to."""
ABORTED_STOP_S = 1.0
ABORTED_LIFT_S = 2.0
"""For the faults that are on when a run is interrupted; the environment ends whatever is left of them."""
BUDGET_S = 30.0
"""For a system that states no budget."""


@dataclass(frozen=True, slots=True)
class StrikeTimeout:
    """How long strikes may still wait for their triggers after the last submission was answered.

    `quiet_s`: give up when nothing has moved for this time; None: this is not checked. `may_miss`: a strike that never bit is no
    problem of the run, and the wait ends when every task has ended.
    """

    longest_s: float
    quiet_s: float | None = None
    may_miss: bool = False


@dataclass(frozen=True, slots=True)
class Timing:
    """The time-outs of an experiment; and `warm_up`: the task before the storm, None if the stage needs none.

    `unlisted_quiet_s`: as `quiet_s`, if it is longer, for a system that cannot list its tasks: a slow one looks like one that lost them.
    `reported_within_s`: how long to go on reading tasks that have ended and are not read as ended; 0: not at all.
    `reads_struck`: whether the tasks in the hands of struck processes are read, too.
    """

    quiet_s: float
    budget_s: float
    strike_timeout: StrikeTimeout
    read_every_s: float
    warm_up: Submit | None = None
    restarts_max: int = RESTARTS_MAX
    unlisted_quiet_s: float | None = None
    reported_within_s: float = 0.0
    reads_struck: bool = False


class Experiment:
    """A running experiment. `problems`: failures of the lab; each makes the run unknown.

    `open_tasks`: after the drain, the tasks that have not ended, with their ids; `places`: where the system says that they are.
    """

    def __init__(self, stage: Stage, outside: Outside, strikes: Sequence[Strike], timing: Timing) -> None:
        self.stage = stage
        self.outside = outside
        self.timing = timing
        self.submissions = Submissions(stage.records("client"), stage.now_ns, stage.signal())
        self.nemesis = Nemesis(stage, outside, self.submissions, strikes)
        struck = self.nemesis.struck_tasks if timing.reads_struck else tuple
        self.reader = StatusReader(stage, self.submissions, every_s=timing.read_every_s, struck=struck)
        self.supervisor = Supervisor(
            stage, self._is_struck, planned=outside.deaths.__getitem__, restarts_max=timing.restarts_max
        )
        self.problems: list[str] = []
        self.work: WorkFigures | None = None
        self.open_tasks: Mapping[str, str | None] = {}
        self.places: Mapping[str, str] = {}
        self._keeps_account: bool | None = None
        """Whether the system lists its tasks; None: it was not asked yet."""
        self._interruptions: list[tuple[int, Interruption]] = []
        self._stop_s = STOP_S

    def run(self, driver: Driver) -> None:
        """Run the phases of an experiment, in this order; `driver` submits.

        Whether the scenario fits the system is decided before (`fitting`).

        1. start: every process of the system starts.
        2. warm-up: one task is submitted until it has had its effect, if processes take unknown time to get ready. The system's
           account must be empty before it, and hold only this task after it.
        3. storm: clients submit on schedule, a reader reads statuses, the supervisor restarts processes that end by themselves,
           and the nemesis begins each fault at its trigger and lifts it; until all is submitted and every strike is over.
        4. calm: no fault is active any more; the drain waits until every task has ended, or no task moves.
        5. account: statuses are read one last time, and the system's account of its tasks becomes the `final` event. Tasks that had
           their effect, are not listed as pending and not read as ended are read until they are, or the system is late with it.
        6. end: processes stop. `after_events` completes the record: the audit trail, and acks that the lab swallowed.

        The verdicts are not part of it: judges read the record of the run.

        Raises:
            ChaosError, RunFailed: the lab could not go on.
        """
        try:
            self.stage.begin("start")
            self.stage.start_processes()
            if self.timing.warm_up is not None:
                self._check_clean()
                self.stage.begin("warm-up")
                self._warm_up(self.timing.warm_up)
                self._check_clean(self.timing.warm_up.task)
            self._storm(driver)
            self.stage.begin("calm")
            drained = self._calm(driver)
            self.stage.begin("account")
            self._interruptions = [(self.stage.since_start_ns(one.at_ns), one) for one in self.stage.interruptions()]
            unread = self.reader.read_last(READ_LAST_S)
            self.work = self._work_done(drained)
            self._note_open(drained)
            self._write_final(drained)
            self._await_reports(unread, drained)
        except BaseException:  # also an interrupt
            self._abort()
            raise
        finally:
            self._stop(driver)
        self.stage.begin("end")

    def account(self) -> Account:
        """The system's account; without one, its tasks are as its workers have recorded, or as their status was last read."""
        self.stage.check_plugin()
        account = self.stage.account()
        self._keeps_account = account is not None
        if account is not None:
            return account
        done, failed = self._ended_attempts()
        return Account(done=done, dead=tuple(sorted({*failed, *self.reader.buried}.difference(done))))

    def _ended_attempts(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The tasks that succeeded, and those that failed as often as they may; of workers that record no ends, those with an effect."""
        succeeded, failed = self.stage.ended_attempts()
        return tuple(succeeded) if succeeded or failed else self.outside.tasks_with_effect(), tuple(failed)

    def _open(self) -> list[str]:
        """The answered tasks that have not ended, of a system that lists nothing."""
        done, failed = self._ended_attempts()
        ended = {*done, *failed, *self.reader.buried}
        return [task for task in self.submissions.ids if task not in ended]

    def after_events(self) -> list[Event]:
        """The events known only afterwards: the system's own trail, redrives that are not in it, and lost acknowledgements."""
        answered = self.submissions.ids
        ids = {task: answered.get(task) for task in self.submissions.outcomes}
        lost, problems = lost_acks(self.nemesis.states, ids, self.outside.attempt_of)
        lost += acks_in_hand(self._interruptions, ids)
        self.problems += [problem for problem in problems if problem not in self.problems]
        trail = list(self.stage.trail())
        said = {event.task for event in trail if event.event == "redrive"}
        asked = [
            Event(event="redrive", actor="operator", t_ns=asked_ns, task=task)
            for task, asked_ns in self.submissions.redriven_ns.items()
            if task not in said
        ]
        return [*trail, *asked, *lost]

    def _is_struck(self, process: str) -> bool:
        return self.nemesis.holds_down(process) or self.stage.holds_down(process)

    def _check_clean(self, own: str | None = None) -> None:
        """Refuse a system that lists tasks of an earlier run. `own`: the only task allowed; None: no task is.

        Raises:
            RunFailed: it lists other tasks; the message names some.
        """
        try:
            account = self.stage.account()
        except RunFailed:
            self.stage.check_plugin()
            if own is None:
                return  # before the warm-up the system may not be ready; checked again after it
            raise
        self._keeps_account = account is not None
        foreign = sorted(listed_in(account or Account()) - {own})
        if foreign:
            more = f" (and {len(foreign) - FOREIGN_SHOWN} more)" if len(foreign) > FOREIGN_SHOWN else ""
            raise RunFailed(
                f"the run did not start clean: before any client submitted, the system's account lists {', '.join(foreign[:FOREIGN_SHOWN])}"
                f"{more}; let account() list the tasks of its own namespace only"
            )

    def _warm_up(self, submit: Submit) -> None:
        """Submit one task until it is accepted, and wait for its effect, which proves that a worker consumes."""
        client = self.stage.client("warm-up")
        deadline_ns = self.stage.now_ns() + round(READY_TIMEOUT_S * 1e9)
        accepted = False
        try:
            while submit.task not in self.outside.tasks_with_effect():
                self.stage.check_plugin()
                self.stage.check_processes()
                if self.stage.now_ns() > deadline_ns:
                    raise RunFailed(self._not_ready(accepted=accepted))
                if not accepted:
                    accepted = self.submissions.submit(client, submit, "warm-up").kind == "ok"
                self.outside.counted.wait_until(lambda: submit.task in self.outside.tasks_with_effect(), LOOK_S)
        finally:
            client.close()

    def _not_ready(self, *, accepted: bool) -> str:
        last = self.submissions.last_detail
        missing = (
            "its effect never came (what its workers did: logs of the run)"
            if accepted
            else f"no submission was accepted: {last}"
        )
        return f"the system was not ready within {READY_TIMEOUT_S:g} s: {missing}"

    def _storm(self, driver: Driver) -> None:
        self.stage.watch_processes(self.supervisor.note_death)
        driver.start()
        self.reader.start()
        self.stage.begin("storm")
        self.nemesis.start()
        driver.await_end()
        self._await_strikes()
        self.problems += self.nemesis.failed()
        if not self.timing.strike_timeout.may_miss:
            self.problems += self.nemesis.missed()
        self.problems += driver.problems()

    def _await_strikes(self) -> None:
        """Wait until every strike is over; those still waiting at the time-out have missed their moment."""
        began_ns = self.stage.now_ns()
        ended_since_ns: int | None = None
        while not self.nemesis.is_over() or self.stage.own_faults_pending():
            self.stage.check_plugin()
            ended_since_ns = self._ended_since(ended_since_ns)
            if self._have_timed_out(began_ns, ended_since_ns):
                break
            self.stage.sleep(LOOK_S)
        self.nemesis.give_up()
        self.nemesis.await_over()

    def _ended_since(self, since_ns: int | None) -> int | None:
        """If strikes may miss, the instant since which every task has ended: a fault could disturb no task any more."""
        if not self.timing.strike_timeout.may_miss or not all_ended(self.account(), self.submissions.outcomes):
            return None
        return self.stage.now_ns() if since_ns is None else since_ns

    def _have_timed_out(self, began_ns: int, ended_since_ns: int | None) -> bool:
        strike_timeout, now_ns = self.timing.strike_timeout, self.stage.now_ns()
        waited_s = (now_ns - began_ns) / 1e9
        if ended_since_ns is not None and (now_ns - ended_since_ns) / 1e9 >= SETTLED_S:
            return True
        quiet_s = min(waited_s, self.outside.quiet_s())
        is_quiet = (
            strike_timeout.quiet_s is not None and quiet_s > strike_timeout.quiet_s and not self.nemesis.is_striking()
        )
        return is_quiet or waited_s > strike_timeout.longest_s

    def _calm(self, driver: Driver) -> Drained:
        self.stage.calm()
        quiet_s = self.timing.quiet_s
        if self._keeps_account is False:
            self.reader.follow(self._open)
            quiet_s = max(quiet_s, self.timing.unlisted_quiet_s or 0.0)
        drained = drain(
            self.stage,
            self.account,
            self.outside,
            self.submissions.awaited,
            quiet_s=quiet_s,
            budget_s=self.timing.budget_s,
        )
        self.stage.say(f"drained after {drained.took_s:.1f} s: {drained.how}")
        self.reader.stop()
        driver.stop()
        self.problems += [*self.supervisor.problems, *self.stage.problems()]
        return drained

    def _work_done(self, drained: Drained) -> WorkFigures:
        """The figures without the warm-up, which comes before any fault."""
        warm_up = None if self.timing.warm_up is None else self.timing.warm_up.task
        outcomes = {task: outcome for task, outcome in self.submissions.outcomes.items() if task != warm_up}
        acknowledged = {task for task, outcome in outcomes.items() if outcome == "ok"}
        return WorkFigures(
            submitted=len(outcomes),
            acknowledged=len(acknowledged),
            ended=len(acknowledged & ended_in(drained.account)),
        )

    def _note_open(self, drained: Drained) -> None:
        """The tasks that have not ended, with their ids: those surely refused only if the system lists them as pending."""
        ended, pending = ended_in(drained.account), drained.account.pending or ()
        awaited = self.submissions.awaited(drained.account)
        possible = [task for task, kind in awaited.items() if kind != "fail"]
        ids = self.submissions.ids
        self.open_tasks = {task: ids.get(task) for task in [*possible, *pending] if task not in ended}
        if self.open_tasks:
            self.places = self.stage.places()

    def _write_final(self, drained: Drained) -> None:
        account = drained.account if self._keeps_account else Account()
        self.stage.records("lab").record(
            "final",
            actor="lab",
            asked_ns=drained.asked_ns,
            healed=not self.problems,
            caught_up=drained.caught_up,
            done=account.done,
            dead=account.dead,
            cancelled=account.cancelled,
            expired=account.expired,
            pending=account.pending,
            detail=drained.how,
        )

    def _await_reports(self, unread: Collection[str], drained: Drained) -> None:
        late = set(unread).intersection(self.outside.tasks_with_effect()).difference(drained.account.pending or ())
        if late and self.timing.reported_within_s > 0:
            self.reader.read_until_ended(sorted(late), self.timing.reported_within_s)

    def _abort(self) -> None:
        """Lift every active fault at once, let no flow wait for the plug-in any longer, and give processes little time to end."""
        self._stop_s = ABORTED_STOP_S
        self.stage.abandon_plugin()
        self.nemesis.abort()
        self.nemesis.await_over(ABORTED_LIFT_S)

    def _stop(self, driver: Driver) -> None:
        """After success or failure: stop the watcher, the driver and every process. Idempotent."""
        self.stage.unwatch_processes()
        self.supervisor.stop()
        self.reader.stop()
        driver.stop()
        self.outside.release_all()
        self.stage.stop_processes(self._stop_s)
