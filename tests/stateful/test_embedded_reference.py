"""The reference keeps its promises whatever is submitted, delivered, repeated, cancelled, crashed or delayed, in any order."""

from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from hypothesis.strategies import booleans, integers, sampled_from

from reference_impl.attempt import Attempt
from reference_impl.errors import PermanentFailure, TransientFailure
from scenarios.judging.verdict import Ruling
from tests.worlds.embedded import SETTINGS, Crash, EmbeddedWorld

TASKS_MAX = 6
CALM_ROUNDS_MAX = 60


class EmbeddedReference(RuleBasedStateMachine):
    """R2, R9, R10, R13–R16, R20: one rule for each thing that can happen."""

    @initialize()
    def begin(self) -> None:
        self.world = EmbeddedWorld()
        self.submitted = 0

    @precondition(lambda self: self.submitted < TASKS_MAX)
    @rule()
    def submit(self) -> None:
        self.submitted += 1
        self.world.submit(f"task-{self.submitted}")

    @precondition(lambda self: self.submitted > 0)
    @rule(number=integers(1, TASKS_MAX))
    def resubmit(self, number: int) -> None:
        self.world.submit(f"task-{min(number, self.submitted)}")

    @rule()
    def relay(self) -> None:
        self.world.relay()

    @precondition(lambda self: self.world.waiting_messages() > 0)
    @rule(crash_before_ack=booleans())
    def deliver(self, crash_before_ack: bool) -> None:
        self.world.deliver(succeed, crash_before_ack=crash_before_ack)

    @precondition(lambda self: self.submitted > 0)
    @rule(number=integers(1, TASKS_MAX))
    def deliver_twice(self, number: int) -> None:
        self.world.publish_again(f"task-{min(number, self.submitted)}")

    @precondition(lambda self: self.world.waiting_messages() > 0)
    @rule(error=sampled_from([TransientFailure, PermanentFailure]))
    def fail(self, error: type[Exception]) -> None:
        def plan(attempt: Attempt) -> None:
            raise error("as planned")

        self.world.deliver(plan)

    @precondition(lambda self: self.world.waiting_messages() > 0)
    @rule(after_effect=booleans())
    def crash(self, after_effect: bool) -> None:
        def plan(attempt: Attempt) -> None:
            if after_effect:
                self.world.effect(attempt)
            raise Crash

        self.world.deliver(plan)

    @precondition(lambda self: self.world.waiting_messages() > 0)
    @rule(others=integers(0, 3))
    def zombie(self, others: int) -> None:
        def plan(attempt: Attempt) -> None:
            self.world.time.pass_(SETTINGS.lease_s + 1.0)
            self.world.sweep()
            self.world.relay()
            for _ in range(min(others, self.world.waiting_messages())):
                self.world.deliver(succeed)

        self.world.deliver(plan)

    @precondition(lambda self: self.submitted > 0)
    @rule(number=integers(1, TASKS_MAX))
    def cancel(self, number: int) -> None:
        self.world.cancel(f"task-{min(number, self.submitted)}")

    @precondition(lambda self: self.world.waiting_messages() > 0)
    @rule()
    def cancel_while_running(self) -> None:
        self.world.deliver(lambda attempt: self.world.cancel(str(attempt.task.payload["task"])))

    @rule(seconds=integers(1, 90))
    def time_passes(self, seconds: int) -> None:
        self.world.time.pass_(seconds)
        self.world.sweep()

    @invariant()
    def no_promise_is_broken(self) -> None:
        assert broken(self.world, ended=False) == {}

    def teardown(self) -> None:
        for _ in range(CALM_ROUNDS_MAX):
            self.world.time.pass_(30.0)
            self.world.sweep()
            while self.world.relay():
                pass
            while self.world.waiting_messages():
                self.world.deliver(succeed)
            if not self.world.open_tasks():
                break
        assert broken(self.world, ended=True) == {}


def succeed(attempt: Attempt) -> None:
    """The handler has nothing to do but its effect."""


def broken(world: EmbeddedWorld, *, ended: bool) -> dict[str, tuple[str, ...]]:
    """The promises that are broken, and by which tasks."""
    verdicts = world.judgement(ended=ended).verdicts
    return {verdict.guarantee.value: verdict.witnesses for verdict in verdicts if verdict.ruling is Ruling.BROKEN}


EmbeddedReference.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None, derandomize=True)
TestEmbeddedReference = EmbeddedReference.TestCase
