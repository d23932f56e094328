"""The nemesis: each strike waits for its trigger, begins, proves its bite, lasts, is lifted, and proves that it healed."""

from collections.abc import Callable, Sequence
from functools import partial

from chaos.errors import ChaosError, FaultDidNotBite
from chaos.faults import REACHED, Fault
from chaos.injection import Evidence, Injection
from scenarios.experiment.fitting import process_playing
from scenarios.experiment.outside import Outside, SyncPoint
from scenarios.experiment.ranges import drawn
from scenarios.experiment.scenario import Strike, UntilNextBites
from scenarios.experiment.stage import Signal, Stage
from scenarios.experiment.strike_state import StrikeState
from scenarios.experiment.submissions import Submissions

BITE_TIMEOUT_S = 20.0
HEAL_TIMEOUT_S = 40.0
SLICE_S = 0.25
"""A fault that waits for traffic is awaited in slices of this length: it bit within the last one."""


class Nemesis:
    """All strikes of a run, each in a flow of its own. `changed` is notified when one bites or is over, and on `give_up`."""

    def __init__(self, stage: Stage, outside: Outside, submissions: Submissions, strikes: Sequence[Strike]) -> None:
        self._stage = stage
        self._lab = stage.records("lab")
        self.outside = outside
        self.submissions = submissions
        self.changed = stage.signal()
        self.states = [StrikeState(strike, strike.fault) for strike in strikes]
        self._injections: dict[StrikeState, Injection] = {}
        self._waits_for: dict[StrikeState, Signal] = {}
        self.effects_before = 0
        self.has_started = False
        self.has_given_up = False
        self.is_aborted = False

    def start(self) -> None:
        """Start all strikes; requests that reached a point before now are neither caught nor counted."""
        self.has_started = True
        for state in self.states:
            when = state.strike.when
            if when.point is not None:
                state.sync_point = self.outside.arm(when.point, drawn(when.nth))  # type: ignore[attr-defined]
        self.effects_before = self.outside.count("effect")
        for number, state in enumerate(self.states):
            self._stage.spawn(f"strike-{number + 1}", partial(self._run, number, state))

    def add(self, strike: Strike) -> StrikeState:
        """Add a strike that the caller carries out: `strike`, `lift`, `close`."""
        state = StrikeState(strike, strike.fault)
        self.states.append(state)
        return state

    def give_up(self) -> None:
        """End the wait of every strike whose trigger has not occurred: it has missed its moment."""
        self.has_given_up = True
        self.changed.notify()
        for signal in list(self._waits_for.values()):
            signal.notify()

    def abort(self) -> None:
        """The run was interrupted: lift every active fault at once."""
        self.is_aborted = True
        self.give_up()

    def await_over(self, timeout_s: float | None = None) -> bool:
        """Wait until every strike has ended, successfully or not; False: not in this time."""
        return self.changed.wait_until(self.is_over, timeout_s)

    def is_over(self) -> bool:
        """Whether every strike has ended, or none was started."""
        return not self.has_started or all(state.is_over for state in self.states)

    def is_striking(self) -> bool:
        """Whether a fault is active now."""
        return any(state.is_on for state in self.states)

    def struck_tasks(self) -> list[str]:
        """The tasks, or resources, in the hands of processes that an active fault caught at a point."""
        return [state.subject for state in self.states if state.is_on and state.subject]

    def holds_down(self, process: str) -> bool:
        """Whether a strike has killed this process and will restart it."""
        return any(state.target == process and state.holds_down for state in self.states)

    def missed(self) -> list[str]:
        """Strikes that never bit, a sentence each."""
        return [_problem_of(state) for state in self.states if state.bit_ns is None]

    def failed(self) -> list[str]:
        """Strikes that bit and did not provably heal, a sentence each."""
        return [_problem_of(state) for state in self.states if state.bit_ns is not None and state.healed_ns is None]

    def strike(self, state: StrikeState) -> None:
        """Begin the fault and wait for its bite; record both.

        Raises:
            ChaosError: there is no target, or no bite was observed; the fault is lifted.
        """
        fault = state.fault = self._at_process(state.fault)
        injection = self._injections[state] = self._stage.injection(fault, self.states.index(state))
        state.target = injection.target
        if fault.struck_process is not None and not fault.needs_link:
            state.roles = self._stage.roles[fault.struck_process]
        asked_ns = self._stage.now_ns()
        if not fault.waits_for_traffic:
            self._begun(state, asked_ns)
        if fault.lets_run:
            self._release(state)
        injection.begin()
        if fault.waits_for_traffic:
            self._release(state)  # armed; a held process would never cause the traffic
            asked_ns, state.evidence = self._await_traffic(injection)
            self._begun(state, asked_ns)  # only now: the armed fault disturbed nothing
        else:
            state.evidence = injection.await_bite(BITE_TIMEOUT_S)
        self._bitten(state, asked_ns)

    def lift(self, state: StrikeState) -> None:
        """End the fault and wait until its target is healthy; record both.

        Raises:
            ChaosError: it does not heal.
        """
        injection = self._injections[state]
        asked_ns = state.ended_ns = self._stage.now_ns()
        self._record("fault.end", state, asked_ns)
        if state.fault.ends_process and not state.fault.is_final:
            self._lab.record("restart", actor=state.target, asked_ns=asked_ns)
        injection.end()
        if self.is_aborted:
            return  # no verdict will need it
        injection.await_healed(HEAL_TIMEOUT_S)
        state.healed_ns = self._stage.now_ns()
        state.answered = self.submissions.answered_count - state.answered_before
        state.under_way = self.submissions.under_way
        state.attempts = self.outside.count("attempt") - state.attempts_before
        self._record("fault.healed", state, asked_ns)
        self._stage.say(f"{state.fault.name} on {state.target}: healed")

    def close(self, state: StrikeState) -> None:
        """After any end of the strike: release its process, lift its fault, and notify the strikes that wait for it. Idempotent."""
        self._release(state)
        if state in self._injections:
            self._injections[state].end()
        state.is_over = True
        self.changed.notify()

    def until(self, state: StrikeState, signal: Signal, is_met: Callable[[], bool]) -> None:
        """Wait for a condition of this strike's trigger; raises FaultDidNotBite if it is not met by the end of the storm."""
        self._waits_for[state] = signal
        signal.wait_until(lambda: self.has_given_up or is_met())
        del self._waits_for[state]
        if not is_met():
            why = f"its moment never came: {state.strike.when.words()}"
            raise FaultDidNotBite(state.fault.name, state.target, why)

    def at_most(self, state: StrikeState, seconds: float, signal: Signal, is_met: Callable[[], bool]) -> None:
        """Wait for a condition, at most that many seconds and until the end of the storm."""
        self._waits_for[state] = signal
        signal.wait_until(lambda: self.has_given_up or is_met(), seconds)
        del self._waits_for[state]

    def rest(self, seconds: float) -> None:
        """Sleep, unless the run is interrupted."""
        self.changed.wait_until(lambda: self.is_aborted, seconds)

    def _run(self, number: int, state: StrikeState) -> None:
        try:
            state.strike.when.await_on(_StrikeWatch(self, number, state))
            self._aim_at_caught(state)
            self.strike(state)
            self._release(state)  # only now: the process had to be caught in exactly this phase
            self._await_duration(number, state)
            self.lift(state)
        except ChaosError as error:
            state.problem = str(error)
            self._stage.say(f"strike {number + 1}: {error}")
        finally:
            self.close(state)

    def _release(self, state: StrikeState) -> None:
        if state.sync_point is not None:
            state.sync_point.release()

    def _aim_at_caught(self, state: StrikeState) -> None:
        """If the fault is meant for it, aim at the process that set off the trigger."""
        if state.sync_point is None:
            return
        state.subject = state.sync_point.subject
        if state.fault.struck_process == REACHED:
            state.fault = state.fault.aimed_at(state.sync_point.actor)

    def _at_process(self, fault: Fault) -> Fault:
        """The fault, aimed at the first process with the role that it names."""
        struck = fault.struck_process
        if struck is None or struck in self._stage.roles:
            return fault
        playing = process_playing(struck, self._stage.roles)
        return fault if playing is None else fault.aimed_at(playing)

    def _await_traffic(self, injection: Injection) -> tuple[int, Evidence]:
        """Wait until the end of the storm for the bite; returns its earliest instant and its evidence."""
        while True:
            asked_ns = self._stage.now_ns()
            try:
                evidence = injection.await_bite(SLICE_S)
            except FaultDidNotBite:
                if self.has_given_up:
                    raise
                continue
            if evidence.at_ns is not None:  # else the bite was at some time in the last slice
                asked_ns = max(asked_ns, self._stage.since_start_ns(evidence.at_ns))
            return asked_ns, evidence

    def _await_duration(self, number: int, state: StrikeState) -> None:
        lasts_s = state.strike.lasts_s
        if isinstance(lasts_s, UntilNextBites):
            following = self.states[number + 1 : number + 2]  # none, if it was shrunk away
            self.changed.wait_until(lambda: all(one.bit_ns is not None or one.is_over for one in following))
        else:
            assert isinstance(lasts_s, float | int), "a plan holds no range"
            self.rest(lasts_s)

    def _begun(self, state: StrikeState, asked_ns: int) -> None:
        state.begun_ns = self._stage.now_ns()
        state.answered_before = self.submissions.answered_count
        state.attempts_before = self.outside.count("attempt")
        self._record("fault.begin", state, asked_ns, excuses=state.fault.excuses)

    def _waiting(self) -> int:
        acknowledged = {task for task, outcome in self.submissions.outcomes.items() if outcome == "ok"}
        return len(acknowledged.difference(self.outside.tasks_with_effect()))

    def _bitten(self, state: StrikeState, asked_ns: int) -> None:
        state.bite_asked_ns = asked_ns
        state.bit_ns = self._stage.now_ns()
        state.acknowledged = self.submissions.acknowledged
        state.waiting = self._waiting()
        if state.fault.excuses == "crash":  # of the process, or of a child in its name
            is_clean = state.evidence.is_clean or None
            self._lab.record("crash", actor=state.target, asked_ns=asked_ns, clean=is_clean)
        self._record("fault.bit", state, asked_ns, detail=state.evidence.words)
        self.changed.notify()
        self._stage.say(f"{state.fault.name} on {state.target}: {state.evidence.words}")

    def _record(self, event: str, state: StrikeState, asked_ns: int, **fields: str) -> None:
        names = {"fault": state.fault.name, "target": state.target}
        self._lab.record(event, actor="lab", **names, asked_ns=asked_ns, **fields)


