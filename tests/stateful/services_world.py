"""The reference over real services, driven step by step inside an ordinary run: what it leaves is a run directory."""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from chaos.environment import Environment, Services
from chaos.errors import ChaosError
from chaos.faults import Fault
from scenarios.contract.system import Submit
from scenarios.experiment.run import Experiment
from scenarios.experiment.scenario import Effects, Scenario, Strike, Workload
from scenarios.experiment.strike_state import StrikeState
from scenarios.judging.judge import Judgement
from scenarios.real.run import run
from scenarios.real.stage import RealStage
from scenarios.stored.judge_files import judge_run
from scenarios.systems.reference.access import token_of
from scenarios.systems.reference.plugin import Reference

TRIES_MAX = 6
PATIENCE_S = 0.5

SCENARIO = Scenario(
    "machine",
    "A state machine decides step by step what happens. Whatever it is, no promise may break.",
    Workload(tasks=0, rate_per_s=1.0),
    strikes=(),
    at_stake=(),
)


class ServicesWorld:
    """A run by the lab's own runner, in a thread; its driver is the machine, which submits, strikes and lifts while it storms."""

    def __init__(self, environment: Environment, out: Path, *, linked: Sequence[str]) -> None:
        self._open: dict[Fault, StrikeState] = {}
        self._clients = 0
        self._began, self._over = threading.Event(), threading.Event()
        self._error: BaseException | None = None
        self._run: tuple[RealStage, Experiment] | None = None
        self._judgement: Judgement | None = None
        self._thread = threading.Thread(target=self._carry_out, args=(_Linked(environment, linked), out), name="run")
        self._thread.start()
        self._began.wait()

    @property
    def storms(self) -> bool:
        """Whether the system came up, so that something can happen to it."""
        return self._run is not None and not self._over.is_set()

    def submit(self, task: str, payload: Mapping[str, object]) -> None:
        """See tests.stateful.machine.DrivenWorld."""
        _, experiment = self._running()
        actor = self._next_client()
        for _ in range(TRIES_MAX):
            if experiment.submissions.submit(self._client, Submit(task, payload, key=task), actor).kind == "ok":
                return
            self.pass_time(PATIENCE_S)

    def cancel(self, task: str) -> None:
        """See tests.stateful.machine.DrivenWorld."""
        _, experiment = self._running()
        experiment.submissions.cancel(self._client, task, self._next_client())

    def redrive(self) -> None:
        """See tests.stateful.machine.DrivenWorld."""
        stage, _ = self._running()
        headers = {"Authorization": f"Bearer {token_of(stage.services)}"}
        with httpx.Client(base_url=Reference().api_url(stage.services), headers=headers) as http:
            for letter in http.get("/dead-letters").raise_for_status().json():
                http.post(f"/dead-letters/{letter['id']}/redrive").raise_for_status()

    def begin(self, fault: Fault) -> bool:
        """See tests.stateful.machine.DrivenWorld. It is one of the run's strikes, as if it had been planned."""
        _, experiment = self._running()
        state = experiment.nemesis.add(Strike(fault, Effects(experiment.outside.count("effect"))))
        try:
            experiment.nemesis.strike(state)
        except ChaosError as error:
            state.problem = str(error)  # which makes the run unknown
            experiment.nemesis.close(state)
            return False
        state.roles = ()  # of so few tasks a worker may have got none: that it was at work is not claimed
        self._open[fault] = state
        return True

    def end(self, fault: Fault) -> None:
        """See tests.stateful.machine.DrivenWorld."""
        _, experiment = self._running()
        state = self._open.pop(fault)
        try:
            experiment.nemesis.lift(state)
        except ChaosError as error:
            state.problem = str(error)
        experiment.nemesis.close(state)

    def pass_time(self, seconds: float) -> None:
        """See tests.stateful.machine.DrivenWorld."""
        self._over.wait(seconds)

    def finish(self) -> Judgement:
        """Calm, account and verdicts; whatever broke the run is raised."""
        self._over.set()
        self._thread.join()
        if self._run is not None:
            self._client.close()
        if self._error is not None:
            raise self._error
        assert self._judgement is not None, "a run that came to its end was judged"
        return self._judgement

    def _carry_out(self, environment: "_Linked", out: Path) -> None:
        try:
            directory = run(
                SCENARIO,
                Reference(),
                environment,  # type: ignore[arg-type]
                seed=1,
                out=out,
                repeat=f"tasklab check {out}",
                say=lambda _: None,
                drive=lambda stage, experiment, _: _Driver(self, stage, experiment),
            )
            self._judgement = judge_run(directory)
        except BaseException as error:  # noqa: BLE001 — the edge of a thread: `finish` raises it
            self._error = error
        finally:
            self._over.set()
            self._began.set()

    def storm_begins(self, stage: RealStage, experiment: Experiment) -> None:
        """Called by the driver."""
        self._run, self._client = (stage, experiment), stage.client("machine")
        self._began.set()

    def wait_for_the_end(self) -> None:
        """Until the machine has done all its steps."""
        self._over.wait()

    def _running(self) -> tuple[RealStage, Experiment]:
        assert self._run is not None, "only a running system is struck"
        return self._run

    def _next_client(self) -> str:
        self._clients += 1
        return f"client-{self._clients}"


class _Driver:
    """A `scenarios.experiment.driver.Driver`: the machine submits."""

    def __init__(self, world: ServicesWorld, stage: RealStage, experiment: Experiment) -> None:
        self._world = world
        self._stage = stage
        self._experiment = experiment

    def start(self) -> None:
        self._world.storm_begins(self._stage, self._experiment)

    def await_end(self) -> None:
        self._world.wait_for_the_end()

    def stop(self) -> None:
        """Only the machine submits."""

    def problems(self) -> Sequence[str]:
        return ()


class _Linked:
    """The environment, with links for processes that no planned strike needs."""

    def __init__(self, environment: Environment, linked: Sequence[str]) -> None:
        self._environment = environment
        self._names = linked

    def provision(self, namespace: str, *, linked: Sequence[str] = ()) -> Services:
        return self._environment.provision(namespace, linked=self._names)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._environment, name)
