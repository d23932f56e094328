"""The lab's own failures: each makes the run `unknown`, none is ever a verdict.

ChaosError
├── ServiceUnavailable    a service binary is missing, a service did not start, or died at start
├── ProcessFailed         a process of the system under test ended when it should run
├── WardenLost            the lab's own warden process ended, and with it all that it held
├── FaultDidNotBite       the fault was asked for, and nothing shows that it took effect
└── FaultDidNotHeal       the fault was lifted, and its target is still not healthy
"""

from pathlib import Path


class ChaosError(Exception):
    """The lab could not do its part; the message says which part, why, and what to do."""


class ServiceUnavailable(ChaosError):
    """A service is missing or did not come up; carries its last log lines."""

    def __init__(self, service: str, why: str, log_tail: str = "") -> None:
        super().__init__(f"{service}: {why}" + (f"\nits last words:\n{log_tail}" if log_tail else ""))
        self.service = service
        self.log_tail = log_tail


class ProcessFailed(ChaosError):
    """A process ended on its own; carries how, and its last log lines."""

    def __init__(self, process: str, why: str, log: Path | None = None, log_tail: str = "") -> None:
        where = f" (log: {log})" if log else ""
        super().__init__(f"process {process}: {why}{where}" + (f"\nits last words:\n{log_tail}" if log_tail else ""))
        self.process = process
        self.log_tail = log_tail


class WardenLost(ChaosError):
    """The process that holds all services and systems under test is gone; nothing of the lab runs any more."""

    def __init__(self) -> None:
        super().__init__(
            "the lab's warden process ended, and with it every service and process of this lab: was it killed?"
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