class _StrikeWatch:
    """A `scenarios.experiment.triggers.Watch` for one strike of a nemesis."""

    def __init__(self, nemesis: Nemesis, number: int, state: StrikeState) -> None:
        self.outside: Outside = nemesis.outside
        self.submissions: Submissions = nemesis.submissions
        self.sync_point: SyncPoint | None = state.sync_point
        self.effects_before: int = nemesis.effects_before
        self.rest = nemesis.rest
        self.until = partial(nemesis.until, state)
        self.at_most = partial(nemesis.at_most, state)
        self._nemesis = nemesis
        self._number = number
        self._state = state

    def until_previous_is_over(self) -> None:
        """Wait for the end of the previous strike, successful or not."""
        before = self._previous
        self.until(self._nemesis.changed, lambda: before.is_over)

    def until_previous_bit(self) -> int:
        """Wait for the bite of the previous strike; returns the number of submissions acknowledged by then."""
        before = self._previous
        self.until(self._nemesis.changed, lambda: before.bit_ns is not None or before.is_over)
        if before.bit_ns is None:
            raise FaultDidNotBite(self._state.fault.name, self._state.target, "the previous strike did not bite")
        return before.acknowledged

    @property
    def _previous(self) -> StrikeState:
        assert self._number > 0, "the first strike has no previous one"
        return self._nemesis.states[self._number - 1]


def _problem_of(state: StrikeState) -> str:
    return state.problem or f"strike {state.fault.name} on {state.target} did not end"
