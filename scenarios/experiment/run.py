"""One run: start the system, warm it up, storm, heal, calm, account. Leaves a run directory, which judges read, and nothing else."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from uuid import uuid4

from chaos.environment import Environment, Process, Services
from chaos.errors import ChaosError, ProcessFailed
from scenarios.contract import tasklab_probe
from scenarios.contract.guard import GuardedClient, answered, plugin_call
from scenarios.contract.system import Account, Accountable, Client, Handlers, System, pace_of, policy_of
from scenarios.contract.tasklab_probe import Recorder
from scenarios.errors import RunFailed
from scenarios.experiment import plan as nemesis
from scenarios.experiment.canaries import search
from scenarios.experiment.clients import Clients
from scenarios.experiment.drain import Drained, drain
from scenarios.experiment.driver import Driver
from scenarios.experiment.facts import describe_run
from scenarios.experiment.fitting import processes_of, processes_to_link
from scenarios.experiment.nemesis import Course, Nemesis
from scenarios.experiment.outside import OutsideServer
from scenarios.experiment.plan import Plan
from scenarios.experiment.scenario import Scenario
from scenarios.experiment.status_reader import StatusReader
from scenarios.experiment.submissions import Submissions
from scenarios.experiment.supervision import Supervisor
from scenarios.experiment.trail import write_lost_acks, write_trail
from scenarios.plugin.remote_system import abandon_plugin, check_plugin
from scenarios.record.run_facts import RunFacts
from scenarios.stored.rundir import RunDirectory

READY_TIMEOUT_S = 30.0
LOOK_S = 0.05
MISS_QUIET_S = 3.0
"""After the last submission, a strike has missed its moment when no task has begun or had an effect for this long,"""
MISS_AFTER_S = 30.0
"""or after this long in any case."""
HEALTH_TIMEOUT_S = 20.0
STOP_TIMEOUT_S = 5.0
READ_LAST_S = 5.0
BUDGET_S = 30.0
"""For a system that states no budget of its own."""

Say = Callable[[str], None]


@dataclass(slots=True)
class Run:
    """A run while it goes on: what its phases, its strikes and who submits share. `courses`: its strikes, once it storms."""

    system: System
    environment: Environment
    directory: RunDirectory
    plan: Plan
    facts: RunFacts
    say: Say
    t0_ns: int
    services: Services
    recorder: Recorder
    outside: OutsideServer
    client_recorder: Recorder
    submissions: Submissions
    processes: dict[str, Process] = field(default_factory=dict)
    courses: list[Course] = field(default_factory=list)

    def phase(self, name: str) -> None:
        """Note that a phase begins."""
        self.facts.phases_ns[name] = self.recorder.now_ns()
        self.say(name)

    def account(self) -> Account:
        """What the system says of its tasks; of one that cannot say, what the outside resource has seen stands for done."""
        check_plugin(self.system)
        if isinstance(self.system, Accountable):
            with plugin_call(self.system.name, "account()"):
                account = self.system.account(self.services)
            return answered(self.system.name, "account()", account, Account)
        return Account(done=self.outside.tasks_with_effect())

    def make_client(self) -> Client:
        """A new client of the system."""
        with plugin_call(self.system.name, "client()"):
            return GuardedClient(self.system.client(self.services))


Drive = Callable[[Run], Driver]
"""Makes who submits in a run."""


def with_clients(run: Run) -> Driver:
    """The clients that the scenario's workload states, in threads of this process."""
    return Clients(run.make_client, run.submissions, run.plan.arrivals, run.plan.scenario.workload.clients)


