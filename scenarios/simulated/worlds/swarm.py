"""Random worlds: a few tasks, a few processes, and faults of some kinds, which the seed selects.

Leaving out whole kinds finds more defects than a little of every kind in every world (Groce et al., "Swarm Testing", ISSTA 2012).
"""

import math
from collections.abc import Callable
from random import Random

import msgspec

from chaos.faults import (
    REACHED,
    DegradeNetwork,
    FailOverRedis,
    KillProcess,
    KillService,
    PauseProcess,
    SwallowAck,
    WithholdConfirm,
)
from chaos.simulation import SERVICES
from scenarios.judging.premise import UNSTATED_S
from scenarios.simulated.system import Sizes, Terms
from scenarios.simulated.worlds.cache_losses import with_cache_losses
from scenarios.simulated.worlds.database_faults import with_database_faults
from scenarios.simulated.worlds.late_cancels import with_late_cancels
from scenarios.simulated.worlds.plan import (
    SURE_TRIES,
    DelayPlan,
    PlannedCallFault,
    PlannedStrike,
    PlannedTask,
    WorldPlan,
)
from scenarios.simulated.worlds.results import with_results
from scenarios.simulated.worlds.shared_keys import with_shared_keys
from scenarios.simulated.worlds.unusual import with_unusual

NAME = "swarm"
STRIKE_TIMEOUT_S = 4.0
NTH_MAX = 4
STORM_S = 1.2
"""Faults at a time strike within this time."""

_CALLS_MAX = {"worker": 36, "relay": 60, "rescuer": 50, "api": 9}
"""Call faults are drawn among the first calls of a loop, up to this number (for the API: of a request)."""


def world_of(seed: int, terms: Terms) -> WorldPlan:
    """The world of this seed."""
    chance = Random(f"{seed}/{NAME}")
    sizes = Sizes(
        apis=chance.choice((1, 1, 2)),
        relays=chance.choice((1, 1, 2)),
        workers=chance.choice((1, 2, 2)),
        slots=chance.choice((1, 1, 2)),
        rescuers=chance.choice((1, 2, 2, 3)),
    )
    tasks = _with_more(Random(f"{seed}/{NAME}/more"), terms, _tasks(chance, terms.policy.attempts_max or 1))
    kinds = [kind for kind in _KINDS if chance.random() < 0.3]
    if _withhold_confirm in kinds:
        sizes = msgspec.structs.replace(sizes, relays=1)  # of two, either may publish everything
    draw = _Draw(chance, sizes, tasks, terms)
    struck = [kind(draw) for kind in kinds for _ in range(chance.choice((1, 1, 2)))]
    plan = WorldPlan(
        scenario=NAME,
        seed=seed,
        tasks=tasks,
        sizes=sizes,
        strikes=_one_a_moment([one for one in struck if isinstance(one, PlannedStrike)]),
        call_faults=_one_a_call([one for one in struck if isinstance(one, PlannedCallFault)]),
        skews=draw.skews(),
        delays=_delays(chance),
        forgets_queues=terms.stands_forgotten_queues,
        read_every_s=chance.choice((0.0, 0.05, 0.3)),
        patience_s=STRIKE_TIMEOUT_S,
    )
    for add in (
        with_unusual,
        with_shared_keys,
        with_late_cancels,
        with_results,
        with_database_faults,
        with_cache_losses,
    ):
        plan = add(plan, terms)
    return plan


def _tasks(chance: Random, attempts_max: int) -> tuple[PlannedTask, ...]:
    spread_s = chance.choice((0.0, 0.05, 0.3))
    count = chance.choice((1, 1, 2, 2, 3, 4, 6))
    patient = chance.randrange(count)  # its client does not give up, so that a task is accepted in every world
    return tuple(
        _task(chance, number, spread_s, attempts_max, tries=10 if number == patient else chance.choice((1, 1, 3, 6)))
        for number in range(count)
    )


def _task(chance: Random, number: int, spread_s: float, attempts_max: int, *, tries: int) -> PlannedTask:
    name = f"task-{number + 1}"
    payload: dict[str, object] = {"task": name, "work_s": chance.choice((0.0, 0.01, 0.05, 0.3))}
    outcomes = _outcomes(chance, attempts_max)
    if outcomes:
        payload["outcomes"] = outcomes
    if chance.random() < 0.15:
        payload["steps"] = 2
    return PlannedTask(
        at_s=round(number * spread_s * chance.random(), 4),
        task=name,
        payload=payload,
        user=f"user-{number % 2 + 1}",
        tries=tries,
        twice=chance.random() < 0.15,
        cancel_s=round(chance.uniform(0.0, 0.5), 3) if chance.random() < 0.12 else None,
        deadline_s=round(chance.uniform(0.05, 4.0), 3) if chance.random() < 0.08 else None,
    )


def _with_more(chance: Random, terms: Terms, tasks: tuple[PlannedTask, ...]) -> tuple[PlannedTask, ...]:
    """The tasks, some with longer work than a lease, more reports of progress, or a person who puts them back when they are dead.

    Drawn apart from everything else: the rest of a world is what it was before these were there.
    """
    return tuple(_with_more_of(chance, terms, task) for task in tasks)


