"""Executors of worlds: this process, several processes, or a Ray cluster of many machines. Rows come as they are ready."""

import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from multiprocessing import resource_tracker

from scenarios.errors import ExecutorFailed, ExecutorMissing
from scenarios.simulated.search.explore import Row, Work, run_works

BATCH = 8
"""Number of worlds in one batch: a few hundred milliseconds of work."""

Executor = Callable[[str, Iterable[Work]], Iterator[Row]]
"""Runs works of the system of that name."""


def in_this_process(system_name: str, works: Iterable[Work]) -> Iterator[Row]:
    """One world after another."""
    for work in works:
        yield from run_works(system_name, [work])


@contextmanager
def processes(jobs: int, *, hash_seed: str | None = None) -> Iterator[Executor]:
    """`jobs` processes of this machine, which end with the `with` block. `hash_seed`: their PYTHONHASHSEED.

    Raises:
        ExecutorFailed: one of them was killed.
    """
    _start_tracker()
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), initializer=_follow_parent)
    # Safe path: else a child searches the current directory for the standard library first, until it gets this process's path.
    _spawn_with(pool, jobs, {"PYTHONSAFEPATH": "1"} | ({} if hash_seed is None else {"PYTHONHASHSEED": hash_seed}))
    try:
        yield lambda system_name, works: _rows(pool.submit, system_name, works, in_flight_max=2 * jobs)
    except BrokenProcessPool as error:
        raise ExecutorFailed("local", error) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def ray_cluster() -> Iterator[Executor]:
    """The workers of the Ray cluster at RAY_ADDRESS, or of a temporary one that is started here.

    The cluster's nodes need the same tasklab, and the system's plug-in, in the Python of Ray.

    Raises:
        ExecutorMissing: Ray is not installed.
        ExecutorFailed: the cluster lost a world, or could not run it.
    """
    try:
        import ray
    except ImportError as error:
        raise ExecutorMissing("ray", "install it with: pip install 'tasklab[ray]'") from error
    ray.init(log_to_driver=False, logging_level=logging.ERROR)
    remote = ray.remote(run_works)
    in_flight_max = 2 * max(1, round(ray.cluster_resources().get("CPU", 1)))
    try:
        yield lambda system_name, works: _rows(
            lambda function, *arguments: remote.remote(*arguments).future(),
            system_name,
            works,
            in_flight_max=in_flight_max,
        )
    except ray.exceptions.RayError as error:
        raise ExecutorFailed("ray", error) from error
    finally:
        ray.shutdown()


def _rows(
    submit: Callable[..., "Future[list[Row]]"], system_name: str, works: Iterable[Work], *, in_flight_max: int
) -> Iterator[Row]:
    """The rows of all works, with a bounded number of batches in flight, so that `works` may be endless."""
    batches = iter(_batched(works))
    in_flight: set[Future[list[Row]]] = set()
    while True:
        for batch in islice(batches, in_flight_max - len(in_flight)):
            in_flight.add(submit(run_works, system_name, batch))
        if not in_flight:
            return
        done, in_flight = wait(in_flight, return_when=FIRST_COMPLETED)
        for future in done:
            yield from future.result()


def _batched(works: Iterable[Work]) -> Iterator[list[Work]]:
    rest = iter(works)
    while batch := list(islice(rest, BATCH)):
        yield batch


def _spawn_with(pool: ProcessPoolExecutor, jobs: int, variables: Mapping[str, str]) -> None:
    """Start the processes of the pool with these variables: each starts when work finds no idle process."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)  # Python reads them only at its start: no effect on this process
    try:
        for begun in [pool.submit(os.getpid) for _ in range(jobs)]:
            begun.result()
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _start_tracker() -> None:
    """Start the resource tracker, which removes the semaphores of a killed lab, so that a closed terminal does not kill it too."""
    if threading.current_thread() is not threading.main_thread():
        return  # only the main thread may set signal handlers
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # an ignored signal stays ignored in a new program
    try:
        resource_tracker.ensure_running()
    finally:
        signal.signal(signal.SIGHUP, before)


def _follow_parent() -> None:
    """Ignore interrupts, which the parent handles, and end when the parent ends, even if it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_parent, name="parent", daemon=True).start()


def _end_with_the_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None, "a process of the pool has a parent"
    parent.join()
    os._exit(1)
