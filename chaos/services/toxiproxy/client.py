"""A Toxiproxy server, controlled through toxiproxy-python: the few calls that the lab needs, each with a time-out and a check.

toxiproxy-python keeps the server's address in class attributes, treats HTTP 500 as success and has no time-outs. So only its
lowest class is used, `APIConsumer`: one subclass for each server (which gives its class methods separate addresses, so that two
servers in one process are possible), a time-out for every request, and a check of every status. Its `populate` (which
returns nothing the second time) and `down` (which enables a proxy that was disabled before) are not used.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import requests
from toxiproxy.api import APIConsumer
from toxiproxy.exceptions import InvalidToxic, NotFound, ProxyExists

from chaos.errors import ServiceUnavailable

REQUEST_TIMEOUT_S = 5.0
OK_BELOW = 300


@dataclass(frozen=True, slots=True)
class Toxic:
    """A fault on the connections of a proxy in one direction; `stream`: `upstream` (towards the server) or `downstream`."""

    type: str
    stream: str
    attributes: Mapping[str, int]

    @property
    def name(self) -> str:
        """Unique in its proxy, unless a suffix is added."""
        return f"{self.type}_{self.stream}"


class Toxiproxy:
    """The proxies of one server. Thread-safe."""

    def __init__(self, host: str, port: int) -> None:
        self._api: Any = type("Api", (APIConsumer,), {"host": host, "port": port})
        # An HTTP_PROXY in the environment must not apply to the lab's own server.
        self._options: dict[str, Any] = {"timeout": REQUEST_TIMEOUT_S, "proxies": {"no_proxy": host}}

    def version(self) -> str:
        """As the server reports it: as JSON from 2.5 on, before that as text."""
        text: str = self._checked(self._api.get, "/version").text
        return str(json.loads(text)["version"]) if text.startswith("{") else text

    def create(self, name: str, *, listen: tuple[str, int], upstream: tuple[str, int]) -> None:
        """Create a proxy, listening when this returns; replaces one of that name."""
        self.delete(name)
        ends = {"listen": f"{listen[0]}:{listen[1]}", "upstream": f"{upstream[0]}:{upstream[1]}"}
        self._checked(self._api.post, "/proxies", json={"name": name, "enabled": True, **ends})

    def delete(self, name: str) -> None:
        """Remove a proxy and its connections. Idempotent."""
        if name in self._checked(self._api.get, "/proxies").json():
            self._checked(self._api.delete, _path(name))

    def enable(self, name: str) -> None:
        """Let the proxy listen."""
        self._checked(self._api.post, _path(name), json={"enabled": True})

    def disable(self, name: str) -> None:
        """Stop the proxy from listening, and close its connections."""
        self._checked(self._api.post, _path(name), json={"enabled": False})

    def add(self, name: str, toxics: Sequence[Toxic], *, suffix: str = "") -> tuple[str, ...]:
        """Add toxics to a proxy, except those whose names exist; returns their names, with this suffix."""
        there = self.toxics(name)
        for toxic in toxics:
            if toxic.name + suffix not in there:
                body = {
                    "name": toxic.name + suffix,
                    "type": toxic.type,
                    "stream": toxic.stream,
                    "attributes": dict(toxic.attributes),
                }
                self._checked(self._api.post, f"{_path(name)}/toxics", json=body)
        return tuple(toxic.name + suffix for toxic in toxics)

    def remove(self, name: str, toxics: Sequence[str]) -> None:
        """Remove the toxics of these names from a proxy. Idempotent."""
        there = self.toxics(name) if toxics else ()
        for toxic in toxics:
            if toxic in there:
                self._checked(self._api.delete, f"{_path(name)}/toxics/{toxic}")

    def toxics(self, name: str) -> tuple[str, ...]:
        """The names of the toxics on a proxy."""
        return tuple(toxic["name"] for toxic in self._checked(self._api.get, f"{_path(name)}/toxics").json())

    def _checked(self, method: Any, url: str, **body: Any) -> requests.Response:
        try:
            response: requests.Response = method(url, **body, **self._options)
        except (InvalidToxic, NotFound, ProxyExists) as error:
            raise ServiceUnavailable("toxiproxy", f"it refused {url}: {error}") from error
        except requests.RequestException as error:
            raise ServiceUnavailable("toxiproxy", f"no answer to {url}: {error}") from error
        if response.status_code >= OK_BELOW:
            raise ServiceUnavailable("toxiproxy", f"it answered {response.status_code} to {url}: {response.text[:200]}")
        return response


def _path(name: str) -> str:
    return f"/proxies/{quote(name, safe='')}"
