"""The options of `celery worker` with the user's arguments, as the installed command reads them, before any worker starts.

Besides the standard library and the other shims it imports Celery and its library click only, from Python 3.8 on.
"""

from typing import Any, Dict, Optional, Sequence

import click
from celery.bin.base import CLIContext
from celery.bin.worker import worker
from tasklab_adapter import Choice, UnusableApp

CONCURRENCY = "2"
"""Processes of a worker's pool, where neither the app nor the user states a number."""


class CeleryWorkerOptions:
    """What the user's arguments say; `pool`: the name of the pool, or None if they state none."""

    def __init__(self, choice: Choice, app: Any) -> None:
        self._given: Sequence[str] = choice.worker_arguments
        self._parsed = _parsed(self._given, app)
        self.pool: Optional[str] = self._raw("--pool", "-P")
        for name, why in (
            ("detach", "the lab would lose sight of a worker that goes into the background"),
            ("beat", "beat would send the app's own tasks"),
        ):
            if self._parsed.get(name):
                raise UnusableApp(self._said() + ": " + why + "; leave it out")
        if (
            self._parsed.get("pool_start_method") == "spawn"
            or app.conf.get("worker_pool_start_method", "fork") != "fork"
        ):
            raise UnusableApp(
                "pool processes that are spawned would import the app anew, without the lab's handler: use fork"
            )
        if self.states("--hostname", "-n") and choice.workers > 1:
            raise UnusableApp("two workers cannot have one name: leave --hostname out, or state --workers 1")

    def check_queue(self, queue: str) -> None:
        """Raise UnusableApp if no worker would take messages of this queue, that of the task."""
        served, excluded = (list(self._parsed.get(name) or []) for name in ("queues", "exclude_queues"))
        if (served and queue not in served) or queue in excluded:
            raise UnusableApp("no worker takes messages of the queue %r of the task: %s" % (queue, self._said()))

    def states(self, *names: str) -> bool:
        """Whether the user states an option, by one of its names."""
        return any(each.partition("=")[0] in names or each[:2] in names for each in self._given)

    def unless_stated(self, name: str, short: str, value: str) -> Sequence[str]:
        """An option of the lab's own, where the user states none."""
        return [] if self.states(name, short) else [name, value]

    def _raw(self, name: str, short: str) -> Optional[str]:
        given = list(self._given)
        for place, each in enumerate(given):
            if each in (name, short):
                return given[place + 1]
            if each.startswith((name + "=", short)):
                return each.partition("=")[2] or each[2:]
        return None

    def _said(self) -> str:
        return "--worker " + repr(" ".join(self._given))


def _parsed(given: Sequence[str], app: Any) -> Dict[str, Any]:
    context = CLIContext(app=app, no_color=True, workdir=None)
    try:
        parsed = worker.make_context("celery worker", [*given], obj=context)
    except click.ClickException as error:
        raise UnusableApp("celery worker does not take these arguments: " + error.format_message()) from error
    except click.exceptions.Exit as error:
        raise UnusableApp("with these arguments celery worker starts no worker") from error
    except ImportError as error:
        raise UnusableApp("the pool that --worker names cannot be loaded: " + str(error)) from error
    if parsed.args:
        raise UnusableApp("celery worker does not take these arguments: " + " ".join(parsed.args))
    return dict(parsed.params)
