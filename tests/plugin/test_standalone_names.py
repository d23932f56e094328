"""The names of a plug-in without tasklab (`tasklab_plugin.py`) keep up with the services and classes that the lab has."""

import subprocess
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

import tasklab
from chaos.services.addresses import SERVICE_NAMES, ServiceName, Services
from chaos.services.registry import descriptor
from scenarios.plugin import tasklab_plugin

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("service", SERVICE_NAMES)
def test_every_service_has_its_address_with_all_its_fields(service: ServiceName) -> None:
    address = descriptor(service).address

    standalone = getattr(tasklab_plugin, address.__name__)

    assert names_of(standalone) == [*names_of(address), "url"]


def test_the_services_of_a_run_have_the_same_fields() -> None:
    assert names_of(tasklab_plugin.Services) == names_of(Services)


SHARED = [
    name
    for name, kind in vars(tasklab_plugin).items()
    if is_dataclass(kind) and isinstance(getattr(tasklab, name, None), type) and name not in ("Services", "Policy")
]


@pytest.mark.parametrize("name", SHARED)
def test_a_class_of_the_same_name_has_the_same_fields(name: str) -> None:
    assert names_of(getattr(tasklab_plugin, name)) == names_of(getattr(tasklab, name))


def test_every_limit_can_be_stated_without_tasklab() -> None:
    assert set(names_of(tasklab_plugin.Policy)) == set(names_of(tasklab.Policy)) - {"warnings"}


def names_of(kind: type) -> list[str]:
    return [field.name for field in fields(kind)]


def test_what_runs_in_foreign_interpreters_needs_nothing_later_than_python_3_8() -> None:
    rooms = ROOT / "scenarios"
    files = [rooms / "contract" / "tasklab_probe.py", *(rooms / "adapters" / "shims").glob("*.py")]
    files += [rooms / "plugin" / name for name in ("host.py", "launch.py", "tasklab_plugin.py")]
    files += [ROOT / "tasklab" / "pytest_plugin.py"]

    command = [Path(sys.executable).with_name("vermin"), "--target=3.8-", "--violations", "--no-tips", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, ""), done.stdout