def _with_more_of(chance: Random, terms: Terms, task: PlannedTask) -> PlannedTask:
    payload = dict(task.payload)
    if chance.random() < 0.06:
        payload["work_s"] = round((terms.pace.lease_s or UNSTATED_S) * chance.uniform(1.1, 1.8), 3)
    if chance.random() < 0.1:
        payload["reports"] = chance.choice((2, 3))
    is_doomed = payload.get("outcomes") == ["permanent"] or len(payload.get("outcomes", ())) > 1
    redriven = chance.random() < 0.5 and is_doomed and "redrive" in terms.capabilities
    return msgspec.structs.replace(task, payload=payload, redriven=redriven)


def _outcomes(chance: Random, attempts_max: int) -> list[str]:
    roll = chance.random()
    if roll < 0.16:
        return ["transient"]
    if roll < 0.24:
        return ["permanent"]
    if roll < 0.28:
        return ["transient"] * (attempts_max + 1)
    if roll < 0.31:
        return ["die"]
    if roll < 0.34:
        return ["die"] * (attempts_max + 3)
    return []


class _Draw:
    """The random draws of the kinds of faults."""

    def __init__(self, chance: Random, sizes: Sizes, tasks: tuple[PlannedTask, ...], terms: Terms) -> None:
        self.chance = chance
        self.sizes = sizes
        self.tasks = tasks
        self.lease_s = terms.pace.lease_s or UNSTATED_S
        self.lock_s = terms.pace.lock_s or UNSTATED_S

    def process(self, *roles: str) -> str:
        """A process with one of these roles (none: any role)."""
        counts = {
            "api": self.sizes.apis,
            "relay": self.sizes.relays,
            "worker": self.sizes.workers,
            "rescuer": self.sizes.rescuers,
        }
        role = self.chance.choice(roles or ("api", "relay", "worker", "worker", "worker", "rescuer"))
        return f"{role}-{self.chance.randint(1, counts[role])}"

    def call(self, *roles: str) -> tuple[str, int]:
        """One fiber and one of its calls."""
        process = self.process(*roles)
        role = process.partition("-")[0]
        loop = {
            "api": f"client-{self.chance.choice(self.tasks).task}:{self.chance.choice((1, 1, 1, 2))}",
            "relay": "relay",
            "worker": f"slot {self.chance.randint(1, self.sizes.slots)}",
            "rescuer": "rescuer",
        }[role]
        return f"{process}/{loop}", self._number(role)

    def _number(self, role: str) -> int:
        """The number of a call. In the API later calls are likelier, because the decisive calls of its short requests come late."""
        draws = 2 if role == "api" else 1
        return max(self.chance.randint(1, _CALLS_MAX[role]) for _ in range(draws))

    def nth_task(self) -> int:
        """A number reached surely: at most that of tasks without a deadline whose client makes `SURE_TRIES`."""
        sure = sum(task.tries >= SURE_TRIES and task.deadline_s is None for task in self.tasks)
        return self.chance.randint(1, max(1, min(NTH_MAX, sure)))

    def instant_s(self) -> float:
        """An instant during the storm."""
        return round(self.chance.uniform(0.0, STORM_S), 4)

    def short_s(self) -> float:
        """A duration from 0.01 to 1.5 seconds, log-uniform."""
        return round(math.exp(self.chance.uniform(math.log(0.01), math.log(1.5))), 4)

    def long_s(self, stated_s: float) -> float:
        """A duration near that of a lease or lock: sometimes a little shorter, mostly longer."""
        return round(stated_s * self.chance.uniform(0.8, 2.0), 3)

    def skews(self) -> dict[str, tuple[float, float]]:
        """Wrong clocks, in one world of four."""
        if self.chance.random() >= 0.25:
            return {}
        wall_s, rate = self.chance.uniform(-600.0, 600.0), self.chance.uniform(0.99, 1.01)
        return {self.process(): (round(wall_s, 3), round(rate, 5))}


def _kill_at_call(draw: _Draw) -> PlannedCallFault:
    fiber, call = draw.call()
    return PlannedCallFault(fiber, call, "kill", draw.chance.choice(("before", "after")), draw.short_s())


def _pause_at_call(draw: _Draw) -> PlannedCallFault:
    fiber, call = draw.call("worker", "worker", "relay", "rescuer", "api")
    lasts_s = draw.long_s(draw.lease_s) if draw.chance.random() < 0.7 else draw.short_s()
    return PlannedCallFault(fiber, call, "pause", draw.chance.choice(("before", "after")), lasts_s)


def _cut_at_call(draw: _Draw) -> PlannedCallFault:
    fiber, call = draw.call("api", "api", "relay", "worker", "worker", "rescuer")
    noticed_s = draw.chance.choice((0.0, 0.0, 0.5, 1.0))
    return PlannedCallFault(fiber, call, "cut", draw.chance.choice(("before", "after", "after")), noticed_s)


