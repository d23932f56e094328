"""Failures of the lab: each makes the run `unknown`; none is a verdict.

ChaosError
├── ServiceUnavailable    a service binary is missing, a service did not start, or died at start
├── ProcessFailed         a process of the system under test ended when it should run
├── WardenLost            the lab's warden process ended, and with it every process that it had started
├── FaultDidNotBite       the fault was requested, and nothing shows that it took effect
└── FaultDidNotHeal       the fault was lifted, and its target is still not healthy
"""

from pathlib import Path


class ChaosError(Exception):
    """The lab failed in a step; the message says in which, why, and what to do."""


class ServiceUnavailable(ChaosError):
    """A service is missing or did not start; carries its last log lines."""

    def __init__(self, service: str, why: str, log_tail: str = "") -> None:
        super().__init__(f"{service}: {why}" + (f"\nits last log lines:\n{log_tail}" if log_tail else ""))
        self.service = service
        self.log_tail = log_tail


class ProcessFailed(ChaosError):
    """A process ended on its own; carries how, and its last log lines."""

    def __init__(self, process: str, why: str, log: Path | None = None, log_tail: str = "") -> None:
        where = f" (log: {log})" if log else ""
        super().__init__(
            f"process {process}: {why}{where}" + (f"\nits last log lines:\n{log_tail}" if log_tail else "")
        )
        self.process = process
        self.log_tail = log_tail


class WardenLost(ChaosError):
    """The parent of all services and processes under test has ended, and they ended with it."""

    def __init__(self) -> None:
        super().__init__(
            "the lab's warden process ended, and every service and process of this lab with it; was it killed?"
        )


class FaultDidNotBite(ChaosError):
    """Nothing shows that the fault took effect: the run proves nothing."""

    def __init__(self, fault: str, target: str, why: str) -> None:
        super().__init__(f"fault {fault} on {target} did not bite: {why}")
        self.fault = fault
        self.target = target


class FaultDidNotHeal(ChaosError):
    """The fault was lifted, but its target is not healthy: what follows proves nothing."""

    def __init__(self, fault: str, target: str, why: str) -> None:
        super().__init__(f"fault {fault} on {target} did not heal: {why}")
        self.fault = fault
        self.target = target
