"""The commands that install what is missing are those of this machine: its package manager, with or without root, and Go for Toxiproxy."""

from pathlib import Path

import pytest

from chaos.binaries import BROWSER, PROGRAMS
from chaos.installation import MANAGERS, Installation, Machine, installation

BIN = Path("/venv/bin")


def planned(*missing: str, found: str, is_root: bool = False) -> Installation:
    """For a machine with these programs, separated by spaces."""
    programs = [program for program in PROGRAMS + BROWSER if program.name in missing]
    return installation(programs, Machine({name: f"/bin/{name}" for name in found.split()}, is_root, BIN))


def test_a_package_that_brings_several_programs_is_installed_once() -> None:
    plan = planned("rabbitmq-server", "erl", "epmd", "redis-server", found="apt-get", is_root=True)

    assert plan.lines() == [
        "apt-get update -q",
        "env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends redis-server rabbitmq-server",
    ]
    assert (plan.is_runnable, plan.obstacles) == (True, ())


@pytest.mark.parametrize(
    ("found", "is_root", "line", "obstacle"),
    [
        ("apt-get sudo", False, "sudo apt-get update -q", None),
        (
            "apt-get",
            False,
            "apt-get update -q",
            "apt-get needs root, and there is no sudo: run the commands above as root",
        ),
        ("dnf sudo", False, "sudo dnf install -y postgresql-server", None),
        ("dnf", True, "dnf install -y postgresql-server", None),
        ("brew sudo", False, "brew install postgresql@17", None),
        (
            "brew",
            True,
            "brew install postgresql@17",
            "brew does not run as root: run the command above as another user",
        ),
    ],
)
def test_root_or_sudo_is_used_where_the_package_manager_needs_it(
    found: str, is_root: bool, line: str, obstacle: str | None
) -> None:
    plan = planned("postgres", "initdb", found=found, is_root=is_root)

    assert plan.lines()[0] == line
    assert plan.obstacles == ((obstacle,) if obstacle else ())
    assert plan.is_runnable == (obstacle is None)


def test_toxiproxy_is_built_by_go_where_no_package_has_it() -> None:
    assert planned("toxiproxy-server", found="apt-get go", is_root=True).lines() == [
        "env GOBIN=/venv/bin/toxiproxy-build /bin/go install github.com/Shopify/toxiproxy/v2/cmd/server@v2.12.0",
        "mv /venv/bin/toxiproxy-build/server /venv/bin/toxiproxy-server",
        "rmdir /venv/bin/toxiproxy-build",
    ]


def test_without_go_the_packages_are_installed_and_toxiproxy_is_left_with_its_reason() -> None:
    plan = planned("toxiproxy-server", "redis-server", found="apt-get sudo")

    assert plan.is_runnable
    assert plan.lines()[-1].endswith("redis-server")
    assert [sentence.partition(":")[0] for sentence in plan.obstacles] == [
        "toxiproxy-server (for network faults) is in no package of this system"
    ]


def test_a_machine_without_a_package_manager_is_told_what_to_install() -> None:
    plan = planned("mariadbd", found="sudo")

    assert plan == Installation(
        (),
        (
            "mariadbd or mysqld: this machine has none of apt-get, dnf and brew; install it by other means, and put it on PATH",
        ),
        is_runnable=False,
    )


@pytest.mark.parametrize("manager", [manager.name for manager in MANAGERS])
def test_each_program_has_a_package_or_is_toxiproxy(manager: str) -> None:
    lacking = {program.name for program in PROGRAMS + BROWSER if manager not in program.packages}

    assert lacking <= {"toxiproxy-server"}
