"""The first files of a project that is to be tested: `tasklab.toml` for an app that was found, or a template, and a test."""

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scenarios.adapters.seeking.candidates import Candidate

TEST_FILE = Path("tests") / "test_tasklab.py"
SCENARIO = "worker_lost"
HEADING = "# What `tasklab run` tests here. Every key: docs/configuration.md of tasklab. Options of the command line replace these lines.\n"
SCENARIOS = f"""
# One scenario to begin with; `tasklab list scenarios` prints all: broker_killed, failing_tasks, due_later, …
scenarios = ["{SCENARIO}"]
"""
EXAMPLES: Mapping[str, Sequence[str]] = {
    "celery": ('celery = "shop.tasks:app"', 'task = "shop.tasks.charge"'),
    "dramatiq": ('dramatiq = "shop.tasks:charge"',),
    "rq": ('rq = "shop.jobs:charge"',),
    "procrastinate": ('procrastinate = "shop.app:app"', 'task = "shop.app.charge"'),
}
DESCRIPTION = """
# A system of another kind, in any language: a name, a client command that speaks docs/protocol.md of tasklab, and its processes.
#
# name = "acme"
# client = ["./client"]
# needs = ["redis"]                 # mysql, redis, rabbitmq, postgresql: the lab starts them
#
# [processes.worker]
# count = 2
# argv = ["./worker", "{redis.url}"]
"""
TEST = f'''"""What tasklab finds in this project's own app, which tasklab.toml names: the fixture `tasklab_run` runs `tasklab run`."""


def test_no_task_is_lost_with_a_worker(tasklab_run):
    tasklab_run("{SCENARIO}")
'''
ENVIRONMENTS = (".venv", "venv", "env")


def configuration_of(candidate: "Candidate", directory: Path) -> str:
    """The configuration that tests this candidate; its Python is that of a virtual environment in the directory, if there is one."""
    lines = [f"{candidate.library} = {_quoted(candidate.place)}"]
    if candidate.task is not None:
        lines.append(f"task = {_quoted(candidate.task)}")
    pythons = [f"{name}/bin/python" for name in ENVIRONMENTS if (directory / name / "bin" / "python").exists()]
    lines += [f'python = "{python}"' for python in pythons[:1]] or ['# python = ".venv/bin/python"']
    return HEADING + "\n".join(lines) + "\n" + SCENARIOS


def _quoted(text: str) -> str:
    """As a string of TOML: a name of a task may hold anything, and must not become another key."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def template(libraries: Collection[str]) -> str:
    """A configuration to be filled in, all of it comments; examples of these libraries only, or of all if there is none."""
    named = [library for library in EXAMPLES if library in libraries] or list(EXAMPLES)
    examples = ["\n".join(f"# {line}" for line in EXAMPLES[library]) for library in named]
    scenarios = SCENARIOS.strip().replace("scenarios =", "# scenarios =")
    return "\n".join(
        [HEADING, "# An app: package.module:name, and of Celery and Procrastinate the name of a task.", *examples]
    ) + (f"\n\n{scenarios}\n{DESCRIPTION}")
