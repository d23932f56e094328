"""The messages between the lab and a client process: JSON lines on its standard input and output (docs/protocol.md)."""

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from scenarios.contract.system import Operation
from scenarios.record.run_facts import Setting

VERSION = 1
ANSWER_BYTES_MAX = 32 << 20
"""Maximum length of one answer; an account of a million tasks fits."""

DEADLINES_S: Mapping[str, float] = MappingProxyType(
    {
        "describe": 30.0,
        "processes": 30.0,
        "embedded_processes": 30.0,
        "api_url": 30.0,
        "client.open": 30.0,
        "client.close": 10.0,
        "invoke": 30.0,
        "account": 60.0,
        "trail": 60.0,
        "dump": 60.0,
        "scenario": 30.0,
    }
)
"""Seconds for the answer to each request, counted from its sending."""


class PluginRequest(msgspec.Struct, frozen=True, kw_only=True, tag_field="do"):
    """A line from the lab. `id` is unique in the process; the answer has the same."""

    id: int = 0


class Describe(PluginRequest, frozen=True, kw_only=True, tag="describe"):
    """The first request: states the lab's version of the protocol, and asks for the description of the system."""

    protocol: int = VERSION
    answer_bytes_max: int = ANSWER_BYTES_MAX


class Processes(PluginRequest, frozen=True, kw_only=True, tag="processes"):
    """The processes to start; `environment`: the variables of the lab for those that run handlers."""

    services: Mapping[str, Any]
    environment: Mapping[str, str]


class EmbeddedProcesses(PluginRequest, frozen=True, kw_only=True, tag="embedded_processes"):
    """As `Processes`, without any server."""

    services: Mapping[str, Any]
    environment: Mapping[str, str]


class ApiUrl(PluginRequest, frozen=True, kw_only=True, tag="api_url"):
    """The URL at which the system accepts submissions."""

    services: Mapping[str, Any]


class OpenClient(PluginRequest, frozen=True, kw_only=True, tag="client.open"):
    """Make a client with this name, chosen by the lab."""

    client: str
    services: Mapping[str, Any]


class CloseClient(PluginRequest, frozen=True, kw_only=True, tag="client.close"):
    """Close a client."""

    client: str


class Invoke(PluginRequest, frozen=True, kw_only=True, tag="invoke"):
    """One operation of a client; the lab sends the client's next one after the answer."""

    client: str
    operation: Mapping[str, Any]


class ReadAccount(PluginRequest, frozen=True, kw_only=True, tag="account"):
    """Every task by its present state."""

    services: Mapping[str, Any]


class ReadTrail(PluginRequest, frozen=True, kw_only=True, tag="trail"):
    """The audit trail."""

    services: Mapping[str, Any]


class Dump(PluginRequest, frozen=True, kw_only=True, tag="dump"):
    """The present place of each task that has not ended."""

    services: Mapping[str, Any]


class FindScenario(PluginRequest, frozen=True, kw_only=True, tag="scenario"):
    """A scenario of the user, by `package.module:attribute`."""

    name: str


ErrorKind = Literal["raised", "exited", "wrong_type", "too_large", "unsupported", "not_found"]


class PluginFailure(msgspec.Struct, frozen=True):
    """Why a request failed. `kind`: the class of the error; `message`: at most one sentence, for people."""

    kind: ErrorKind
    message: str


class PluginAnswer(msgspec.Struct, frozen=True):
    """A line from the client process: `ok` or `error`, to the request of that `id`."""

    id: int
    ok: msgspec.Raw = msgspec.Raw(b"{}")
    error: PluginFailure | None = None


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """The description of a system, not yet checked (statements.py).

    `powers`: the optional methods that it has. `capabilities`: what it can do, None where it does not say.
    `versions`: of its own parts, as it says them. `facts`: of an adapter, the settings of the app in effect.
    `documented`: by promise, what its documentation says of not keeping it; `documented_deaths`: if a worker is killed.
    """

    protocol: int
    name: str
    summary: str = ""
    claims: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    pace: Mapping[str, Any] | None = None
    policy: Mapping[str, Any] | None = None
    reservations: Mapping[str, tuple[str, ...]] | None = None
    powers: tuple[str, ...] = ()
    capabilities: tuple[str, ...] | None = None
    versions: Mapping[str, str] = {}
    facts: tuple[Setting, ...] = ()
    documented: Mapping[str, str] = {}
    documented_deaths: Mapping[str, str] = {}


class StatedProcess(msgspec.Struct, frozen=True, kw_only=True):
    """A process to start, in the form of the protocol; fields as in chaos.environment.ProcessSpec."""

    name: str
    role: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = {}
    cwd: str | None = None
    runs_once: bool = False
    stop_signal: str = "SIGTERM"
    also: tuple[str, ...] = ()


class StatedProcesses(msgspec.Struct, frozen=True):
    """The answer to `processes` and `embedded_processes`."""

    processes: tuple[StatedProcess, ...]


class StatedUrl(msgspec.Struct, frozen=True):
    """The answer to `api_url`."""

    url: str


class Trail(msgspec.Struct, frozen=True):
    """The answer to `trail`: events as in docs/history.md, `t_ns` by the wall clock."""

    events: tuple[dict[str, Any], ...]


class Places(msgspec.Struct, frozen=True):
    """The answer to `dump`: the present place of each task."""

    places: Mapping[str, str]


class StatedScenario(msgspec.Struct, frozen=True):
    """The answer to `scenario`: objects as mappings, the class of each under "is"."""

    scenario: dict[str, Any]


OPERATIONS: Mapping[str, str] = MappingProxyType(
    {
        "Submit": "submit",
        "ReadStatus": "status",
        "Cancel": "cancel",
        "Pause": "pause",
        "Resume": "resume",
        "Redrive": "redrive",
        "SetSchedule": "schedule",
    }
)
"""The name of each operation in a message, by its class in scenarios.contract.system."""


def operation_fields(operation: Operation) -> dict[str, Any]:
    """An operation in the form of the protocol: `type`, and its fields."""
    values = {field.name: getattr(operation, field.name) for field in fields(operation)}
    return {"type": OPERATIONS[type(operation).__name__], **values}