def run(
    scenario: Scenario,
    system: System,
    environment: Environment,
    *,
    seed: int,
    out: Path,
    repeat: str,
    say: Say,
    drive: Drive = with_clients,
) -> RunDirectory:
    """Run the scenario against the system in a started environment; the run directory, for the judges.

    `drive` makes who submits: the workload's clients, or another driver.
    What goes wrong with the lab's own work is kept in run.json as a problem: the run is then unknown, and says why.

    Raises:
        NotApplicable: the scenario's faults have nothing to strike here; nothing was run.
        RunExists: `out` holds a run already.
    """
    namespace = f"lab_{uuid4().hex[:12]}"
    services = environment.provision(namespace)
    linked = processes_to_link(scenario, system, environment, services)
    if linked:
        services = environment.provision(namespace, linked=linked)
    directory = RunDirectory(out)
    directory.create()
    t0_ns = time.monotonic_ns()
    client_recorder = new_recorder(directory, "client", t0_ns)
    going_on = Run(
        system=system,
        environment=environment,
        directory=directory,
        plan=nemesis.plan(scenario, seed, attempts_max=policy_of(system).attempts_max or 1, pace=pace_of(system)),
        facts=describe_run(scenario, system, environment, seed=seed, repeat=repeat),
        say=say,
        t0_ns=t0_ns,
        services=services,
        recorder=new_recorder(directory, "lab", t0_ns),
        outside=OutsideServer(new_recorder(directory, "outside", t0_ns)),
        client_recorder=client_recorder,
        submissions=Submissions(client_recorder),
    )
    directory.write_facts(going_on.facts)  # whatever happens from here on, it is known what was run
    try:
        _carry_out(going_on, drive(going_on))
    except (ChaosError, RunFailed) as error:
        going_on.facts.problems.append(str(error))
    finally:
        going_on.facts.took_s = round(going_on.recorder.now_ns() / 1e9, 3)
        directory.write_facts(going_on.facts)
    directory.seal(going_on.facts)
    return directory


def new_recorder(directory: RunDirectory, name: str, t0_ns: int) -> Recorder:
    """A history file of its own for one source of events."""
    return Recorder(str(directory.path / f"history.{name}.jsonl"), name, t0_ns)


def _carry_out(run: Run, driver: Driver) -> None:
    reader = StatusReader(run.make_client, run.submissions, run.client_recorder)
    with ExitStack() as stack:
        run.outside.start()
        stack.callback(run.outside.stop)
        run.phase("start")
        stack.callback(_stop_processes, run)
        _start_processes(run)
        run.phase("warm-up")
        _warm_up(run)
        healed, drained = _storm_and_calm(run, driver, reader, stack)
        run.phase("account")
        reader.read_last(time.monotonic() + READ_LAST_S)
        _write_final(run, drained, healed=healed)
    write_trail(run.system, run.services, run.directory, run.t0_ns)
    write_lost_acks(run.facts.strikes, run.submissions.ids, run.directory, run.t0_ns)
    _write_search(run)
    run.phase("end")


def _start_processes(run: Run) -> None:
    handlers = Handlers(_probe_environment(run))
    specs = processes_of(run.system, run.environment, run.services, handlers)
    # Preparations first, one after the other; the rest all at once.
    for spec in sorted(specs, key=lambda spec: not spec.runs_once):
        process = run.environment.start_process(spec, log_directory=run.directory.logs)
        if not spec.runs_once:
            run.processes[spec.name] = process


def _probe_environment(run: Run) -> dict[str, str]:
    """The probe alone on the path of its process: nothing else of the lab's environment is visible to it."""
    home = run.services.directory / "probe"
    home.mkdir(parents=True, exist_ok=True)
    probe = Path(tasklab_probe.__file__)
    (home / probe.name).write_bytes(probe.read_bytes())
    return {
        "PYTHONPATH": str(home),
        "PYTHONUNBUFFERED": "1",
        "TASKLAB_RUN": str(run.directory.path.resolve()),
        "TASKLAB_T0_NS": str(run.t0_ns),
        "TASKLAB_OUTSIDE": run.outside.address,
    }


def _warm_up(run: Run) -> None:
    """Submit one task until it is accepted, and wait for its effect: only a consumer that consumes is ready."""
    submit = nemesis.warm_up()
    client = run.make_client()
    deadline_s = time.monotonic() + READY_TIMEOUT_S
    accepted = False
    try:
        while submit.task not in run.outside.tasks_with_effect():
            _check_alive(run)
            if time.monotonic() > deadline_s:
                missing = (
                    "its effect never came"
                    if accepted
                    else f"no submission was accepted: {run.submissions.last_detail}"
                )
                raise RunFailed(f"{run.system.name} was not ready within {READY_TIMEOUT_S:g} s: {missing}")
            if not accepted:
                accepted = run.submissions.submit(client, submit, "warm-up").kind == "ok"
            time.sleep(LOOK_S)  # the next look: there is nothing to be woken by
    finally:
        client.close()


def _check_alive(run: Run) -> None:
    check_plugin(run.system)
    for name, process in run.processes.items():
        if not process.is_alive():
            tail = process.log.read_text(errors="replace")[-2000:]
            raise ProcessFailed(name, f"ended at start with exit code {process.exit_code()}", process.log, tail)