def _cut_off_client(draw: _Draw) -> PlannedCallFault:
    fiber = f"client-{draw.chance.choice(draw.tasks).task}"
    return PlannedCallFault(fiber, draw.chance.choice((1, 1, 2)), "cut", draw.chance.choice(("before", "after")), 0.0)


def _undo_at_call(draw: _Draw) -> PlannedCallFault:
    fiber, call = draw.call()
    return PlannedCallFault(fiber, call, "undo", code=draw.chance.choice((1205, 1213)))


def _kill_at_sync_point(draw: _Draw) -> PlannedStrike:
    when = draw.chance.choice(("AttemptBegun", "EffectAccepted"))
    return _at_sync_point(KillProcess.name, draw, when, draw.short_s())


def _pause_at_sync_point(draw: _Draw) -> PlannedStrike:
    when = draw.chance.choice(("AttemptBegun", "EffectAccepted"))
    return _at_sync_point(PauseProcess.name, draw, when, draw.long_s(draw.lease_s))


def _pause_leader(draw: _Draw) -> PlannedStrike:
    return _at_sync_point(PauseProcess.name, draw, "LeaderAtWork", draw.long_s(draw.lock_s))


def _at_sync_point(fault: str, draw: _Draw, when: str, lasts_s: float) -> PlannedStrike:
    return PlannedStrike(fault, {}, when=when, trigger={"nth": draw.nth_task()}, lasts_s=lasts_s)


def _kill_service(draw: _Draw) -> PlannedStrike:
    service = draw.chance.choice((*SERVICES, "rabbitmq"))  # the broker twice as often
    return PlannedStrike(KillService.name, {"service": service}, at_s=draw.instant_s(), lasts_s=draw.short_s())


def _fail_over(draw: _Draw) -> PlannedStrike:
    return PlannedStrike(FailOverRedis.name, {}, at_s=draw.instant_s(), lasts_s=draw.short_s())


def _swallow_ack(draw: _Draw) -> PlannedStrike:
    """With one worker: an ack that surely comes. With several: the next ack of the worker that begins the first attempt."""
    if draw.sizes.workers == 1:
        aim = {"process": "worker-1", "nth": draw.nth_task()}
        return PlannedStrike(SwallowAck.name, aim, when="AtStart", lasts_s=0.0)
    aim = {"process": REACHED, "nth": 1}
    return PlannedStrike(SwallowAck.name, aim, when="AttemptBegun", trigger={"nth": 1}, lasts_s=0.0)


def _withhold_confirm(draw: _Draw) -> PlannedStrike:
    """The fault begins at a publish that comes if every task is accepted."""
    aim = {"process": draw.process("relay"), "nth": draw.nth_task()}
    return PlannedStrike(WithholdConfirm.name, aim, when="AtStart", lasts_s=draw.chance.choice((0.3, 1.5, 3.0)))


def _degrade(draw: _Draw) -> PlannedStrike:
    kind = draw.chance.choice(("blackhole", "blackhole", "delay", "reset", "refuse"))
    aim = {
        "process": draw.process(),
        "service": draw.chance.choice(SERVICES),
        "kind": kind,
        "value": round(draw.chance.uniform(5.0, 500.0), 1),
    }
    lasts_s = draw.chance.choice((0.1, 0.6, 1.5, 3.0))
    return PlannedStrike(DegradeNetwork.name, aim, at_s=draw.instant_s(), lasts_s=lasts_s)


_KINDS: tuple[Callable[[_Draw], PlannedStrike | PlannedCallFault], ...] = (
    _kill_at_call,
    _pause_at_call,
    _cut_at_call,
    _cut_off_client,
    _undo_at_call,
    _kill_at_sync_point,
    _pause_at_sync_point,
    _pause_leader,
    _kill_service,
    _fail_over,
    _swallow_ack,
    _withhold_confirm,
    _degrade,
)


def _one_a_moment(strikes: list[PlannedStrike]) -> tuple[PlannedStrike, ...]:
    """The strikes without those that another one would deprive of their target: same moment, or same fault and target."""
    found: dict[object, PlannedStrike] = {}
    for strike in strikes:
        at_point = strike.when if "nth" in strike.trigger else ""
        target = (strike.fault, strike.aim.get("process"), strike.aim.get("service"))
        found.setdefault((at_point, strike.trigger["nth"]) if at_point else target, strike)
    return tuple(found.values())


def _one_a_call(faults: list[PlannedCallFault]) -> tuple[PlannedCallFault, ...]:
    return tuple({(fault.fiber, fault.call): fault for fault in faults}.values())


def _delays(chance: Random) -> DelayPlan:
    """Mostly erratic; sometimes steady except for a few long preemptions; sometimes steady."""
    roll = chance.random()
    if roll < 0.6:
        return DelayPlan(
            "erratic",
            slow_share=chance.choice((0.0, 0.05, 0.2, 0.5)),
            slow_s=chance.choice((0.01, 0.05, 0.2, 0.4)),
        )
    if roll < 0.9:
        return DelayPlan("preempting", times=chance.randint(1, 4), among=chance.choice((100, 300)))
    return DelayPlan()
