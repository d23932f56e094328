"""Faults of the network between one process and one service: Toxiproxy's toxics, named and proven by what the process sees."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import psutil

from chaos.deadline import Deadline, wait
from chaos.environment import Process
from chaos.errors import ChaosError, FaultDidNotBite, FaultDidNotHeal
from chaos.faults import DegradeNetwork
from chaos.injection import Evidence
from chaos.services.exchange import Exchange
from chaos.services.toxiproxy.client import Toxic, Toxiproxy

SILENCE_S = 0.7
"""How long nothing has to come for a connection to count as a black hole's."""
PATIENCE_S = 2.0
"""What a probe waits beyond what the fault itself adds."""
AT_LEAST = 0.9
"""The part of the stated delay, or of the time that the stated bandwidth allows for, that has to be seen."""
SLOW_REPLY_S = 0.6
"""How long the reply of a probe of the bandwidth should take."""
USE_TIMEOUT_S = 5.0
"""Within which the process has to be seen to go the way that is degraded."""
LOOK_S = 0.05

BOTH = ("upstream", "downstream")
Open = Callable[[float], Exchange]
"""A new connection through the link, with a time-out in seconds."""


@dataclass(frozen=True, slots=True)
class NetworkProxy:
    """A proxy between a process and a service, and who drives it."""

    api: Toxiproxy
    name: str

    def degrade(self, fault: DegradeNetwork) -> None:
        """Do it, to open connections and new ones."""
        if fault.kind == "refuse":
            self.api.disable(self.name)
        else:
            self.api.add(self.name, toxics(fault))

    def restore(self) -> None:
        """Undo whatever was done. Idempotent."""
        self.api.clear(self.name)
        self.api.enable(self.name)


class NetworkDegradation:
    """A degraded network, seen on a connection that was open before it and on a new one; and the process was seen to go that way."""

    def __init__(self, fault: DegradeNetwork, proxy: NetworkProxy, connect: Open, process: Process, port: int) -> None:
        check(fault)
        self.target = proxy.name
        self._process = process
        self._port = port
        self._fault = fault
        self._proxy = proxy
        self._connect = connect
        self._existing: Exchange | None = None
        self._begun = False
        self._ended = False

    def begin(self) -> None:
        """See that the process goes that way, and that the way is clean; then degrade."""
        self._begun = True
        deadline = Deadline.after(USE_TIMEOUT_S)
        if problem := wait(lambda: missing_use(self._process.pid, self._port), deadline, every_s=LOOK_S):
            raise FaultDidNotBite(DegradeNetwork.name, self.target, problem)
        try:
            self._existing = self._connect(self._timeout_s)
            self._existing.ask()
        except OSError as error:
            raise FaultDidNotBite(DegradeNetwork.name, self.target, f"the way was not clean before: {error}") from error
        self._proxy.degrade(self._fault)

    def await_bite(self, timeout_s: float) -> Evidence:
        """See it on the connection opened before, and on a new one."""
        assert self._existing is not None, "a fault bites after it has begun"
        before = self._seen(self._existing)
        try:
            new = self._connect(self._timeout_s)
        except OSError as error:
            after = self._seen_in(error)
        else:
            after = self._seen(new)
            new.close()
        for which, (bitten, words) in (("an open", before), ("a new", after)):
            if not bitten:
                raise FaultDidNotBite(DegradeNetwork.name, self.target, f"on {which} connection: {words}")
        return Evidence(f"{self._fault.kind} seen on an open connection ({before[1]}) and on a new one ({after[1]})")

    def end(self) -> None:
        """Take it off."""
        if self._begun and not self._ended:
            self._ended = True
            if self._existing is not None:
                self._existing.close()
            self._proxy.restore()

    def await_healed(self, timeout_s: float) -> None:
        """See a clean round trip on a new connection."""
        if problem := wait(self._missing_health, Deadline.after(timeout_s)):
            raise FaultDidNotHeal(DegradeNetwork.name, self.target, problem)

    def _missing_health(self) -> str:
        try:
            exchange = self._connect(self._timeout_s)
            took_s = exchange.ask(self._reply_bytes)
            exchange.close()
        except OSError as error:
            return f"no clean round trip ({error})"
        return f"a round trip still takes {took_s:.2f} s" if self._is_slow(took_s) else ""

    @property
    def _reply_bytes(self) -> int:
        return round(self._fault.value * 1024 * SLOW_REPLY_S) if self._fault.kind == "slow" else 0

    def _is_slow(self, took_s: float) -> bool:
        """Whether an answer took as long as the fault makes it take."""
        least_s = {"delay": 2 * self._fault.value / 1000, "slow": SLOW_REPLY_S}.get(self._fault.kind)
        return least_s is not None and took_s >= least_s * AT_LEAST

    @property
    def _timeout_s(self) -> float:
        match self._fault.kind:
            case "delay" | "reset":
                return PATIENCE_S + 2 * self._fault.value / 1000
            case "slow":
                return PATIENCE_S + 4 * SLOW_REPLY_S
            case _:
                return SILENCE_S

    def _seen(self, exchange: Exchange) -> tuple[bool, str]:
        """Whether a question on this connection shows the fault, and what it shows."""
        try:
            took_s = exchange.ask(self._reply_bytes)
        except OSError as error:
            return self._seen_in(error)
        return self._is_slow(took_s), f"answered after {took_s:.2f} s"

    def _seen_in(self, error: OSError) -> tuple[bool, str]:
        silent = isinstance(error, TimeoutError)
        return silent if self._fault.kind == "blackhole" else not silent and self._fault.kind in (
            "reset",
            "refuse",
        ), str(error)


def missing_use(pid: int, port: int) -> str:
    """What is missing until the process, or one below it, holds a connection to this port; nothing: it does."""
    with suppress(psutil.Error):  # it may end while it is looked at
        root = psutil.Process(pid)
        for process in (root, *root.children(recursive=True)):
            with suppress(psutil.Error):
                if any(one.raddr and one.raddr.port == port for one in process.net_connections("tcp")):
                    return ""
    return (
        f"process {pid} has no connection that goes this way: is it given the addresses of `services.as_seen_by(NAME)`?"
    )


def toxics(fault: DegradeNetwork) -> tuple[Toxic, ...]:
    """What Toxiproxy calls it."""
    value = round(fault.value)
    kinds: Mapping[str, tuple[Toxic, ...]] = {
        "delay": tuple(Toxic("latency", stream, {"latency": value}) for stream in BOTH),
        "blackhole": tuple(Toxic("timeout", stream, {"timeout": 0}) for stream in BOTH),
        "reset": (Toxic("reset_peer", "downstream", {"timeout": value}),),
        "slow": tuple(Toxic("bandwidth", stream, {"rate": value}) for stream in BOTH),
        "refuse": (),
    }
    return kinds[fault.kind]


def check(fault: DegradeNetwork) -> None:
    """Refuse what the lab cannot do or could not prove.

    Raises:
        ChaosError: an unknown kind, or a value that would not be seen.
    """
    kinds = ("delay", "blackhole", "reset", "slow", "refuse")
    if fault.kind not in kinds:
        raise ChaosError(f"no network fault is called {fault.kind!r}; there are {', '.join(kinds)}")
    if fault.value < 0 or (fault.kind in ("delay", "slow") and round(fault.value) < 1):
        raise ChaosError(f"a network fault of kind {fault.kind!r} needs a value of 1 or more, not {fault.value:g}")
