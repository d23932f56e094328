"""The edge to a plug-in, which is somebody else's code: whatever it raises becomes an answer that the lab can deal with."""

from collections.abc import Iterator
from contextlib import contextmanager

from chaos.errors import ChaosError
from scenarios.errors import RunFailed, ScenarioError
from scenarios.http_answers import DETAIL_CHARS
from scenarios.system import Client, Operation, Outcome


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


class GuardedClient:
    """A plug-in's client whose every operation ends in an outcome: one that raised may have happened."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def invoke(self, operation: Operation) -> Outcome:
        """See scenarios.system.Client."""
        try:
            return self._client.invoke(operation)
        except Exception as error:  # noqa: BLE001 — the edge: what the client does not map is unknown, never a failure
            return Outcome("info", detail=f"the client raised {error!r}"[:DETAIL_CHARS])

    def close(self) -> None:
        """See scenarios.system.Client."""
        with plugin_call("a client", "close()"):
            self._client.close()
