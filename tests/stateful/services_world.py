"""The reference over real services, driven step by step inside an ordinary run: what it leaves is a run directory."""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from chaos.environment import Environment, Services
from chaos.errors import ChaosError
from chaos.faults import Fault, KillProcess
from chaos.injection import Injection
from scenarios.contract.system import Cancel, Submit
from scenarios.experiment.nemesis import BITE_TIMEOUT_S, HEAL_TIMEOUT_S, Course
from scenarios.experiment.run import Run, run
from scenarios.experiment.scenario import Effects, Scenario, Strike, Workload
from scenarios.judging.judge import Judgement
from scenarios.stored.judge import judge_run
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
        self._open: dict[Fault, tuple[Injection, Course]] = {}
        self._clients = 0
        self._began, self._over = threading.Event(), threading.Event()
        self._error: BaseException | None = None
        self._run: Run | None = None
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
        run_, actor = self._running(), self._next_client()
        for _ in range(TRIES_MAX):
            if run_.submissions.submit(self._client, Submit(task, payload, key=task), actor).kind == "ok":
                return
            self.pass_time(PATIENCE_S)

    def cancel(self, task: str) -> None:
        """See tests.stateful.machine.DrivenWorld."""
        run_, actor = self._running(), self._next_client()
        id_ = run_.submissions.ids.get(task)
        if id_ is not None:
            run_.client_recorder.record("cancel.invoke", actor=actor, task=task)
            outcome = self._client.invoke(Cancel(task, id_))
            run_.client_recorder.record(f"cancel.{outcome.kind}", actor=actor, task=task, detail=outcome.detail)

    def redrive(self) -> None:
        """See tests.stateful.machine.DrivenWorld."""
        run_ = self._running()
        with httpx.Client(base_url=Reference().api_url(run_.services)) as http:
            for letter in http.get("/dead-letters").raise_for_status().json():
                http.post(f"/dead-letters/{letter['id']}/redrive").raise_for_status()

    def begin(self, fault: Fault) -> bool:
        """See tests.stateful.machine.DrivenWorld. Its course is one of the run's strikes, as if it had been planned."""
        run_ = self._running()
        course = Course(Strike(fault, Effects(run_.outside.count("effect"))), fault)
        injection = run_.environment.injection(fault, run_.services, run_.processes)
        course.target = injection.target
        course.begun_ns = run_.recorder.now_ns()
        run_.courses.append(course)  # from now on its process is this strike's to start again
        run_.recorder.record("fault.begin", fault=fault.name, target=course.target)
        try:
            injection.begin()
            course.evidence = injection.await_bite(BITE_TIMEOUT_S).words
        except ChaosError as error:
            course.problem = str(error)  # which makes the run unknown
            injection.end()
            return False
        course.bit_ns = run_.recorder.now_ns()
        if isinstance(fault, KillProcess):
            run_.recorder.record("crash", actor=course.target)
        run_.recorder.record("fault.bit", fault=fault.name, target=course.target, detail=course.evidence)
        self._open[fault] = (injection, course)
        return True

    def end(self, fault: Fault) -> None:
        """See tests.stateful.machine.DrivenWorld."""
        run_ = self._running()
        injection, course = self._open.pop(fault)
        run_.recorder.record("fault.end", fault=fault.name, target=course.target)
        course.ended_ns = run_.recorder.now_ns()
        if isinstance(fault, KillProcess):
            run_.recorder.record("restart", actor=course.target)
        injection.end()
        try:
            injection.await_healed(HEAL_TIMEOUT_S)
        except ChaosError as error:
            course.problem = str(error)
            return
        course.healed_ns = run_.recorder.now_ns()
        run_.recorder.record("fault.healed", fault=fault.name, target=course.target)

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
                drive=lambda run_: _Driver(self, run_),
            )
            self._judgement = judge_run(directory)
        except BaseException as error:  # noqa: BLE001 — the edge of a thread: `finish` raises it
            self._error = error
        finally:
            self._over.set()
            self._began.set()

    def storm_begins(self, run_: Run) -> None:
        """Told by the driver."""
        self._run, self._client = run_, run_.make_client()
        self._began.set()

    def wait_for_the_end(self) -> bool:
        """Whether the machine has done all it wanted to."""
        return self._over.is_set()

    def _running(self) -> Run:
        assert self._run is not None, "only a running system is struck"
        return self._run

    def _next_client(self) -> str:
        self._clients += 1
        return f"client-{self._clients}"


class _Driver:
    """See scenarios.experiment.driver.Driver: the machine submits."""

    def __init__(self, world: ServicesWorld, run_: Run) -> None:
        self._world = world
        self._run = run_

    def start(self) -> None:
        self._world.storm_begins(self._run)

    def finished(self) -> bool:
        return self._world.wait_for_the_end()

    def stop(self) -> None:
        """Nobody but the machine submits."""

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
