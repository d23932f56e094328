"""An app on the command line: what is wrong with it is said before anything starts, and the options that name it can be repeated."""

import json
import shlex
from itertools import pairwise
from pathlib import Path

import pytest

from scenarios.adapters.adapted import (
    CONFIGURATIONS,
    LIBRARIES,
    REFUSED,
    SHIMS,
    TRIED,
    Adapted,
    own_app,
    refused_addresses,
    untried,
    users_python,
)
from scenarios.errors import UnknownName, WrongUsage


@pytest.mark.parametrize(
    ("library", "place", "task", "why"),
    [
        ("dramatiq", "shop.tasks", None, "write package.module:attribute"),
        ("dramatiq", ":charge", None, "write package.module:attribute"),
        ("dramatiq", "shop.tasks:charge", "charge", "--dramatiq names the task itself"),
        ("celery", "shop.tasks:app", None, "name the task with --task"),
    ],
)
def test_a_place_that_names_no_task_is_refused(library: str, place: str, task: str | None, why: str) -> None:
    with pytest.raises(WrongUsage, match=why):
        Adapted(library, place, task)


@pytest.mark.parametrize(
    "app",
    [
        Adapted("dramatiq", "shop.tasks:charge"),
        Adapted("celery", "shop.tasks:app", "shop.tasks.charge", workers=3, claims=("no_lost_task", "no_stuck_task")),
        Adapted("procrastinate", "shop.app:app", "charge", worker_arguments=("--concurrency", "4")),
        Adapted("rq", "shop.jobs:charge", worker_arguments=("--name", "a b"), unscaled=True),
        Adapted("dramatiq", "shop.tasks:ship", keep_body=True, arguments='{"order": 17}'),
    ],
    ids=lambda app: app.place,
)
def test_the_options_name_the_same_app_again(app: Adapted) -> None:
    words = shlex.split(app.options())
    stated = dict(pairwise(words))

    assert stated[f"--{app.library}"] == app.place
    assert stated.get("--task") == app.task
    assert int(stated.get("--workers", "2")) == app.workers
    assert tuple(shlex.split(stated.get("--worker", ""))) == app.worker_arguments
    assert tuple(filter(None, stated.get("--claims", "").split(","))) == app.claims
    assert ("--unscaled" in words) == app.unscaled
    assert ("--keep-body" in words) == app.keep_body
    assert stated.get("--arguments") == app.arguments


def test_arguments_and_own_code_need_each_other_and_an_app_of_the_user_s() -> None:
    with pytest.raises(WrongUsage, match="add --keep-body"):
        Adapted("rq", "shop.jobs:charge", arguments="[]")
    with pytest.raises(WrongUsage, match="the tasks of rq have no code"):
        Adapted("rq", "tasklab_rq_own:recommended", own="rq", keep_body=True)


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_library_has_its_shims_its_own_apps_and_versions_that_were_tried(library: str) -> None:
    names = {file.stem for file in SHIMS.glob("*.py")}

    assert {f"tasklab_{library}", f"tasklab_{library}_app", f"tasklab_{library}_own"} <= names
    assert TRIED[library]


@pytest.mark.parametrize("ending", CONFIGURATIONS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_an_app_of_the_lab_s_own_is_named_as_a_system(library: str, ending: str) -> None:
    app = own_app(library + ending)

    assert app is not None
    assert app.options() == f"--system {library}{ending}"
    assert json.loads(app.host_arguments()[2])["place"] == f"tasklab_{library}_own:{CONFIGURATIONS[ending]}"


def test_a_configuration_that_does_not_exist_is_answered_with_those_that_do() -> None:
    with pytest.raises(UnknownName, match="did you mean celery@defaults"):
        own_app("celery@default")


@pytest.mark.parametrize("name", ["reference", "acme.lab:system", "./celery"])
def test_other_systems_are_no_apps(name: str) -> None:
    assert own_app(name) is None


def test_a_version_that_was_never_tried_is_said() -> None:
    assert untried("celery", {"celery": TRIED["celery"][0]}) == ""
    assert untried("celery", {"celery": "4.0"}) == (
        f"celery 4.0 was never tried with this adapter, which was tried with {', '.join(TRIED['celery'])}"
    )


def test_addresses_that_were_refused_are_read_from_the_logs(tmp_path: Path) -> None:
    line = f"{REFUSED}10.1.2.3:6379, which is no service of this run\n"
    (tmp_path / "worker-1.log").write_text(f"ready\n{line}busy\n{line}{line.replace('6379', '5672')}")
    (tmp_path / "worker-2.log").write_text("ready\n")

    assert refused_addresses(tmp_path) == {"worker-1": ["10.1.2.3:6379", "10.1.2.3:5672"]}
    assert f'REFUSED = "{REFUSED}"' in (SHIMS / "tasklab_guard.py").read_text()


def test_the_python_of_an_app_is_that_of_the_active_environment_then_that_of_dot_venv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pythons = [tmp_path / place / "bin" / "python" for place in ("active", ".venv")]
    for python in pythons:
        python.parent.mkdir(parents=True)
        python.touch()
    monkeypatch.chdir(tmp_path)

    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "active"))
    active = users_python(Path.cwd())
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "gone"))
    beside = users_python(Path.cwd())

    assert [active, beside] == list(map(str, pythons))
