"""`tasklab init`: finds apps and tasks in sources that it does not import, writes two files, and overwrites none."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from scenarios.adapters.seeking.candidates import candidates_of
from scenarios.adapters.seeking.sources import read_project
from scenarios.configuration.read import read_configuration
from tasklab.command_line import app
from tasklab.commands.chosen_system import choose

Write = Callable[[str, str], None]
CELERY = "from celery import Celery\nraise SystemExit('imported')\napp = Celery('shop')\n"
TASKS = "from .app import app\n\n@app.task(max_retries=3)\ndef charge(order): ...\n"


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes files of a project, whose directory is the present one."""
    monkeypatch.chdir(tmp_path)

    def written(file: str, text: str) -> None:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)

    return written


def init(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["init", *arguments])


def found() -> list[str]:
    return [one.options() for one in candidates_of(read_project(Path.cwd()))]


@pytest.mark.parametrize(
    ("files", "options"),
    [
        ({"shop/app.py": CELERY, "shop/tasks.py": TASKS}, ["--celery shop.tasks:app --task shop.tasks.charge"]),
        ({"src/shop/app.py": CELERY, "src/shop/tasks.py": TASKS}, ["--celery shop.tasks:app --task shop.tasks.charge"]),
        (
            {
                "p/__init__.py": "from .celery import queue as jobs\n",
                "p/celery.py": "import celery as c\nqueue = c.Celery()\n",
                "p/work.py": "import p\n\n@p.jobs.task(name='mail')\nasync def send(): ...\n",
            },
            ["--celery p.celery:queue --task mail"],
        ),
        (
            {
                "p/celery.py": CELERY,
                "orders/tasks.py": "from celery import shared_task\n@shared_task\ndef pay(): ...\n",
            },
            ["--celery p.celery:app --task orders.tasks.pay"],
        ),
        ({"p.py": CELERY}, ["--celery p:app"]),
        ({"a.py": "import dramatiq\n@dramatiq.actor\ndef f(): ...\n"}, ["--dramatiq a:f"]),
        ({"a.py": "from dramatiq import actor as act\n@act(max_retries=3)\ndef f(): ...\n"}, ["--dramatiq a:f"]),
        ({"a.py": "from rq.decorators import job\n@job('high')\ndef f(): ...\n"}, ["--rq a:f"]),
        (
            {
                "jobs.py": "def f(): ...\ndef g(): ...\n",
                "web.py": "from rq import Queue\nimport jobs\nQueue().enqueue(jobs.f, 1)\n",
            },
            ["--rq jobs:f"],
        ),
        ({"web.py": "from rq import Queue\ndef f(): ...\nQueue().enqueue('web.f')\n"}, ["--rq web:f"]),
        ({"web.py": "def f(): ...\nother.enqueue(f)\n"}, []),
        (
            {
                "a.py": "from procrastinate import App, x\napp: App = App(connector=x)\n@app.task(queue='q')\ndef f(): ...\n"
                "@app.periodic(cron='* * * * *')\n@app.task\ndef retry_stalled(timestamp): ...\n"
            },
            ["--procrastinate a:app --task a.f"],
        ),
        ({"a.py": "class App: ...\napp = App()\n@app.task\ndef f(): ...\n"}, []),
        (
            {
                ".venv/a.py": CELERY,
                "env/pyvenv.cfg": "",
                "env/b.py": CELERY,
                "tests/c.py": CELERY,
                "my-app/d.py": CELERY,
            },
            [],
        ),
    ],
)
def test_what_is_found_in_sources(write: Write, files: dict[str, str], options: list[str]) -> None:
    for file, text in files.items():
        write(file, text)

    assert found() == options


def test_one_task_is_written_down_and_the_next_command_is_named(write: Write) -> None:
    write("shop/app.py", CELERY)
    write("shop/tasks.py", TASKS)
    write("venv/bin/python", "")
    write("venv/pyvenv.cfg", "")
    write("shop/broken.py", "def (:\n")

    done = init()

    chosen = choose({}, read_configuration(Path("tasklab.toml")))
    assert chosen.named.options() == "--celery shop.tasks:app --task shop.tasks.charge"  # type: ignore[union-attr]
    assert chosen.python == Path.cwd() / "venv" / "bin" / "python"
    assert chosen.scenarios(None) == ["worker_lost"]
    assert "def test_" in Path("tests/test_tasklab.py").read_text()
    assert done.stdout.splitlines() == [
        "found: --celery shop.tasks:app --task shop.tasks.charge (shop/tasks.py:4)",
        "left out, because they are no Python that can be read: shop/broken.py",
        "wrote tasklab.toml",
        "wrote tests/test_tasklab.py",
        "next: tasklab facts    # what the lab reads of the app; nothing is started",
        "then: tasklab run",
    ]
    assert done.exit_code == 0


