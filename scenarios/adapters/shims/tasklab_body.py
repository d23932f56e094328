"""A task's own code, left in place (--keep-body): with which arguments clients send it, and what the lab records of its attempts.

Standard library and the other shims only, from Python 3.8 on.
"""

import asyncio
import inspect
import json
from typing import Any, Callable, Dict, List, Mapping, Optional, Set, Tuple

import tasklab_adapter
from tasklab_adapter import Choice, UnusableApp

OWN_BODY = "own_body"
"""The capability of a system whose tasks run their own code: the lab plans nothing that its handler would have to do."""
RETURNED = "returned"
"""The effect of an attempt whose code told none: that it returned."""


def never(error: BaseException) -> bool:
    """For a library that runs a task again whatever it raised."""
    return False


class OwnBody:
    """The code of one task, and the arguments that `--arguments` states: a JSON list or object, or `package.module:function`.

    Such a function is called in the client process with the lab's name of each task, and returns a list or a mapping.
    """

    def __init__(self, choice: Choice, body: Callable[..., Any], *, before: Tuple[Any, ...] = ()) -> None:
        """`before`: positional arguments that the library adds.

        Raises:
            UnusableApp: the body does not take the arguments, or they cannot be sent as JSON.
        """
        self._body = body
        self._stated = _stated(choice.arguments)
        called = tasklab_adapter.called_unconnected
        positional, named = called(choice.arguments or choice.place, lambda: self._arguments("warm-up"))
        try:
            json.dumps([positional, named])
            inspect.signature(body).bind(*before, *positional, **named)
        except (TypeError, ValueError) as error:
            how = "state its arguments with --arguments, such as '{\"order\": 17}' or package.module:function"
            raise UnusableApp("the task cannot be called as asked: " + str(error) + "; " + how) from error

    def payload(self, planned: Mapping[str, Any]) -> Dict[str, Any]:
        """The lab's payload for a message: the name of the task, and the arguments of its code."""
        positional, named = self._arguments(str(planned["task"]))
        return {"task": planned["task"], "args": positional, "kwargs": named}

    def run(
        self,
        payload: Mapping[str, Any],
        *before: Any,
        attempt: int,
        is_final: Callable[[BaseException], bool] = never,
    ) -> Any:
        """Run the code, and record the attempt. `is_final`: whether the library runs a task no more that raised this."""
        one = OwnAttempt(str(payload["task"]), attempt, is_final)
        one.begin()
        with one:
            returned = self._body(*before, *payload["args"], **payload["kwargs"])
            one.has_returned()
        return returned

    async def run_async(self, payload: Mapping[str, Any], *before: Any, attempt: int) -> Any:
        """The same for a coroutine function, without blocking its event loop at its begin and end."""
        one, loop = OwnAttempt(str(payload["task"]), attempt), asyncio.get_running_loop()
        await loop.run_in_executor(None, one.begin)
        with one:
            returned = await self._body(*before, *payload["args"], **payload["kwargs"])
            await loop.run_in_executor(None, one.has_returned)
        return returned

    def _arguments(self, task: str) -> Tuple[List[Any], Dict[str, Any]]:
        stated = self._stated(task) if callable(self._stated) else self._stated
        if isinstance(stated, Mapping):
            return [], dict(stated)
        if isinstance(stated, (list, tuple)):
            return list(stated), {}
        raise UnusableApp("--arguments gives " + tasklab_adapter.a(stated) + ": a list or an object is needed")


class OwnAttempt:
    """One attempt of a task's own code, in the history of the run. Within its context the code can tell effects."""

    def __init__(self, task: str, number: int, is_final: Callable[[BaseException], bool] = never) -> None:
        import tasklab_probe  # on the path of worker processes only

        self._probe, self._telling = tasklab_probe.probe(), tasklab_probe.telling
        self._task, self._number = task, number
        self._is_final = is_final
        self._tells = False

    def begin(self) -> None:
        """Record the start; the lab may hold the process here."""
        self._probe.record("attempt.start", task=self._task, attempt=self._number)
        self._probe.outside.arrive("attempt", self._task)

    def __enter__(self) -> "OwnAttempt":
        self._told_before = self._telling.set(self.tell)
        return self

    def tell(self, *, step: Any, key: Optional[str]) -> bool:
        """An effect, told by the code (`tasklab_probe.effect`)."""
        self._tells = True
        return bool(self._probe.outside.effect(self._task, step=step, attempt=self._number, key=key))

    def has_returned(self) -> None:
        """The code has returned; if it told no effect, this is its effect."""
        if not self._tells:
            self.tell(step=RETURNED, key=None)

    def __exit__(self, kind: Any, error: Optional[BaseException], trace: Any) -> None:
        self._telling.reset(self._told_before)
        named = {"task": self._task, "attempt": self._number}
        if error is None:
            self._probe.record("attempt.ok", **named)
            return
        how = "permanent" if self._is_final(error) else "unknown"
        self._probe.record("attempt.fail", **named, error=how, detail=type(error).__name__)  # its text may hold secrets


def sent(own: Optional[OwnBody], planned: Mapping[str, Any]) -> Dict[str, Any]:
    """What a client sends: the payload of the lab's handler, or that of the task's own code."""
    return dict(planned) if own is None else own.payload(planned)


def capabilities(own: Optional[OwnBody], keeps_results: bool) -> Set[str]:
    """What tasks can do by their code: hand back results that the lab knows, or what they do in production."""
    return {OWN_BODY} if own is not None else {"result"} if keeps_results else set()


def _stated(arguments: Optional[str]) -> Any:
    if arguments is None:
        return []
    if arguments[:1] in "[{":
        try:
            return json.loads(arguments)
        except ValueError as error:
            raise UnusableApp("--arguments " + arguments + " is no JSON: " + str(error)) from error
    return tasklab_adapter.found(arguments)
