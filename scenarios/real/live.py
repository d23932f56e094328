"""The figures of a running load test, in live.json, for the page that shows them."""

import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

import msgspec

from scenarios.contract.system import Account
from scenarios.experiment.run import Experiment
from scenarios.experiment.strike_state import StrikeState
from scenarios.real.stage import RealStage
from scenarios.record.run_facts import Live, LiveFault
from scenarios.stored.rundir import LIVE_FILE, write_whole

EVERY_S = 1.0
READ_SHARE_MAX = 0.2
"""Maximum share of time for reading accounts: a large one is read less often. `t_ns` shows the age of the figures."""
SAY_EVERY = 5
"""Every fifth time the figures are also printed on the terminal."""


class LiveFigures:
    """Writes live.json once a second in its own thread. `count_submitted`: returns the number of tasks sent so far."""

    def __init__(
        self, stage: RealStage, experiment: Experiment, planned: int, count_submitted: Callable[[], int]
    ) -> None:
        self._stage = stage
        self._experiment = experiment
        self._planned = planned
        self._count_submitted = count_submitted
        self._file: Path = stage.directory.path / LIVE_FILE
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._go_on, name="live figures", daemon=True)
        self._before: frozenset[str] = frozenset()
        self._effects_before = 0
        self._last: Live | None = None

    def start(self) -> None:
        """Start; tasks submitted before now (the warm-up) are not counted."""
        self._before = frozenset(self._experiment.submissions.outcomes)
        self._effects_before = self._experiment.outside.counts().effects
        self._thread.start()

    def stop(self) -> None:
        """Write the last figures, marked as over. Idempotent; may be called before `start`."""
        if self._thread.ident is None or self._over.is_set():
            return
        self._over.set()
        self._thread.join()
        last = self._read() or self._last
        if last is not None:
            self._write(msgspec.structs.replace(last, over=True))

    def _go_on(self) -> None:
        pause_s, times = EVERY_S, 0
        while not self._over.wait(pause_s):
            live = self._read()
            if live is None:
                continue
            self._write(live)
            pause_s = max(EVERY_S, live.read_s * (1 / READ_SHARE_MAX - 1))
            times += 1 if live.submitted else 0
            if live.submitted and times % SAY_EVERY == 0:
                self._stage.say(in_words(live))

    def _read(self) -> Live | None:
        t_ns = self._stage.now_ns()
        # Before the account, which must list everything acknowledged by now. Read after it, the latest tasks would always be missing.
        outcomes = {
            task: kind for task, kind in self._experiment.submissions.outcomes.items() if task not in self._before
        }
        submitted = self._count_submitted()
        try:
            account = self._experiment.account()
        except Exception:  # noqa: BLE001 — a system's account may raise anything during a fault: the old figures stay
            return None
        counts = self._experiment.outside.counts()
        kinds = Counter(outcomes.values())
        return Live(
            t_ns=t_ns,
            read_s=(self._stage.now_ns() - t_ns) / 1e9,
            planned=self._planned,
            submitted=submitted,
            acknowledged=kinds["ok"],
            refused=kinds["fail"],
            unknown=kinds["info"],
            effects=counts.effects - self._effects_before,
            duplicates=counts.duplicates,
            repeats=counts.repeats,
            done=_count(account.done, self._before),
            dead=_count(account.dead, self._before),
            pending=_count(account.pending, self._before),
            missing=_count_missing(account, outcomes),
            faults=tuple(map(_progress, self._experiment.nemesis.states)),
        )

    def _write(self, live: Live) -> None:
        self._last = live
        write_whole(self._file, msgspec.json.encode(live))


def in_words(live: Live) -> str:
    """One line for the terminal."""
    known = {"done": live.done, "pending": live.pending, "dead letters": live.dead, "missing": live.missing}
    figures = [f"{count} {name}" for name, count in known.items() if count is not None]
    return f"{live.submitted} of {live.planned} submitted: {', '.join(figures)}, {live.duplicates} effects twice"


def _count(names: Collection[str] | None, before: Collection[str]) -> int | None:
    return None if names is None else sum(name not in before for name in names)


def _count_missing(account: Account, outcomes: Mapping[str, str]) -> int | None:
    """Number of acknowledged tasks in no list; None for a system that does not list its pending tasks."""
    if account.pending is None:
        return None
    listed: set[str] = set()
    for names in (account.done, account.dead, account.cancelled, account.expired, account.pending):
        listed.update(names or ())
    return sum(kind == "ok" and task not in listed for task, kind in outcomes.items())


def _progress(state: StrikeState) -> LiveFault:
    facts = state.facts()
    reached = {
        "healed": facts.healed_ns,
        "lifted": facts.ended_ns,
        "bitten": facts.bit_ns,
        "begun": facts.begun_ns,
    }
    stage = "failed" if facts.problem else next((name for name, at in reached.items() if at is not None), "waiting")
    return LiveFault(facts.fault, facts.target, stage)
