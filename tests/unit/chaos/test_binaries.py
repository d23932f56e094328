"""Server programs are found where distributions put them, and what is missing is named with its remedy."""

from pathlib import Path

import pytest

from chaos import binaries
from chaos.binaries import ProgramStatus, find, inventory, postgresql_directories, rabbitmq_home, require
from chaos.errors import ServiceUnavailable
from chaos.services.addresses import SERVICE_NAMES
from chaos.services.rabbitmq.server import _minimal_copy


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An otherwise empty place where programs are looked for."""
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setattr(binaries, "search_path", lambda: str(directory))
    return directory


def install(directory: Path, name: str, says: str) -> Path:
    program = directory / name
    program.write_text(f"#!/bin/sh\necho '{says}'\n")
    program.chmod(0o755)
    return program


def make_home(home: Path, applications: dict[str, str]) -> Path:
    (home / "sbin").mkdir(parents=True)
    (home / "escript").mkdir()
    for script in ("rabbitmq-server", "rabbitmq-env"):
        install(home / "sbin", script, "")
    for name, listed in applications.items():
        ebin = home / "plugins" / f"{name}-1.2.3" / "ebin"
        ebin.mkdir(parents=True)
        (ebin / f"{name}.app").write_text(
            f"{{application, {name}, [{{vsn, x}}, {{applications,\n [{listed}]}}, {{mod, y}}]}}."
        )
    return home


def test_a_program_is_found_by_any_of_its_names(programs: Path) -> None:
    installed = install(programs, "mysqld", "")

    assert find("mariadbd") == installed


def test_a_missing_program_is_named_with_what_brings_it(programs: Path) -> None:
    assert find("redis-server") is None
    with pytest.raises(
        ServiceUnavailable, match="redis: no redis-server on this machine; `tasklab services install` brings it"
    ):
        require("redis", "redis-server")


def test_the_inventory_lists_what_is_there_and_what_is_not(programs: Path) -> None:
    installed = install(programs, "mariadbd", "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu")

    found = {one.program.name: one for one in inventory()}

    assert found["mariadbd"] == ProgramStatus(found["mariadbd"].program, installed, "10.11.19-MariaDB")
    assert {name for name, one in found.items() if one.path is None} == set(found) - {"mariadbd"}


@pytest.mark.parametrize(
    ("says", "is_mariadb"),
    [("mariadbd Ver 10.11.19-MariaDB for debian", True), ("/usr/sbin/mysqld Ver 8.0.40 for Linux on x86_64", False)],
)
def test_mariadb_and_mysql_are_told_apart(programs: Path, says: str, is_mariadb: bool) -> None:
    assert binaries.is_mariadb(install(programs, "mysqld", says)) == is_mariadb


def test_the_home_of_rabbitmq_is_found_behind_a_distributions_wrapper(tmp_path: Path) -> None:
    home = make_home(tmp_path / "usr/lib/rabbitmq/lib/rabbitmq_server-1.2.3", {"rabbit": ""})
    wrapper = install_wrapper(tmp_path)

    assert rabbitmq_home(wrapper) == home


def test_the_home_of_rabbitmq_is_found_from_its_own_script(tmp_path: Path) -> None:
    home = make_home(tmp_path / "opt/rabbitmq_server-1.2.3", {"rabbit": ""})

    assert rabbitmq_home(home / "sbin/rabbitmq-server") == home


def test_a_lean_home_has_what_the_broker_needs_and_nothing_else(tmp_path: Path) -> None:
    home = make_home(
        tmp_path / "home",
        {
            "rabbit": "kernel, stdlib,\n  ra, rabbit_common",
            "ra": "kernel, aten",
            "aten": "kernel",
            "rabbit_common": "jsx",
            "jsx": "",
            "cuttlefish": "",
            "rabbitmq_management": "rabbit, cowboy",
            "cowboy": "",
        },
    )

    script = _minimal_copy(home, tmp_path / "lean")

    assert script == tmp_path / "lean/sbin/rabbitmq-server"
    assert script.resolve() == home / "sbin/rabbitmq-server"
    linked = {path.name: path.resolve() for path in (tmp_path / "lean/plugins").iterdir()}
    needed = ("rabbit", "ra", "aten", "rabbit_common", "jsx", "cuttlefish")
    assert linked == {f"{name}-1.2.3": home / f"plugins/{name}-1.2.3" for name in needed}


def test_a_home_laid_out_differently_is_used_as_it_is(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home", {"cuttlefish": ""})  # the broker itself is an archive, say

    assert _minimal_copy(home, tmp_path / "lean") == home / "sbin/rabbitmq-server"
    assert not (tmp_path / "lean").exists()


def install_wrapper(root: Path) -> Path:
    real = root / "usr/lib/rabbitmq/bin"
    real.mkdir(parents=True)
    install(real, "rabbitmq-script-wrapper", "")
    (root / "usr/sbin").mkdir()
    link = root / "usr/sbin/rabbitmq-server"
    link.symlink_to(real / "rabbitmq-script-wrapper")
    return link


def test_the_programs_of_the_newest_postgresql_are_found_first(tmp_path: Path) -> None:
    for version in ("9.6", "15", "16"):
        (tmp_path / "lib/postgresql" / version / "bin").mkdir(parents=True)
    (tmp_path / "pgsql-14/bin").mkdir(parents=True)

    found = [Path(directory).parent.name for directory in postgresql_directories(tmp_path)]

    assert found == ["16", "15", "pgsql-14", "9.6"]


def test_every_service_has_a_program_that_serves_it() -> None:
    assert {program.service for program in binaries.PROGRAMS} == {*SERVICE_NAMES, None}
