"""Which apps and tasks a project has that an adapter could test: Celery, Dramatiq, RQ, Procrastinate."""

import ast
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scenarios.adapters.seeking.sources import Project, SourceModule

APP_CLASSES: Mapping[str, str] = {
    "celery.Celery": "celery",
    "celery.app.Celery": "celery",
    "procrastinate.App": "procrastinate",
    "procrastinate.app.App": "procrastinate",
}
"""By the full name of a class of apps, its library."""
SHARED_TASKS = frozenset({"celery.shared_task", "celery.app.shared_task"})
ACTORS = frozenset({"dramatiq.actor", "dramatiq.actor.actor"})
JOBS = frozenset({"rq.job", "rq.decorators.job", "django_rq.job", "django_rq.decorators.job"})
QUEUE_PACKAGES = ("rq", "django_rq")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Candidate:
    """A task that could be tested: the values of the options that name it, and where it is defined. `task`: None, if none was found."""

    library: str
    place: str
    task: str | None
    file: Path
    line: int

    def options(self) -> str:
        """The options of the command line."""
        named = [f"--{self.library}", self.place]
        return shlex.join([*named, "--task", self.task] if self.task is not None else named)


def candidates_of(project: Project) -> list[Candidate]:
    """All candidates, in the order of the files; an app without any task, too."""
    apps = {app.full_name: app for module in project.modules.values() for app in _apps(module)}
    found = [one for module in project.modules.values() for one in _tasks(project, module, apps)]
    with_tasks = {app for app, _ in found}
    bare = [
        Candidate(app.library, app.place, None, app.file, app.line) for app in apps.values() if app not in with_tasks
    ]
    in_order = sorted([*(task for _, task in found), *bare], key=lambda one: (str(one.file), one.line))
    return list({(one.library, one.place, one.task): one for one in in_order}.values())


@dataclass(frozen=True, slots=True)
class FoundApp:
    """An app, where it is made."""

    library: str
    module: str
    name: str
    file: Path
    line: int

    @property
    def full_name(self) -> str:
        """`package.module.name`."""
        return f"{self.module}.{self.name}"

    @property
    def place(self) -> str:
        """`package.module:name`."""
        return f"{self.module}:{self.name}"


def _apps(module: SourceModule) -> Iterator[FoundApp]:
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Assign | ast.AnnAssign) or not isinstance(node.value, ast.Call):
            continue
        library = APP_CLASSES.get(module.full_name(node.value.func))
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if library is not None and isinstance(target, ast.Name):
                yield FoundApp(library, module.name, target.id, module.file, node.lineno)


def _tasks(
    project: Project, module: SourceModule, apps: Mapping[str, FoundApp]
) -> Iterator[tuple[FoundApp | None, Candidate]]:
    """Every task of a module, with its app if it has one."""
    for function in (node for node in module.tree.body if isinstance(node, Function)):
        names = [_decorator(project, module, one) for one in function.decorator_list]
        if any(name.endswith(".periodic") for name in names):
            continue  # work that the library starts by itself: no client submits it
        for name, decorator in zip(names, function.decorator_list, strict=True):
            place, line = f"{module.name}:{function.name}", function.lineno
            if name in ACTORS or name in JOBS:
                yield None, Candidate("dramatiq" if name in ACTORS else "rq", place, None, module.file, line)
            own_name = _stated_name(decorator) or f"{module.name}.{function.name}"
            for app in _apps_of(name, apps):
                home = _home(decorator, module) if name not in SHARED_TASKS else app.place
                yield app, Candidate(app.library, home or app.place, own_name, module.file, line)
    for job in _enqueued(project, module):
        yield None, job


def _apps_of(decorator: str, apps: Mapping[str, FoundApp]) -> Sequence[FoundApp]:
    """The apps that a decorator of this full name gives the task to."""
    if decorator in SHARED_TASKS:
        return [app for app in apps.values() if app.library == "celery"]
    app = apps.get(decorator.removesuffix(".task")) if decorator.endswith(".task") else None
    return [] if app is None else [app]


def _home(decorator: ast.expr, module: SourceModule) -> str | None:
    """The app as an attribute of the module of its task, whose import makes the task known; None: it is no name there."""
    expression = decorator.func if isinstance(decorator, ast.Call) else decorator
    app = expression.value if isinstance(expression, ast.Attribute) else None
    return f"{module.name}:{app.id}" if isinstance(app, ast.Name) else None


def _decorator(project: Project, module: SourceModule, decorator: ast.expr) -> str:
    """The full name of a decorator, without its arguments; of the method of an app, the app under the name where it is defined."""
    expression = decorator.func if isinstance(decorator, ast.Call) else decorator
    if isinstance(expression, ast.Attribute):
        return f"{project.original(module.full_name(expression.value))}.{expression.attr}"
    return project.original(module.full_name(expression))


def _stated_name(decorator: ast.expr) -> str | None:
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    for keyword in keywords:
        if keyword.arg == "name" and isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str):
            return keyword.value.value
    return None


def _enqueued(project: Project, module: SourceModule) -> Iterator[Candidate]:
    """Functions of the project that a module which imports RQ hands to `enqueue`."""
    if not any(name.partition(".")[0] in QUEUE_PACKAGES for name in module.imports.values()):
        return
    for node in ast.walk(module.tree):
        if not (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "enqueue"
            and node.args
        ):
            continue
        first = node.args[0]
        is_text = isinstance(first, ast.Constant) and isinstance(first.value, str)
        full_name = str(first.value) if is_text else project.original(module.full_name(first))  # type: ignore[attr-defined]
        home, _, name = full_name.rpartition(".")
        if home in project.modules:
            functions = (
                one for one in project.modules[home].tree.body if isinstance(one, Function) and one.name == name
            )
            for function in functions:
                yield Candidate("rq", f"{home}:{name}", None, project.modules[home].file, function.lineno)
