"""How missing programs are installed on this machine: the very commands, decided without running any."""

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from chaos.binaries import Program

TOXIPROXY_MODULE = "github.com/Shopify/toxiproxy/v2/cmd/server@v2.12.0"
GO = "/usr/local/go/bin"
"""Where Go's own installer puts it: often not on PATH."""


@dataclass(frozen=True, slots=True)
class PackageManager:
    """A program that installs packages; `update` brings its list of packages up to date, `install` takes their names."""

    name: str
    update: tuple[str, ...]
    install: tuple[str, ...]
    needs_root: bool


MANAGERS = (
    PackageManager(
        "apt-get",
        ("apt-get", "update", "-q"),
        ("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-q", "-y", "--no-install-recommends"),
        needs_root=True,
    ),
    PackageManager("dnf", (), ("dnf", "install", "-y"), needs_root=True),
    PackageManager("brew", (), ("brew", "install"), needs_root=False),
)
"""The first one that a machine has is used."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What decides about the commands. `found`: by name, where package managers, sudo and go are; `bin_directory`: where a program
    without a package is put."""

    found: dict[str, str]
    is_root: bool
    bin_directory: Path


@dataclass(frozen=True, slots=True)
class Installation:
    """`commands`: argument vectors, to be run in this order. `obstacles`: sentences on what they do not bring, or why they cannot run."""

    commands: tuple[tuple[str, ...], ...]
    obstacles: tuple[str, ...]
    is_runnable: bool

    def lines(self) -> list[str]:
        """The commands as one writes them in a shell."""
        return [shlex.join(argv) for argv in self.commands]


def this_machine() -> Machine:
    """The machine that the lab runs on."""
    names = [*(manager.name for manager in MANAGERS), "sudo", "go"]
    path = os.pathsep.join([os.environ.get("PATH", ""), GO])
    found = {name: place for name in names if (place := shutil.which(name, path=path))}
    return Machine(found, os.geteuid() == 0, Path(sys.executable).parent)


def installation(missing: Sequence[Program], machine: Machine) -> Installation:
    """What installs these programs: packages of the machine's package manager, and Toxiproxy by Go where no package has it."""
    manager = next((manager for manager in MANAGERS if manager.name in machine.found), None)
    of_manager = manager.name if manager else ""
    packages = list(dict.fromkeys(one.packages[of_manager] for one in missing if of_manager in one.packages))
    others = [one for one in missing if of_manager not in one.packages]
    commands, obstacles, is_runnable = _by_packages(manager, packages, machine)
    for program in others:
        if program.name == "toxiproxy-server" and "go" in machine.found:
            commands += _by_go(machine)
        else:
            obstacles.append(_by_hand(program, of_manager))
    return Installation(tuple(commands), tuple(obstacles), is_runnable and bool(commands))


def _by_packages(
    manager: PackageManager | None, packages: Sequence[str], machine: Machine
) -> tuple[list[tuple[str, ...]], list[str], bool]:
    if manager is None or not packages:
        return [], [], True
    commands = [argv for argv in (manager.update, (*manager.install, *packages)) if argv]
    if machine.is_root and not manager.needs_root:
        return commands, [f"{manager.name} does not run as root: run the command above as another user"], False
    if machine.is_root or not manager.needs_root:
        return commands, [], True
    if "sudo" in machine.found:
        return [("sudo", *argv) for argv in commands], [], True
    return commands, [f"{manager.name} needs root, and there is no sudo: run the commands above as root"], False


def _by_go(machine: Machine) -> list[tuple[str, ...]]:
    built = machine.bin_directory / "toxiproxy-build"
    return [
        ("env", f"GOBIN={built}", machine.found["go"], "install", TOXIPROXY_MODULE),
        ("mv", str(built / "server"), str(machine.bin_directory / "toxiproxy-server")),
        ("rmdir", str(built)),
    ]


def _by_hand(program: Program, manager: str) -> str:
    if program.name == "toxiproxy-server":
        return (
            "toxiproxy-server (for network faults) is in no package of this system: install Go (https://go.dev/dl) and run "
            "`tasklab services install` again, or put toxiproxy-server, version 2, on PATH"
        )
    names = " or ".join(program.names)
    if not manager:
        return f"{names}: this machine has none of apt-get, dnf and brew; install it by other means, and put it on PATH"
    return f"{names}: in no package that {manager} is known to have; install it by other means, and put it on PATH"