def test_of_several_tasks_one_has_to_be_named(write: Write, tmp_path: Path) -> None:
    write("shop/app.py", CELERY)
    write("shop/tasks.py", TASKS + "\n@app.task(name='refund')\ndef refund(): ...\n")

    several = init()
    unknown = init("--task", "refnd")
    left = sorted(path.name for path in tmp_path.iterdir())
    named = init("--task", "refund", "--json")

    assert (several.exit_code, unknown.exit_code, named.exit_code) == (2, 2, 0)
    assert "  tasklab init --celery shop.tasks:app --task refund    # shop/tasks.py:7" in several.stderr.splitlines()
    assert "these sources have no --task refnd; did you mean --celery shop.tasks:app --task refund?" in unknown.stderr
    assert left == ["shop"]
    assert json.loads(named.stdout) == {
        "chosen": "--celery shop.tasks:app --task refund",
        "written": ["tasklab.toml", "tests/test_tasklab.py"],
        "kept": [],
        "unread": [],
        "next": "tasklab facts",
    }


def test_what_is_there_already_stays_unless_it_is_forced(write: Write) -> None:
    write("a.py", "import dramatiq\n@dramatiq.actor\ndef f(): ...\n")
    write("tests/test_tasklab.py", "mine")

    first = init()
    again = init()
    forced = init("--force")

    assert "tests/test_tasklab.py is there already, and stays as it is; --force replaces it" in first.stdout
    assert "tasklab.toml is there already, and stays as it is; --force replaces it" in again.stderr
    assert (first.exit_code, again.exit_code, forced.exit_code) == (0, 2, 0)
    assert "wrote tests/test_tasklab.py" in forced.stdout


def test_a_table_in_pyproject_is_not_joined_by_a_second_file(write: Write) -> None:
    write("pyproject.toml", '[tool.tasklab]\nrq = "a:f"\n')

    done = init("--force")

    assert "pyproject.toml has a table [tool.tasklab] already; nothing was written" in done.stderr
    assert (done.exit_code, Path("tasklab.toml").exists()) == (2, False)


def test_without_an_app_a_template_is_written_whose_lines_are_valid(write: Write) -> None:
    write("requirements.txt", "Celery[redis]>=5.3\n")

    done = init()

    template = Path("tasklab.toml").read_text()
    app_lines, _, system_lines = template.partition("# A system of another kind")
    assert [line for line in template.splitlines() if line and not line.startswith("#")] == []
    assert (
        "no app of Celery, Dramatiq, RQ or Procrastinate was found in these sources, although celery is among"
        in done.stdout
    )
    assert "next: name your app in tasklab.toml, or describe your system there; then run: tasklab run" in done.stdout
    assert (done.exit_code, Path("tests").exists()) == (0, False)
    for lines in (app_lines, system_lines):
        keys = [line.removeprefix("# ") for line in lines.splitlines() if " = " in line or "[proc" in line]
        Path("tasklab.toml").write_text("\n".join(keys))
        assert read_configuration(Path("tasklab.toml")).table.values


@pytest.mark.parametrize("name", ['mail"\nsystem = "reference', "a\\b", "mail\x7f", "почта\u2028"])
def test_a_name_of_a_task_is_that_name_in_the_file_whatever_it_holds(write: Write, name: str) -> None:
    write("shop.py", f"from celery import Celery\napp = Celery('shop')\n@app.task(name={name!r})\ndef mail(): ...\n")

    assert init().exit_code == 0

    options = read_configuration(Path("tasklab.toml")).options
    assert (options["celery"], options["task"], "system" in options) == ("shop:app", name, False)


def test_a_file_in_place_of_the_directory_of_tests_is_said_before_anything_is_written(write: Write) -> None:
    write("shop.py", "from celery import Celery\napp = Celery('shop')\n@app.task\ndef mail(): ...\n")
    write("tests", "a file\n")

    done = init()

    assert (done.exit_code, "tests is no directory" in done.output) == (2, True)
    assert not Path("tasklab.toml").exists()


def test_a_link_is_not_written_through(write: Write, tmp_path: Path) -> None:
    write("shop.py", "from celery import Celery\napp = Celery('shop')\n@app.task\ndef mail(): ...\n")
    Path("tasklab.toml").symlink_to(tmp_path / "elsewhere")

    assert init().exit_code == 0
    assert not (tmp_path / "elsewhere").exists()
