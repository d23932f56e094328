"""One run on real services: its namespace, its stage, its experiment. Its only result is a run directory, which judges read."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

from chaos.environment import Environment, Services
from chaos.errors import ChaosError
from scenarios.contract.capabilities import OWN_BODY
from scenarios.contract.system import System, capabilities_of, pace_of, policy_of
from scenarios.errors import RunFailed
from scenarios.experiment.canaries import search
from scenarios.experiment.clients import Clients, pool
from scenarios.experiment.driver import Driver
from scenarios.experiment.facts import describe_run, stated_schedules
from scenarios.experiment.fitting import aimed, fits, kills_workers, parts_of_system, processes_to_link
from scenarios.experiment.plan import Arrival, Plan, deaths_of, of_own_body, plan, warm_up
from scenarios.experiment.run import BUDGET_S, Experiment, StrikeTimeout, Timing
from scenarios.experiment.scenario import Scenario
from scenarios.judging.guarantees import Guarantee
from scenarios.judging.policy import REPORT_S
from scenarios.lookup import find_scenario, scenarios_testing
from scenarios.plugin.remote_system import documented_by, settings_of
from scenarios.real.stage import RealStage, Say
from scenarios.stored.open_tasks import OpenTaskSearch
from scenarios.stored.rundir import RunDirectory

READ_EVERY_S = 0.1
STRIKE_TIMEOUT = StrikeTimeout(longest_s=30.0, quiet_s=3.0)

Drive = Callable[[RealStage, Experiment, Plan], Driver]
"""Makes the program that submits in a run."""


def with_clients(stage: RealStage, experiment: Experiment, plan: Plan) -> Driver:
    """The clients that the scenario's workload states, in threads of this process."""
    roster = pool(plan.arrivals, plan.scenario.workload.clients)
    has_keys = "key" in capabilities_of(stage.system)
    return Clients(stage, experiment.submissions, roster, plan.acts, has_keys=has_keys)


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
    """Run the scenario against the system in a started environment; returns the run directory, for the judges.

    `drive` makes the driver: the workload's clients, or another program that submits. A failure of the lab is recorded in run.json
    as a problem: the run is then unknown, with that reason.

    Raises:
        NotApplicable: the scenario's faults have no target here; nothing was run.
        MalformedPolicy: the system states an invalid limit or pace; nothing was run.
        RunExists: `out` already holds a run.
    """
    timing = timing_of(system)
    scenario = aimed(scenario, parts_of_system(system))
    services = _provision(scenario, system, environment)
    directory = RunDirectory(out)
    directory.create()
    planned = plan(
        scenario,
        seed,
        policy=policy_of(system),
        pace=pace_of(system),
        capabilities=capabilities_of(system),
    )
    facts = describe_run(scenario, system, environment, seed=seed, repeat=repeat)
    facts.settings, facts.documented = (
        list(settings_of(system)),
        dict(documented_by(system, kills_workers=kills_workers(scenario))),
    )
    facts.tested_by = {claim: list(scenarios_testing(claim)) for claim in facts.claims}
    directory.write_facts(facts)  # so that even an aborted run has its facts
    stage = RealStage(system, environment, services, directory, facts, say)
    experiment = Experiment(stage, stage.outside, planned.strikes, patient(timing, planned.arrivals))
    experiment.outside.plan_deaths(deaths_of(planned.arrivals))
    try:
        _carry_out(stage, experiment, drive(stage, experiment, planned))
    except (ChaosError, RunFailed) as error:
        experiment.problems.append(str(error))
    finally:
        _keep_facts(stage, experiment)
    directory.seal(facts)
    return directory


