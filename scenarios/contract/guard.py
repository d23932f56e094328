"""The edge to a plug-in, which is somebody else's code: whatever it raises becomes an answer that the lab can deal with."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar, get_args

from chaos.environment import ProcessSpec
from chaos.errors import ChaosError
from scenarios.contract.http_answers import DETAIL_CHARS
from scenarios.contract.system import Client, Operation, Outcome, OutcomeKind
from scenarios.errors import RunFailed, ScenarioError

T = TypeVar("T")


@contextmanager
def plugin_call(system: str, what: str) -> Iterator[None]:
    """Around one call of a plug-in.

    Raises:
        RunFailed: it raised; says which call, and what.
    """
    try:
        yield
    except (ChaosError, ScenarioError):
        raise
    except Exception as error:
        raise RunFailed(f"the plug-in of {system} failed in {what}: {error!r}") from error


def answered(system: str, what: str, answer: object, expected: type[T]) -> T:
    """What a plug-in answered, if that is what the protocol says.

    Raises:
        RunFailed: it is something else; a forgotten `return` is what this finds most.
    """
    if not isinstance(answer, expected):
        raise RunFailed(f"the plug-in of {system}: {what} returned {answer!r}, not {expected.__name__}")
    return answer


def answered_processes(system: str, what: str, answer: object) -> Sequence[ProcessSpec]:
    """The processes that a plug-in answered; raises as `answered` does."""
    specs = answered(system, what, answer, Sequence)  # type: ignore[type-abstract]
    return [answered(system, f"an item of {what}", spec, ProcessSpec) for spec in specs]


class GuardedClient:
    """A plug-in's client whose every operation ends in an outcome: one that raised may have happened."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def invoke(self, operation: Operation) -> Outcome:
        """See scenarios.contract.system.Client.

        Raises:
            RunFailed: it returned something that is no outcome, or its client process is gone.
        """
        try:
            answer = self._client.invoke(operation)
        except ScenarioError:
            raise
        except Exception as error:  # noqa: BLE001 — the edge: what the client does not map is unknown, never a failure
            return Outcome("info", detail=f"the client raised {error!r}"[:DETAIL_CHARS])
        outcome = answered("a client", f"invoke({type(operation).__name__})", answer, Outcome)
        if outcome.kind not in get_args(OutcomeKind):
            raise RunFailed(
                f"a client answered Outcome({outcome.kind!r}); there are {', '.join(get_args(OutcomeKind))}"
            )
        return outcome

    def close(self) -> None:
        """See scenarios.contract.system.Client."""
        with plugin_call("a client", "close()"):
            self._client.close()
