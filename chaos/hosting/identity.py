"""Which lab something belongs to that does not end with the lab's processes, and whether that lab still lives."""

import os
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Self

PROC = Path("/proc")
START_TIME = 19
"""Of the fields of /proc/PID/stat that follow the program's name, the one that says when it started (clock ticks since boot)."""


@dataclass(frozen=True, slots=True)
class LabIdentity:
    """A process of one boot of one machine, so that no later process can be taken for it.

    `namespace`: of process ids. A lab in a container counts them anew, and may use the same Docker daemon as we do.
    """

    boot: str
    namespace: str
    pid: str
    started: str

    @classmethod
    def own(cls) -> Self:
        """Of the process that asks."""
        namespace, boot = _here()
        pid = str(os.getpid())
        return cls(boot, namespace, pid, _started(pid))

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """What `str` has written; None for anything else."""
        parts = text.split()
        return cls(*parts) if len(parts) == len(cls.__slots__) else None

    def __str__(self) -> str:
        return " ".join(astuple(self))

    def is_dead(self) -> bool:
        """Whether that process has surely ended: False where it cannot be seen from here."""
        namespace, boot = _here()
        if self.boot != boot:
            return True
        return self.namespace == namespace and self.started != _started(self.pid)


def _here() -> tuple[str, str]:
    namespace = str((PROC / "self/ns/pid").readlink())
    return namespace, (PROC / "sys/kernel/random/boot_id").read_text().strip()


def _started(pid: str) -> str:
    """When the process started; nothing ("") if there is none, or only a zombie."""
    try:
        fields = (PROC / pid / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[START_TIME]
