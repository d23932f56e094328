"""tasklab.toml: each invalid value is refused with the file, the key and what it must be; options of the command line win."""

import inspect
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from chaos.environment import Services
from chaos.environments.catalogue import EnvironmentName
from chaos.services.addresses import DeclaredAddress, RedisAddress
from chaos.services.placeholders import error_of, filled, flat_values, known_placeholders
from scenarios.adapters.adapted import Adapted
from scenarios.configuration.description import CLAIMS, SystemDescription
from scenarios.configuration.file import find_file
from scenarios.configuration.read import KEYS, OPTIONS, find_configuration, read_configuration
from scenarios.errors import MalformedConfiguration, WrongUsage
from tasklab.commands.chosen_system import ChosenSystem, choose
from tasklab.commands.plugin_options import _system_options

CELERY = 'celery = "shop.tasks:app"\ntask = "shop.tasks.charge"\n'
DESCRIBED = """
name = "acme"
client = ["python3", "client.py"]
needs = ["redis"]
[processes.worker]
count = 2
argv = ["python3", "worker.py", "{redis.url}"]
"""

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes tasklab.toml."""

    def written(text: str) -> Path:
        file = tmp_path / "tasklab.toml"
        file.write_text(text)
        return file

    return written


def chosen(file: Path, **given: object) -> ChosenSystem:
    return choose(given, read_configuration(file))


def description(file: Path) -> SystemDescription:
    found = chosen(file).named
    assert isinstance(found, SystemDescription)
    return found


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('celry = "a:b"', "there is no key celry; did you mean celery?"),
        ("workers = 0", "workers = 0: it must be a whole number from 1 to 50"),
        ('workers = "two"', 'workers = "two": it must be a whole number from 1 to 50'),
        ("workers = true", "workers = True: it must be a whole number"),
        ('unscaled = "yes"', 'unscaled = "yes": it must be true or false'),
        ("claims = 'no_lost_task'", 'claims = "no_lost_task": it must be a list of texts'),
        ("scenarios = [1]", r"scenarios = \[1\]: it must be a list of texts"),
        ('environment = "docker"', 'environment = "docker": it must be "embedded" or "local"'),
        ("plugin_timeout = nan", "plugin_timeout = nan: it must be a number of seconds above 0"),
        ("plugin_timeout = -1", "plugin_timeout = -1: it must be a number of seconds above 0"),
        ('system = ""', 'system = "": it must be a text that is not empty'),
        ('celery = "a:b"\nname = "acme"', "celery and name: a file names an app or plug-in, or it describes a system"),
        ("celery = ", "it is not valid TOML"),
    ],
)
def test_an_invalid_value_of_the_file_is_refused_with_its_key(write: Write, line: str, why: str) -> None:
    with pytest.raises(MalformedConfiguration, match=f"tasklab.toml: {why}"):
        read_configuration(write(line))


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ('name = "acme"', "", "name: it is missing; it must be a text"),
        ('name = "acme"', 'name = "a/b"', "name: a name has 1 to 64 letters"),
        ('client = ["python3", "client.py"]', "", "client: it is missing; it must be a list of texts: a program"),
        ('client = ["python3", "client.py"]', "client = []", "client = []: it must be a list of texts: a program"),
        (
            '["python3", "client.py"]',
            '["./gone"]',
            "client = ['./gone']: ./gone is not a program that can be started",
        ),
        ('["redis"]', '["radis"]', "needs: there is no service 'radis'; did you mean redis"),
        ("needs", 'claims = ["no_lost"]\nneeds', "claims: there is no promise 'no_lost'; did you mean no_lost_task"),
        ("needs", "pace = {quiet_s = -5}\nneeds", "pace.quiet_s = -5: it must be a number of seconds above 0"),
        ("needs", "pace = {quiet = 5}\nneeds", "pace: there is no field of pace 'quiet'; did you mean quiet_s"),
        ("needs", "policy = {attempts_max = 0}\nneeds", "policy.attempts_max = 0: it must be a number from 1"),
        ("needs", 'capabilities = ["fly"]\nneeds', "capabilities: there is no capability 'fly'"),
        ("needs", 'reservations = {flood = ["no_lost_task"]}\nneeds', "reservations: there is no fault 'flood'"),
        ("needs", "versions = {acme = 4}\nneeds", "versions = …: it must be a table of texts"),
        ("needs", 'powers = ["acount"]\nneeds', 'powers: "acount": a power is one of account, trail'),
        ("{redis.url}", "{redis.ur}", "there is no placeholder {redis.ur}; did you mean {redis.url}"),
        ("{redis.url}", "{mysql.url}", "there is no placeholder {mysql.url}"),
        ("count = 2", "cout = 2", "there is no key processes.worker.cout; did you mean count?"),
        ("count = 2", "count = 51", "processes.worker.count = 51: it must be a whole number from 1 to 50"),
        ("count = 2", 'cwd = "gone"', 'processes.worker.cwd = "gone": there is no directory'),
        ("count = 2", 'stop_signal = "SIGTRM"', "processes.worker: process 'worker': stop_signal is 'SIGTRM'"),
        ("count = 2", 'env = {A = "{b}"}', 'processes.worker.env.A: "{b}": there is no placeholder {b}'),
        (
            "count = 2",
            'env = {TASKLAB_ACTOR = "b"}',
            "processes.worker.env.TASKLAB_ACTOR: variables that begin with TASKLAB_",
        ),
        ("count = 2", "env = {A = 1}", "processes.worker.env = …: it must be a table of texts"),
        ("[processes.worker]", "[processes.lab]", "processes.lab: process 'lab': a name has"),
        ('"python3", "worker.py"', '"no-such-program"', "processes.worker.argv = …: no-such-program is not a program"),
        (DESCRIBED[DESCRIBED.index("[proc") :], "", "processes: it is missing; it must hold a table for each process"),
        (
            DESCRIBED[DESCRIBED.index("[proc") :],
            '[processes.a]\nargv=["ls"]\ncount=1\n[processes.a-1]\nargv=["ls"]',
            "processes: process 'a-1': two processes have this name",
        ),
    ],
)
def test_an_invalid_description_is_refused_with_its_key(write: Write, before: str, after: str, why: str) -> None:
    assert before in DESCRIBED
    text = DESCRIBED.replace(before, after, 1)

    with pytest.raises(MalformedConfiguration) as raised:
        description(write(text))

    message = str(raised.value)
    assert message.startswith("tasklab.toml: ")
    assert [part for part in why.split("…") if part not in message] == [], message


def test_a_description_states_what_a_client_process_would(write: Write, tmp_path: Path) -> None:
    found = description(write(DESCRIBED))

    assert found.statement.needs == {"redis"}
    assert found.statement.claims == set(CLAIMS)
    assert found.directory == tmp_path
    assert [(one.name, one.role) for one in found.processes] == [("worker-1", "worker"), ("worker-2", "worker")]


def test_the_claims_of_the_command_line_replace_those_of_a_description(write: Write) -> None:
    system = chosen(write(DESCRIBED), claims="no_lost_task", plugin_timeout=3.0)

    assert isinstance(system.named, SystemDescription)
    assert system.named.statement.claims == {"no_lost_task"}
    assert system.timeout_s == 3.0


def test_an_option_for_apps_is_refused_for_a_description(write: Write) -> None:
    with pytest.raises(WrongUsage, match=r"--task: not for the system that tasklab.toml describes"):
        chosen(write(DESCRIBED), task="charge")


def test_four_lines_name_an_app_and_options_replace_them(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(CELERY + 'workers = 3\nscenarios = ["worker_lost"]\nenvironment = "embedded"\n')
    monkeypatch.chdir(file.parent)

    system = chosen(file, workers=4, claims="no_lost_task,no_stuck_task")

    assert system.named == Adapted(
        "celery", "shop.tasks:app", "shop.tasks.charge", workers=4, claims=("no_lost_task", "no_stuck_task")
    )
    assert shlex.split(system.options()) == [
        *("--config", "tasklab.toml"),
        *("--workers", "4"),
        *("--claims", "no_lost_task,no_stuck_task"),
    ]
    assert system.scenarios(None) == ["worker_lost"]
    assert system.scenarios(["broker_killed"]) == ["broker_killed"]
    assert system.environment(None) is EnvironmentName.EMBEDDED
    assert system.environment(EnvironmentName.LOCAL) is EnvironmentName.LOCAL


def test_a_contradiction_in_the_file_names_the_file(write: Write) -> None:
    with pytest.raises(WrongUsage, match=r"tasklab.toml: --celery shop.tasks:app: name the task with --task"):
        chosen(write('celery = "shop.tasks:app"'))


def test_a_file_that_names_no_system_is_not_taken_for_the_reference(write: Write) -> None:
    with pytest.raises(
        WrongUsage, match=r"tasklab.toml names no app and describes no system: add a line such as celery"
    ):
        chosen(write('scenarios = ["worker_lost"]'))


def test_a_command_without_a_scenario_says_where_to_find_one(write: Write) -> None:
    with pytest.raises(WrongUsage, match=r"name a scenario, such as worker_lost; tasklab.toml states no scenarios"):
        chosen(write(CELERY)).scenarios([])


def test_an_interpreter_with_a_slash_is_found_from_the_file(write: Write, tmp_path: Path) -> None:
    assert chosen(write(CELERY + 'python = ".venv/bin/python"')).python == tmp_path / ".venv" / "bin" / "python"
    assert chosen(write(CELERY + 'python = "python3.12"')).python == Path("python3.12")


def test_a_file_is_found_up_to_the_root_of_the_repository(tmp_path: Path) -> None:
    (tmp_path / "tasklab.toml").write_text(CELERY)
    inner = tmp_path / "repository" / "shop"
    inner.mkdir(parents=True)

    assert find_file(inner) is None  # no repository: only the present directory is read
    (tmp_path / "repository" / ".git").mkdir()
    assert find_file(inner) is None  # above its root
    (tmp_path / "repository" / "pyproject.toml").write_text("[tool.tasklab]\n" + CELERY)
    assert find_file(inner) == tmp_path / "repository" / "pyproject.toml"
    (inner / "pyproject.toml").write_text("[tool.other]\n")
    assert find_file(inner) == tmp_path / "repository" / "pyproject.toml"


def test_keys_of_pyproject_are_named_with_their_table(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.tasklab]\nworkers = -1\n")

    with pytest.raises(MalformedConfiguration, match=r"pyproject.toml: tool.tasklab.workers = -1: it must be"):
        find_configuration(tmp_path)


def test_both_files_in_one_directory_are_refused(tmp_path: Path) -> None:
    (tmp_path / "tasklab.toml").write_text(CELERY)
    (tmp_path / "pyproject.toml").write_text("[tool.tasklab]\n" + CELERY)

    with pytest.raises(MalformedConfiguration, match=r"are both here; keep one of them"):
        find_configuration(tmp_path)


@pytest.mark.parametrize(
    ("name", "why"), [("gone.toml", "it cannot be read"), ("pyproject.toml", r"it has no table \[tool.tasklab\]")]
)
def test_a_named_file_has_to_be_one(tmp_path: Path, name: str, why: str) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\n")

    with pytest.raises(MalformedConfiguration, match=why):
        read_configuration(tmp_path / name)


def test_each_process_gets_the_addresses_of_its_own_links(tmp_path: Path) -> None:
    linked = Services("lab_1", tmp_path, 8000, redis=RedisAddress("127.0.0.1", 7001))
    services = Services(
        "lab_1", tmp_path, 8000, redis=RedisAddress("127.0.0.1", 7000, (("a", 1), ("b", 2))), links={"worker-1": linked}
    )

    texts = ["{redis.url}", "{namespace} {http_port}", "{redis.sentinels}", "{{redis.url}} {} {0}"]

    assert [filled(text, flat_values(services.as_seen_by("worker-1"))) for text in texts] == [
        *("redis://127.0.0.1:7001/0", "lab_1 8000", "", "{redis.url} {} {0}"),
    ]
    assert filled("{redis.sentinels}", flat_values(services.as_seen_by("worker-2"))) == "a:1,b:2"


def test_every_known_placeholder_has_a_value_in_a_run(tmp_path: Path) -> None:
    own = {"queue": DeclaredAddress("127.0.0.1", 7001, {"admin": 7002})}
    services = Services("lab_1", tmp_path, 8000, redis=RedisAddress("127.0.0.1", 7000), own=own)
    known = known_placeholders({"redis"}, {"queue": ["admin"]})

    assert set(known) <= set(flat_values(services.as_seen_by("worker-1")))
    assert [error_of(f"{{{name}}}", known) for name in known] == [""] * len(known)


def test_every_option_that_concerns_the_system_has_a_key() -> None:
    options = inspect.signature(_system_options).parameters

    assert set(OPTIONS) == set(options) - {"config", "no_config"}


def test_the_page_explains_every_key() -> None:
    page = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()

    assert [key for key in KEYS if f"`{key}`" not in page] == []