def _storm_and_calm(run: Run, driver: Driver, reader: StatusReader, stack: ExitStack) -> tuple[bool, Drained]:
    """The faults by plan, then the wait for everything to come to its end; whether all was healed, and how the drain ended."""
    nemesis_at_work = Nemesis(run, run.plan.strikes, run.say)
    run.courses = nemesis_at_work.courses
    supervisor = Supervisor(run.environment, run.processes, run.recorder, nemesis_at_work.holds_down, run.say)
    run.facts.died = supervisor.died  # which goes on counting until the run is over
    stack.callback(driver.stop)
    stack.callback(reader.stop)
    stack.enter_context(supervisor)
    stack.push(
        partial(_abandon_if_failed, run.system)
    )  # first of all: threads of clients may be waiting for the plug-in
    driver.start()
    reader.start()
    run.phase("storm")
    try:
        with nemesis_at_work:
            _await_end_of_storm(run, driver, nemesis_at_work)
    finally:
        run.facts.strikes = [course.facts() for course in run.courses]
    run.facts.problems += [*nemesis_at_work.problems(), *driver.problems(), *_too_little_work(run)]
    run.phase("calm")
    run.environment.check_health(HEALTH_TIMEOUT_S)
    policy = policy_of(run.system)
    drained = drain(
        run.account,
        run.outside,
        run.submissions.outcomes,
        quiet_s=pace_of(run.system).quiet_s,
        budget_s=policy.budget_s or BUDGET_S,
    )
    run.say(f"drained after {drained.took_s:.1f} s: {drained.how}")
    reader.stop()
    driver.stop()
    run.facts.problems += [*supervisor.problems, *reader.problems]
    return not run.facts.problems, drained


def _too_little_work(run: Run) -> list[str]:
    """The warm-up is the lab's, before any fault: that it was dealt with says nothing of the storm."""
    warm_up = nemesis.warm_up().task
    if any(outcome != "fail" for task, outcome in run.submissions.outcomes.items() if task != warm_up):
        return []
    return ["too little work: no submission but the warm-up was acknowledged or possible"]


def _abandon_if_failed(
    system: System, _kind: type[BaseException] | None, error: BaseException | None, _: object
) -> None:
    if error is not None:
        abandon_plugin(system)


def _await_end_of_storm(run: Run, driver: Driver, nemesis_at_work: Nemesis) -> None:
    while not driver.finished():
        check_plugin(run.system)
        time.sleep(LOOK_S)  # the next look: there is nothing to be woken by
    ended_s = time.monotonic()
    while not nemesis_at_work.over():
        check_plugin(run.system)
        waited_s = time.monotonic() - ended_s
        quiet = min(waited_s, run.outside.quiet_s()) > MISS_QUIET_S and not nemesis_at_work.strikes_now()
        if quiet or waited_s > MISS_AFTER_S:
            nemesis_at_work.give_up()
        time.sleep(LOOK_S)  # the next look: quiet is what does not happen


def _write_final(run: Run, drained: Drained, *, healed: bool) -> None:
    account = drained.account if isinstance(run.system, Accountable) else Account()
    run.recorder.append(
        {
            "t_ns": run.recorder.now_ns(),
            "actor": "lab",
            "event": "final",
            "healed": healed,
            "caught_up": drained.caught_up,
            "done": account.done,
            "dead": account.dead,
            "cancelled": account.cancelled,
            "expired": account.expired,
            "pending": account.pending,
            "detail": drained.how,
        }
    )


def _write_search(run: Run) -> None:
    """Where planted secrets were looked for, and where they came to light; nothing where others submitted, and planted none."""
    planted = run.submissions.planted
    for searched in list(search(run.directory, planted)) if planted else []:
        run.recorder.record("secret.sought", target=searched.target)
        for task in searched.found:
            run.recorder.record("secret.found", target=searched.target, task=task)


def _stop_processes(run: Run) -> None:
    """All at once: each is asked, given its time, and then killed."""
    with ThreadPoolExecutor(max_workers=len(run.processes) or 1, thread_name_prefix="stop") as pool:
        stops = [
            pool.submit(run.environment.stop_process, process, timeout_s=STOP_TIMEOUT_S)
            for process in run.processes.values()
        ]
    for stop in stops:
        stop.result()
