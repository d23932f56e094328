"""A campaign of generated mutants: which files, which changes are drawn, and each tried in a process of its own."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from random import Random

import msgspec

import reference_impl
from scenarios.errors import RunFailed, WrongUsage, nearest
from scenarios.simulated.system import NETS
from scenarios.simulated.worlds.series import name_without
from tasklab.mutation.changes import Change, changes_of
from tasklab.mutation.trial import TrialJob, TrialResult

HOME = Path(reference_impl.__file__).parent
DELIVERY_PATH = (
    "attempt.py",
    "fast/lock.py",
    "loops/claiming.py",
    "loops/heartbeat.py",
    "loops/reconnection.py",
    "loops/relay.py",
    "loops/rescuer.py",
    "loops/worker.py",
    "retry.py",
    "rows/cancellation.py",
    "rows/dead_letter.py",
    "rows/outbox.py",
    "rows/settlement.py",
    "rows/store.py",
    "rows/submission.py",
    "rows/transactions.py",
    "rows/transitions.py",
    "task.py",
)
"""The files from a submission to a final state, below the package of the reference."""
WORLDS = ("swarm", *(name_without("swarm", net) for net in NETS))
"""The series of worlds of each seed: the swarm with all safety nets, and with each of them off, so that none hides a change."""
PATIENCE = 30.0
"""Real seconds for each second of processor time, on a busy machine; then a mutant is held to stand still."""


@dataclass(frozen=True, slots=True)
class GeneratedMutant:
    """A change with the source that it changes."""

    change: Change
    source: str

    @property
    def diff(self) -> Sequence[str]:
        """The changed lines."""
        return self.change.diff(self.source)


def mutants_of(files: Sequence[str]) -> list[GeneratedMutant]:
    """Every mutant of these files of the reference: below its package, or by a path of the file system.

    Raises:
        WrongUsage: there is no such file in the reference.
    """
    mutants = []
    for name in files:
        relative = _relative(name)
        source = (HOME / relative).read_text(encoding="utf-8")
        mutants += [GeneratedMutant(change, source) for change in changes_of(relative, source)]
    return mutants


def _relative(name: str) -> str:
    below = HOME / name
    path = (below if below.is_file() else Path(name)).resolve()
    if not path.is_file() or path.suffix != ".py" or not path.is_relative_to(HOME.resolve()):
        raise WrongUsage(f"{name} is no file of the reference; there are {', '.join(DELIVERY_PATH)} and more in {HOME}")
    return path.relative_to(HOME.resolve()).as_posix()


def drawn(mutants: Sequence[GeneratedMutant], seed: int, count: int) -> list[GeneratedMutant]:
    """So many of them, drawn by the seed, in their own order; all where there are no more."""
    if count >= len(mutants):
        return list(mutants)
    chosen = sorted(Random(f"{seed}/mutants").sample(range(len(mutants)), count))
    return [mutants[index] for index in chosen]


def only(mutants: Sequence[GeneratedMutant], ids: Sequence[str]) -> list[GeneratedMutant]:
    """The mutants of these ids.

    Raises:
        WrongUsage: there is none of an id.
    """
    by_id = {mutant.change.id: mutant for mutant in mutants}
    for wanted in ids:
        if wanted not in by_id:
            raise WrongUsage(f"no change has the id {wanted!r}; the nearest are {', '.join(nearest(wanted, by_id))}")
    return [by_id[wanted] for wanted in ids]


class ControlNotSilent(RunFailed):
    """The unchanged reference raises an alarm, too, so an alarm proves nothing about a mutant."""

    def __init__(self, outcome: TrialResult) -> None:
        super().__init__(f"the unchanged reference is not silent in these worlds: {outcome.what} in {outcome.world}")


def check_control(outcome: TrialResult) -> None:
    """The unchanged reference has to survive the worlds in which its mutants are tried.

    Raises:
        ControlNotSilent: it does not.
    """
    if outcome.how != "survived":
        raise ControlNotSilent(outcome)


class Trials:
    """Mutants in child processes, `jobs` at a time, each for `cpu_s` seconds of simulation in the worlds from `seed` on."""

    def __init__(self, seed: int, cpu_s: float, jobs: int, series: Sequence[str] = WORLDS) -> None:
        self._seed = seed
        self._cpu_s = cpu_s
        self._jobs = jobs
        self._series = series
        self._children: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._is_over = False
        self._control: dict[int, dict[str, int]] = {}

    def control(self) -> TrialResult:
        """The reference unchanged, in the same worlds: it has to survive. Its work is the measure for that of the mutants after it."""
        file = DELIVERY_PATH[0]
        source = (HOME / file).read_text(encoding="utf-8")
        result = self._try(GeneratedMutant(Change(file, 1, 1, "none", 0, 0, ""), source))
        self._control = result.work
        return result

    def outcomes(self, mutants: Sequence[GeneratedMutant]) -> Iterator[tuple[GeneratedMutant, TrialResult]]:
        """Each with its outcome, as they come. Closing the generator ends the remaining children."""
        with ThreadPoolExecutor(self._jobs) as pool:
            trials = {pool.submit(self._try, mutant): mutant for mutant in mutants}
            try:
                for trial in as_completed(trials):
                    yield trials[trial], trial.result()
            finally:
                self._end()
                pool.shutdown(wait=True, cancel_futures=True)

    def _end(self) -> None:
        with self._lock:
            self._is_over = True
            for child in self._children:
                child.kill()

    def _try(self, mutant: GeneratedMutant) -> TrialResult:
        with self._lock:
            if self._is_over:
                return TrialResult("unknown", "interrupted")
            # A session of its own: Ctrl-C of the terminal reaches this process alone, which then ends its children.
            child = subprocess.Popen(
                [sys.executable, "-P", "-m", "tasklab.mutation.trial"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            self._children.add(child)
        try:
            return self._outcome(child, self._job(mutant))
        finally:
            child.kill()
            child.wait()
            with self._lock:
                self._children.discard(child)

    def _outcome(self, child: "subprocess.Popen[bytes]", job: TrialJob) -> TrialResult:
        assert child.stdin is not None, "a pipe"
        assert child.stdout is not None, "a pipe"
        watch = threading.Timer(60.0 + PATIENCE * self._cpu_s, child.kill)
        watch.daemon = True
        watch.start()
        try:
            with child:
                child.stdin.write(msgspec.json.encode(job) + b"\n")
                child.stdin.flush()  # left open: its end tells the child that this process is gone
                told = child.stdout.readline()
        finally:
            watch.cancel()
        if told:
            return msgspec.json.decode(told, type=TrialResult)
        if child.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            return TrialResult("stuck", "a world without end, or the import of the module")
        return TrialResult("crash", f"its process ended with {child.returncode}")

    def _job(self, mutant: GeneratedMutant) -> TrialJob:
        change = mutant.change
        return TrialJob(
            module=".".join([reference_impl.__name__, *Path(change.file).with_suffix("").parts]),
            path=str(HOME / change.file),
            source=change.applied_to(mutant.source),
            position=change.start,
            series=list(self._series),
            seed=self._seed,
            cpu_s=self._cpu_s,
            control=self._control,
        )
