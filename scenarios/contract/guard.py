"""The boundary to a plug-in, which is foreign code: checks its answers, and turns its exceptions into errors or outcomes of the lab."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, get_args

from chaos.environment import ProcessSpec
from chaos.errors import ChaosError
from scenarios.contract.http_answers import DETAIL_CHARS
from scenarios.contract.system import Client, Operation, Outcome, OutcomeKind
from scenarios.errors import RunFailed, ScenarioError

T = TypeVar("T")


@contextmanager
def plugin_call(system: str, what: str) -> Iterator[None]:
    """Context of one call of a plug-in.

    Raises:
        RunFailed: it raised; the message names the call and the exception.
    """
    try:
        yield
    except (ChaosError, ScenarioError):
        raise
    except (Exception, SystemExit) as error:  # a SystemExit would end the lab with the plug-in's exit code
        raise RunFailed(f"the plug-in of {system} failed in {what}: {error!r}") from error


def answered(system: str, what: str, answer: object, expected: type[T]) -> T:
    """The answer of a plug-in, checked to be of the type in the protocol.

    Raises:
        RunFailed: it is of another type; often because of a missing `return`.
    """
    if not isinstance(answer, expected):
        raise RunFailed(f"the plug-in of {system}: {what} returned {answer!r}, not {expected.__name__}")
    return answer


def answered_processes(system: str, what: str, answer: object) -> Sequence[ProcessSpec]:
    """The processes in a plug-in's answer; raises as `answered` does."""
    specs = answered(system, what, answer, Sequence)  # type: ignore[type-abstract]
    return [answered(system, f"an item of {what}", spec, ProcessSpec) for spec in specs]


class GuardedClient:
    """Wraps a plug-in's client: an exception becomes the outcome `info`, because the operation may have happened."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def invoke(self, operation: Operation) -> Outcome:
        """Carry out the operation and return its outcome.

        Raises:
            RunFailed: it returned something else than an outcome, asked Python to exit, or its client process is gone.
        """
        what = f"invoke({type(operation).__name__})"
        try:
            answer = self._client.invoke(operation)
        except SystemExit as error:
            raise RunFailed(f"a client failed in {what}: {error!r}") from error
        except ScenarioError:
            raise
        except Exception as error:  # noqa: BLE001 — the boundary: an exception of a client means unknown, not failed
            return Outcome("info", detail=f"the client raised {error!r}"[:DETAIL_CHARS])
        return checked_outcome(what, answer)

    def close(self) -> None:
        """Close its connections."""
        with plugin_call("a client", "close()"):
            self._client.close()


_FIELD_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "id": str,
    "state": str,
    "percent": (int, float),
    "detail": str,
    "result": str,
}


def checked_outcome(what: str, answer: object) -> Outcome:
    """The answer of a client, checked to be an outcome with fields of the right types.

    Raises:
        RunFailed: it is not one; the message names the field and its value.
    """
    outcome = answered("a client", what, answer, Outcome)
    if outcome.kind not in get_args(OutcomeKind):
        raise RunFailed(
            f"a client answered Outcome({outcome.kind!r}); the kinds are {', '.join(get_args(OutcomeKind))}"
        )
    for name, expected in _FIELD_TYPES.items():
        value: Any = getattr(outcome, name)
        if value is not None and (not isinstance(value, expected) or isinstance(value, bool)):
            expected_words = "a number" if name == "percent" else "text"
            raise RunFailed(f"a client answered an Outcome whose {name} is {value!r}, not {expected_words}")
    if outcome.percent is not None and not math.isfinite(outcome.percent):
        raise RunFailed(f"a client answered an Outcome whose percent is {outcome.percent!r}, not a finite number")
    return outcome
