"""python -m tasklab.mutation.trial — one mutant in a process of its own: simulated worlds until one shows it, or its time is up.

The job comes as one line of JSON on standard input, and the result goes as one line to standard output. The end of standard input ends
this process: its parent is gone. Nothing of the reference is imported before the changed module is in place.
"""

import importlib
import os
import resource
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import Literal

import msgspec

from scenarios.judging.verdict import EXIT_HELD
from scenarios.simulated.probe import KILLED_BY_TASK
from scenarios.simulated.run import Simulated, simulate
from scenarios.simulated.search.explore import explorer_of
from scenarios.simulated.search.shrink import broken_promises
from scenarios.simulated.search.token import Token
from tasklab.mutation.loading import ChangedModule
from tasklab.mutation.work import COMPARED_AFTER, calls_of, excess

SYSTEM = "reference"

WORLD_CPU_S = 6
"""A world that takes longer is without end: healthy ones take a tenth of a second."""
STEPS_BUSY = 20_000
"""A world of more steps has a loop that never rests: the largest of many healthy ones took 7,100."""
MEMORY_BYTES_MAX = 2 * 2**30

How = Literal["promise", "crash", "stuck", "busy", "unknown", "survived"]


class TrialJob(msgspec.Struct, frozen=True):
    """A mutant to try: `source` stands for the module `module` of the file `path`, changed at byte `position`.

    `series`: the worlds of each seed, from `seed` on, for `cpu_s` seconds of this process. `control`: the work of the unchanged reference
    after certain numbers of worlds.
    """

    module: str
    path: str
    source: str
    position: int
    series: list[str]
    seed: int
    cpu_s: float
    control: dict[int, dict[str, int]] = {}


class TrialResult(msgspec.Struct, frozen=True):
    """How the mutant was killed, or that it survived. `what`: the promise, the exception, or the problem; `world`: where.

    `reached`: whether its changed statement was executed in any world, or when its module was imported. `work`: of a survivor, as
    `TrialJob.control`.
    """

    how: How
    what: str = ""
    world: str = ""
    worlds: int = 0
    cpu_s: float = 0.0
    reached: bool = True
    work: dict[int, dict[str, int]] = {}


def main() -> None:
    """Carry out the job of standard input."""
    job = msgspec.json.decode(sys.stdin.buffer.readline(), type=TrialJob)
    answer = os.dup(sys.stdout.fileno())
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # whatever the code under trial prints
    threading.Thread(target=_end_with_the_parent, name="parent", daemon=True).start()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    _allow(WORLD_CPU_S + 10)  # imports, too
    module = ChangedModule(job.module, job.path, job.source, job.position)
    module.install()
    try:
        result = _tried(job)
    except Exception as error:  # noqa: BLE001 — the mutant's own code fails, wherever: when it is imported, in a world
        result = TrialResult("crash", _one_line(error))
    os.write(answer, msgspec.json.encode(msgspec.structs.replace(result, reached=module.reached)) + b"\n")
    os._exit(0)  # fibers that a mutant keeps from ending hold up no one


def _tried(job: TrialJob) -> TrialResult:
    importlib.import_module(job.module)  # first: the plug-in's loader would wrap what it raises
    explorer = explorer_of(SYSTEM)
    began_s = time.process_time()
    worlds = 0
    calls: Counter[str] = Counter()
    work: dict[int, dict[str, int]] = {}
    for series, seed in _worlds(job):
        took_s = time.process_time() - began_s
        if took_s > job.cpu_s:
            break
        worlds += 1
        _allow(WORLD_CPU_S)
        name = str(Token(series, SYSTEM, seed))
        try:
            world = simulate(explorer.series(series)(seed), explorer.simulation)
            how, what = _verdict(world)
            calls.update(calls_of(world.trace.steps))
        except Exception as error:  # noqa: BLE001 — as above
            how, what = "crash", _one_line(error)
        if how == "survived" and worlds in COMPARED_AFTER:
            work[worlds] = dict(calls)
            what = excess(worlds, calls, job.control[worlds]) if worlds in job.control else ""
            how, name = ("busy", f"the worlds up to {name}") if what else (how, name)
        if how != "survived":
            return TrialResult(how, what, name, worlds, round(time.process_time() - began_s, 2))
    return TrialResult("survived", "", "", worlds, round(time.process_time() - began_s, 2), work=work)


def _worlds(job: TrialJob) -> Iterator[tuple[str, int]]:
    for seed in count(job.seed):
        for series in job.series:
            yield series, seed


def _verdict(world: Simulated) -> tuple[How, str]:
    """What the world shows of the mutant."""
    broken = sorted(promise.value for promise in broken_promises(world))
    crashed = [one for one in world.gone if not one.endswith(KILLED_BY_TASK)]
    if broken:
        return "promise", ", ".join(broken)
    if crashed:
        return "crash", crashed[0]
    if world.judgement.exit_code != EXIT_HELD:
        return "unknown", "; ".join(world.judgement.problems)[:200] or "a promise could not be judged"
    if world.steps > STEPS_BUSY:
        return "stuck", f"a loop that never rests: {world.steps} steps"
    return "survived", ""


def _allow(cpu_s: float) -> None:
    """From now on so many seconds; then the kernel ends this process with SIGXCPU."""
    used_s = resource.getrusage(resource.RUSAGE_SELF)
    resource.setrlimit(
        resource.RLIMIT_CPU, (int(used_s.ru_utime + used_s.ru_stime + cpu_s) + 1, resource.RLIM_INFINITY)
    )


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


def _end_with_the_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    main()