def timing_of(system: System) -> Timing:
    """The time-outs that follow from the system's policy and pace."""
    pace, policy = pace_of(system), policy_of(system)
    budget_s = BUDGET_S if policy.budget_s is None else policy.budget_s
    reported_within_s = 0.0
    if Guarantee.OUTCOME_REPORTED in system.claims:
        reported_within_s = REPORT_S if policy.budget_s is None else policy.budget_s
    return Timing(
        pace.quiet_s,
        budget_s,
        STRIKE_TIMEOUT,
        READ_EVERY_S,
        of_own_body(warm_up()) if OWN_BODY in capabilities_of(system) else warm_up(),
        unlisted_quiet_s=policy.budget_s,
        reported_within_s=reported_within_s,
        reads_struck=True,
    )


def patient(timing: Timing, arrivals: Sequence[Arrival]) -> Timing:
    """The time-outs, later by the longest work of a task: while every worker has such a task in hand, nothing moves."""
    longest_s = max((float(str(one.submit.payload.get("work_s", 0.0))) for one in arrivals), default=0.0)
    unlisted_s = timing.unlisted_quiet_s
    return replace(
        timing,
        quiet_s=timing.quiet_s + longest_s,
        budget_s=timing.budget_s + longest_s,
        unlisted_quiet_s=None if unlisted_s is None else unlisted_s + longest_s,
    )


def _provision(scenario: Scenario, system: System, environment: Environment) -> Services:
    """A namespace for the run, with links for the processes whose traffic is struck; raises NotApplicable."""
    namespace = f"lab_{uuid4().hex[:12]}"
    services = environment.provision(namespace)
    linked = processes_to_link(scenario, system, environment, services)
    return environment.provision(namespace, linked=linked) if linked else services


def _carry_out(stage: RealStage, experiment: Experiment, driver: Driver) -> None:
    experiment.run(driver)
    _find_open_tasks(stage, experiment)
    for event in experiment.after_events():
        stage.records("broker" if event.event == "ack.info" else "database").append(event)
    _search(stage)


def _keep_facts(stage: RealStage, experiment: Experiment) -> None:
    """Write the results to run.json, after any end of the run."""
    facts = stage.facts
    facts.problems = list(dict.fromkeys([*experiment.problems, *stage.problems()]))
    facts.strikes = [state.facts() for state in experiment.nemesis.states]
    facts.work = experiment.work
    facts.policy |= stated_schedules(experiment.submissions.schedules, stage.system)
    facts.tested_by = {claim: _fitting(stage, names) for claim, names in facts.tested_by.items()}
    facts.died = dict(experiment.supervisor.died)
    facts.killed_by_task = dict(experiment.outside.deaths)
    facts.deaths = experiment.supervisor.deaths()
    facts.took_s = round(stage.now_ns() / 1e9, 3)
    stage.directory.write_facts(facts)


def _fitting(stage: RealStage, names: Sequence[str]) -> list[str]:
    """Those of these scenarios that apply to the system."""
    fitting = (name for name in names if fits(find_scenario(name), stage.system, stage.environment, stage.roles))
    return list(fitting if stage.roles else names)


def _find_open_tasks(stage: RealStage, experiment: Experiment) -> None:
    """Where the tasks are that have not ended: what the services hold, now that the processes have stopped, and what the system says."""
    if not experiment.open_tasks:
        return
    found = OpenTaskSearch(experiment.open_tasks)
    for content in stage.environment.contents(stage.services):
        if content.text is None:
            found.note_unread(content.place)
        else:
            found.look(content.place, content.text)
    unsure = {task for task, outcome in experiment.submissions.outcomes.items() if outcome != "ok"}
    result = found.result(experiment.places, unsure)
    if result.total:
        stage.directory.write_open_tasks(result)


def _search(stage: RealStage) -> None:
    """Record where canaries were searched for and found; nothing if the driver has planted none."""
    lab = stage.records("lab")
    for searched in list(search(stage.directory, stage.planted)) if stage.planted else []:
        lab.record("secret.sought", actor="lab", target=searched.target)
        for task in searched.found:
            lab.record("secret.found", actor="lab", target=searched.target, task=task)
