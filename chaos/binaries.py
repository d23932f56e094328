"""The server programs of this machine: where they are, their versions, and how to get a missing one."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from chaos.errors import ServiceUnavailable

VERSION_TIMEOUT_S = 10.0
INSTALL = "`tasklab services install`"
"""What brings missing programs; `chaos/installation.py` has its commands."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program that the lab may start; `names`: its names in different distributions.

    `service`: the service that needs it; None: what `used_for` says. `version`: the argument that makes it print its version and
    end, or None where there is no cheap one. `packages`: by package manager, the package that brings it.
    """

    name: str
    names: tuple[str, ...]
    service: str | None
    version: str | None
    packages: Mapping[str, str]
    used_for: str = "network faults"


MYSQL = {"apt-get": "mariadb-server", "dnf": "mariadb-server", "brew": "mariadb"}
REDIS = {"apt-get": "redis-server", "dnf": "redis", "brew": "redis"}
RABBITMQ = {"apt-get": "rabbitmq-server", "dnf": "rabbitmq-server", "brew": "rabbitmq"}
POSTGRESQL = {"apt-get": "postgresql", "dnf": "postgresql-server", "brew": "postgresql@17"}
TOXIPROXY = {"brew": "shopify/shopify/toxiproxy"}

PROGRAMS: tuple[Program, ...] = (
    Program("mariadbd", ("mariadbd", "mysqld"), "mysql", "--version", MYSQL),
    Program("mariadb-install-db", ("mariadb-install-db", "mysql_install_db"), "mysql", None, MYSQL),
    Program("redis-server", ("redis-server",), "redis", "--version", REDIS),
    Program("rabbitmq-server", ("rabbitmq-server",), "rabbitmq", None, RABBITMQ),
    Program("epmd", ("epmd",), "rabbitmq", None, RABBITMQ),
    Program("erl", ("erl",), "rabbitmq", None, RABBITMQ),
    Program("postgres", ("postgres",), "postgresql", "--version", POSTGRESQL),
    Program("initdb", ("initdb",), "postgresql", None, POSTGRESQL),
    Program("toxiproxy-server", ("toxiproxy-server",), None, "-version", TOXIPROXY),
)
BROWSER: tuple[Program, ...] = (
    Program(
        "chromium",
        ("chromium", "chromium-browser", "google-chrome"),
        None,
        None,
        {"apt-get": "chromium", "dnf": "chromium", "brew": "chromium"},
        "the tests of the report",
    ),
    Program(
        "chromedriver",
        ("chromedriver",),
        None,
        None,
        {"apt-get": "chromium-driver", "dnf": "chromedriver", "brew": "chromedriver"},
        "the tests of the report",
    ),
)
"""For the tests of the lab itself; no run needs it."""


@dataclass(frozen=True, slots=True)
class ProgramStatus:
    """Where a program is on this machine; `path` None: it is missing."""

    program: Program
    path: Path | None
    version: str


def search_path() -> str:
    """Where programs are looked for: PATH, the directories of system services, and beside the Python that runs."""
    beside = str(Path(sys.executable).parent)
    return os.pathsep.join(
        [os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin", beside, *postgresql_directories(Path("/usr"))]
    )


def postgresql_directories(usr: Path) -> list[str]:
    """Where distributions keep the programs of PostgreSQL's servers, the newest version first: never on PATH."""
    found = [*usr.glob("lib/postgresql/*/bin"), *usr.glob("pgsql-*/bin"), *usr.glob("opt/postgresql@*/bin")]
    return [str(path) for path in sorted(found, key=_version_in_path, reverse=True)]


def _version_in_path(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", path.parent.name)]


def find(name: str) -> Path | None:
    """The program of that name in `PROGRAMS`, or None."""
    return _find(next(program for program in PROGRAMS if program.name == name))


def _find(program: Program) -> Path | None:
    found = (shutil.which(alias, path=search_path()) for alias in program.names)
    return next((Path(path) for path in found if path), None)


def require(service: str, name: str) -> Path:
    """The program of that name.

    Raises:
        ServiceUnavailable: it is missing; the message says how to get it.
    """
    path = find(name)
    if path is None:
        raise ServiceUnavailable(service, missing(name))
    return path


def missing(name: str) -> str:
    """One sentence: the program is not on this machine, and how to get it."""
    program = next(program for program in PROGRAMS if program.name == name)
    return f"no {' or '.join(program.names)} on this machine; {INSTALL} brings it"


def inventory(programs: Sequence[Program] = PROGRAMS) -> list[ProgramStatus]:
    """Each of the programs, found or not, with its version: what `tasklab services` shows."""
    found = []
    for program in programs:
        path = _find(program)
        found.append(ProgramStatus(program, path, _version(program, path) if path else ""))
    return found


def is_mariadb(server: Path) -> bool:
    """Whether a mysqld is MariaDB's; the two are started differently."""
    return "MariaDB" in _ask([str(server), "--no-defaults", "--version"])


def rabbitmq_home(server: Path) -> Path | None:
    """The directory with RabbitMQ's own `sbin` and `plugins`, or None if the layout is unknown.

    Distributions put a wrapper on PATH that runs only as its own user; the real server is elsewhere.
    """
    real = server.resolve()
    candidates = [real.parent.parent, *sorted(real.parent.parent.glob("lib/rabbitmq_server-*"), reverse=True)]
    candidates += sorted(Path("/usr/lib/rabbitmq/lib").glob("rabbitmq_server-*"), reverse=True)
    return next(
        (home for home in candidates if (home / "sbin/rabbitmq-server").exists() and (home / "plugins").is_dir()), None
    )


def _version(program: Program, path: Path) -> str:
    if program.name == "rabbitmq-server":
        home = rabbitmq_home(path)
        versions = sorted((home / "plugins").glob("rabbit-[0-9]*")) if home else []
        return versions[-1].name.removeprefix("rabbit-").removesuffix(".ez") if versions else ""
    if program.version is None:
        return ""
    match = re.search(r"\d+\.\d+[.\d]*(-MariaDB)?", _ask([str(path), program.version]))
    return match.group() if match else ""


def _ask(argv: Sequence[str]) -> str:
    try:
        answer = subprocess.run(argv, capture_output=True, text=True, timeout=VERSION_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout + answer.stderr
