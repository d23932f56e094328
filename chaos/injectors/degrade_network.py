"""A degraded network between one process and one service, by Toxiproxy; proven on connections of the lab through the same proxy."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

import psutil

from chaos.deadline import Deadline, wait
from chaos.errors import FaultDidNotBite, FaultDidNotHeal
from chaos.faults import DegradeNetwork
from chaos.injection import Evidence
from chaos.injectors.injector import Capability, InjectionContext, Injector, process_of
from chaos.network.proxies import NetworkProxy
from chaos.process import Process
from chaos.services.declared.server import DeclaredServer
from chaos.services.exchange import Exchange
from chaos.services.registry import open_exchange
from chaos.services.toxiproxy.client import Toxic

SILENCE_S = 0.7
"""How long a connection has to be silent to prove a black hole."""
PROBE_TIMEOUT_S = 2.0
"""How long a probe waits, in addition to the time that the fault itself adds."""
AT_LEAST = 0.9
"""Minimum share of the expected delay or transfer time that has to be observed."""
SLOW_REPLY_S = 0.6
"""How long the reply of a probe of the bandwidth should take."""
USE_TIMEOUT_S = 5.0
"""The process has to be observed using the degraded proxy within this time."""
LOOK_S = 0.05

BOTH = ("upstream", "downstream")
Open = Callable[[float], Exchange]
"""A new connection through the link, with a time-out in seconds."""


class NetworkDegradation:
    """Proven on a connection opened before the fault and on a new one, while the process uses the same proxy."""

    def __init__(self, fault: DegradeNetwork, proxy: NetworkProxy, connect: Open, process: Process, port: int) -> None:
        self.target = proxy.name
        self._process = process
        self._port = port
        self._fault = fault
        self._proxy = proxy
        self._connect = connect
        self._existing: Exchange | None = None
        self._number: int | None = None
        self._ended = False

    def begin(self) -> None:
        """Check that the process uses the proxy and that a round trip through it works; then degrade it."""
        deadline = Deadline.after(USE_TIMEOUT_S)
        if problem := wait(lambda: missing_use(self._process.pid, self._port), deadline, every_s=LOOK_S):
            raise FaultDidNotBite(DegradeNetwork.name, self.target, problem)
        try:
            self._existing = self._connect(self._timeout_s)
            self._existing.ask()
        except OSError as error:
            raise FaultDidNotBite(
                DegradeNetwork.name, self.target, f"the link did not work before the fault: {error}"
            ) from error
        self._number = (
            self._proxy.refuse() if self._fault.kind == "refuse" else self._proxy.degrade(toxics(self._fault))
        )

    def await_bite(self, timeout_s: float) -> Evidence:
        """Observe it on the connection opened before, and on a new one."""
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
        """Remove it; other faults on the same proxy stay active."""
        if not self._ended:
            self._ended = self._existing is not None
            if self._existing is not None:
                self._existing.close()
            if self._number is not None:
                self._proxy.restore(self._number)

    def await_healed(self, timeout_s: float) -> None:
        """Wait for a normal round trip on a new connection."""
        if problem := wait(self._missing_health, Deadline.after(timeout_s)):
            raise FaultDidNotHeal(DegradeNetwork.name, self.target, problem)

    def _missing_health(self) -> str:
        try:
            exchange = self._connect(self._timeout_s)
            took_s = exchange.ask(self._reply_bytes)
            exchange.close()
        except OSError as error:
            return f"no successful round trip ({error})"
        return f"a round trip still takes {took_s:.2f} s" if self._is_slow(took_s) else ""

    @property
    def _reply_bytes(self) -> int:
        return round(self._fault.value * 1000 * SLOW_REPLY_S) if self._fault.kind == "slow" else 0

    def _is_slow(self, took_s: float) -> bool:
        """Whether an answer took as long as the fault makes it take."""
        least_s = {"delay": 2 * self._fault.value / 1000, "slow": SLOW_REPLY_S}.get(self._fault.kind)
        return least_s is not None and took_s >= least_s * AT_LEAST

    @property
    def _timeout_s(self) -> float:
        match self._fault.kind:
            case "delay" | "reset":
                return PROBE_TIMEOUT_S + 2 * self._fault.value / 1000
            case "slow":
                return PROBE_TIMEOUT_S + 4 * SLOW_REPLY_S
            case _:
                return SILENCE_S

    def _seen(self, exchange: Exchange) -> tuple[bool, str]:
        """Whether a request on this connection shows the fault, and what was observed."""
        try:
            took_s = exchange.ask(self._reply_bytes)
        except OSError as error:
            return self._seen_in(error)
        return self._is_slow(took_s), f"answered after {took_s:.2f} s"

    def _seen_in(self, error: OSError) -> tuple[bool, str]:
        silent = isinstance(error, TimeoutError)
        seen = silent if self._fault.kind == "blackhole" else not silent and self._fault.kind in ("reset", "refuse")
        return seen, str(error)


def missing_use(pid: int, port: int) -> str:
    """Why the process does not use this port: neither it nor a descendant is connected to it; "" if one is."""
    with suppress(psutil.Error):  # it may end meanwhile
        root = psutil.Process(pid)
        for process in (root, *root.children(recursive=True)):
            with suppress(psutil.Error):
                if any(one.raddr and one.raddr.port == port for one in process.net_connections("tcp")):
                    return ""
    return (
        f"process {pid} has no connection through this link: does it use the addresses of `services.as_seen_by(NAME)`?"
    )


def toxics(fault: DegradeNetwork) -> tuple[Toxic, ...]:
    """The Toxiproxy toxics for this fault."""
    value = round(fault.value)
    kinds: Mapping[str, tuple[Toxic, ...]] = {
        "delay": tuple(Toxic("latency", stream, {"latency": value}) for stream in BOTH),
        "blackhole": tuple(Toxic("timeout", stream, {"timeout": 0}) for stream in BOTH),
        "reset": (Toxic("reset_peer", "downstream", {"timeout": value}),),
        "slow": tuple(Toxic("bandwidth", stream, {"rate": value}) for stream in BOTH),
        "refuse": (),
    }
    return kinds[fault.kind]


def inject(fault: DegradeNetwork, context: InjectionContext) -> NetworkDegradation:
    """The injection of one such fault."""
    process = process_of(fault.process, context.processes)
    proxy = context.links.proxied(process.spec.name, fault.service)
    address = context.services.as_seen_by(process.spec.name).address_of(fault.service)
    service = context.own_services.get(fault.service)
    connect = service.open_exchange if isinstance(service, DeclaredServer) else open_exchange
    return NetworkDegradation(fault, proxy, partial(connect, address), process, address.port)


def refusal(fault: DegradeNetwork, capabilities: frozenset[Capability]) -> str:
    """A Redis watched by Sentinels is not linked."""
    bypassed = fault.service == "redis" and Capability.SENTINELS in capabilities
    return "its clients ask Sentinels for the address of Redis, which bypasses any proxy" if bypassed else ""


INJECTOR = Injector(inject, needs=frozenset({Capability.LINKS}), programs=("toxiproxy-server",), refusal=refusal)
