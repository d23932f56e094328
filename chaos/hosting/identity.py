"""The identity of a lab, as a label for things that outlive its processes, such as containers; and whether that lab is still alive."""

import os
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Self

PROC = Path("/proc")
START_TIME = 19
"""Index of the start time (clock ticks since boot) in the fields of /proc/PID/stat that follow the program's name."""


@dataclass(frozen=True, slots=True)
class LabIdentity:
    """A process of one boot of one machine; no later process has the same identity.
    `namespace`: of process ids. A lab in a container has its own, and may use the same Docker daemon as this one.
    """

    boot: str
    namespace: str
    pid: str
    started: str

    @classmethod
    def own(cls) -> Self:
        """The identity of the calling process."""
        namespace, boot = _here()
        pid = str(os.getpid())
        return cls(boot, namespace, pid, _started(pid))

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """The identity in a text that `str` has made; None for any other text."""
        parts = text.split()
        return cls(*parts) if len(parts) == len(cls.__slots__) else None

    def __str__(self) -> str:
        return " ".join(astuple(self))

    def is_dead(self) -> bool:
        """Whether that process has surely ended; False if it cannot be observed from here."""
        namespace, boot = _here()
        if self.boot != boot:
            return True
        return self.namespace == namespace and self.started != _started(self.pid)


def _here() -> tuple[str, str]:
    namespace = str((PROC / "self/ns/pid").readlink())
    return namespace, (PROC / "sys/kernel/random/boot_id").read_text().strip()


def _started(pid: str) -> str:
    """When the process started; "" if there is none, or only a zombie."""
    try:
        fields = (PROC / pid / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[START_TIME]
