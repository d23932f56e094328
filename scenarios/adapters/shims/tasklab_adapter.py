"""What the shims of all libraries share: the choice of an app, its import without connections, facts. Runs in the user's Python.

Standard library only, from Python 3.8 on.
"""

import difflib
import importlib
import importlib.util
import json
import os
import socket
import sys
import traceback
from dataclasses import asdict, dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import tasklab_drivers  # noqa: F401  guards drivers whose sockets the audit hook does not see
import tasklab_guard

TURNED_TO = "TASKLAB_ADAPTED"
"""The variable of a worker process that holds its app and the addresses of the lab's services, as JSON."""
DJANGO_SETTINGS = "DJANGO_SETTINGS_MODULE"
"""The variable that names the settings of a Django project, which is set up before its modules are imported."""
LONG_S = 10.0
"""Waits of a library above this many seconds are scaled, so that a run does not take an hour."""
CONNECTED_S = 5.0
"""How long a client waits for a connection, to see whether its broker accepts one."""


class UnusableApp(Exception):
    """The app cannot be tested as asked. The message is for its owner; the lab ends with exit code 2."""


@dataclass(frozen=True)
class Choice:
    """What is to be tested, as the command line gives it.

    `place`: `package.module:attribute`. `task`: the name of a task in it, where `place` names an app. `worker_arguments`: further
    arguments of the library's worker command. `claims`: names of promises, empty for the defaults. `unscaled`: long waits stay.
    `keep_body`: the task's own code runs, called with `arguments` (tasklab_body.py). `tried`: versions of the library that the adapter
    was tried with.
    """

    place: str
    task: Optional[str] = None
    workers: int = 2
    worker_arguments: Sequence[str] = ()
    claims: Sequence[str] = ()
    unscaled: bool = False
    keep_body: bool = False
    arguments: Optional[str] = None
    tried: Sequence[str] = ()


@dataclass(frozen=True)
class Fact:
    """One setting of the app in effect. `source`: where it was read; `means`: what follows for a test; `scaled`: its value in the lab."""

    name: str
    value: str
    source: str
    means: str
    scaled: Optional[str] = None


def found(place: str) -> Any:
    """The object at `package.module:attribute`, imported while no connection can be opened.

    Raises:
        UnusableApp: there is none, its module fails or opens a connection; the message says which, with the nearest names.
    """
    module_name, _, attribute = place.partition(":")
    if not module_name or not attribute:
        raise UnusableApp(place + " is not of the form package.module:attribute")
    if os.environ.get(DJANGO_SETTINGS) and importlib.util.find_spec("django"):
        called_unconnected(os.environ[DJANGO_SETTINGS], lambda: importlib.import_module("django").setup())
    target = called_unconnected(module_name, lambda: importlib.import_module(module_name))
    for name in attribute.split("."):
        if not hasattr(target, name):
            raise UnusableApp(module_name + " has no " + repr(attribute) + hint(name, public_names(target)))
        target = getattr(target, name)
    return target


def called_unconnected(name: str, load: Callable[[], Any]) -> Any:
    """What `load` returns, called while no connection can be opened. `name`: of the module or app that is loaded.

    Raises:
        UnusableApp: it fails or opens a connection.
    """
    before = len(tasklab_guard.asked_since_start())
    try:
        loaded = load()
    except ModuleNotFoundError as error:
        where = " in the present directory or in the environment of this Python"
        raise UnusableApp("there is no module " + str(error.name) + where + ", imported for " + name) from error
    except BaseException as error:
        if asked := tasklab_guard.asked_since_start()[before:]:
            raise UnusableApp(_connects(name, asked)) from error
        raise UnusableApp(name + " cannot be imported: " + _told(error)) from error
    if asked := tasklab_guard.asked_since_start()[before:]:
        raise UnusableApp(_connects(name, asked))
    return loaded


def _told(error: BaseException) -> str:
    """The error, and the last place of the app's own code in its traceback."""
    here = os.path.dirname(os.path.abspath(__file__))
    frames = [one for one in traceback.extract_tb(error.__traceback__) if not one.filename.startswith(("<", here))]
    own = [one for one in frames if os.sep + "lib" + os.sep + "python" not in one.filename] or frames
    where = " (%s, line %s)" % (own[-1].filename, own[-1].lineno) if own else ""
    if isinstance(error, SyntaxError):
        where = " (%s, line %s)" % (error.filename, error.lineno)
    return type(error).__name__ + (": " + str(error) if str(error) else "") + where


def _connects(name: str, asked: Sequence[str]) -> str:
    return (
        name
        + " connects to "
        + ", ".join(sorted(set(asked)))
        + " while it is imported; nothing was contacted: open the connection "
        "when it is used first, or guard it by a setting"
    )


def public_names(target: Any) -> List[str]:
    """The attributes of an object that begin with a letter."""
    return [name for name in dir(target) if not name.startswith("_")]


def hint(name: str, known: Sequence[str]) -> str:
    """The nearest of the known names, as the end of a sentence."""
    nearest = difflib.get_close_matches(name, list(known), n=3, cutoff=0.4)
    return "; did you mean " + " or ".join(nearest) + "?" if nearest else ""


def addresses(services: Any) -> Dict[str, Dict[str, Any]]:
    """The services of a run as plain data, by name: host, port, and what is needed to log in."""
    fields = {
        "redis": ("host", "port"),
        "rabbitmq": ("host", "port", "user", "password", "vhost"),
        "postgresql": ("host", "port", "user", "password", "database"),
    }
    stated = {name: getattr(services, name) for name in fields}
    return {
        name: {field: getattr(address, field) for field in fields[name]}
        for name, address in stated.items()
        if address is not None
    }


class ClientBroker:
    """A client's broker at this address: whether it accepts connections. Asked only after a submission has failed.

    While it accepts none, the outcome of a submission is certain: nothing can have been sent, so the client may try again.
    """

    def __init__(self, address: Mapping[str, Any]) -> None:
        self._address = (address["host"], address["port"])
        self.has_failed = False

    def refuses(self) -> bool:
        """Whether the last submission failed, and no connection can be opened now either."""
        if self.has_failed:
            try:
                socket.create_connection(self._address, CONNECTED_S).close()
            except OSError:
                return True
            self.has_failed = False
        return False


def environment_for(choice: Choice, turned: Mapping[str, Any], environment: Mapping[str, str]) -> Dict[str, str]:
    """The variables of a worker process: those of the lab, its choice and addresses, and this directory on its path."""
    here = os.path.dirname(os.path.abspath(__file__))
    paths = [path for path in (environment.get("PYTHONPATH"), here) if path]
    stated = json.dumps({"choice": asdict(choice), "services": turned})
    return {**environment, "PYTHONPATH": os.pathsep.join(paths), TURNED_TO: stated}


def turned_to() -> Optional[Tuple[Choice, Mapping[str, Any]]]:
    """In a worker process of the lab: the choice and the services of its environment. Elsewhere None."""
    if TURNED_TO not in os.environ:
        return None
    stated = json.loads(os.environ[TURNED_TO])
    return Choice(**stated["choice"]), stated["services"]


def check_redis(client: Any) -> None:
    """Raise UnusableApp for a client of redis-py that asks Sentinels or a cluster for its server: it cannot be turned."""
    pool: Any = getattr(client, "connection_pool", None)
    if not hasattr(pool, "connection_kwargs") or "service_name" in vars(pool):
        raise UnusableApp(
            "its Redis client asks Sentinels or a cluster for the server; the adapter cannot turn it to the lab's Redis"
        )


def turn_redis(client: Any, address: Mapping[str, Any]) -> None:
    """Let the next connection of a client of redis-py go to this address, without TLS or a password; all other settings stay."""
    import redis  # only here: not every library has it

    pool = client.connection_pool
    kwargs = pool.connection_kwargs
    for name in (
        "path",
        "username",
        "password",
        "credential_provider",
        *(name for name in kwargs if name[:4] == "ssl_"),
    ):
        kwargs.pop(name, None)
    kwargs.update(host=address["host"], port=address["port"], db=0)
    if "orig_host_address" in kwargs:  # where redis-py 8 returns to after maintenance of the server
        kwargs["orig_host_address"] = address["host"]
    pool.connection_class = redis.Connection


def worker_names(choice: Choice) -> List[str]:
    """The names of the worker processes."""
    return ["worker-%d" % number for number in range(1, choice.workers + 1)]


def versions(*distributions: str) -> Dict[str, str]:
    """The installed versions of these distributions, without those that are missing; and that of Python."""
    from importlib import metadata

    stated = {"python of the app": "%d.%d.%d" % sys.version_info[:3]}
    for name in distributions:
        try:
            stated[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return stated


def read_by_adapter(library: str, choice: Choice, make: Callable[[Choice], Any]) -> Any:
    """What `make` makes of the choice; a failure in a version that was never tried is said to be one.

    Raises:
        UnusableApp: the app cannot be tested, or not in this version.
    """
    try:
        return make(choice)
    except UnusableApp:
        raise
    except Exception as error:
        installed = versions(library).get(library, "of an unknown version")
        if installed in choice.tried:
            raise
        untried = " was never tried with this adapter, which was tried with " + ", ".join(choice.tried)
        told = ", and it cannot be read: " + type(error).__name__ + ": " + str(error)
        raise UnusableApp(library + " " + installed + untried + told) from error


def prepared(make: Callable[[Choice], Any]) -> Any:
    """In a worker process of the lab: the app that `make` makes of its choice, turned to the lab's services. Elsewhere None."""
    turned = turned_to()
    if turned is None:
        return None
    choice, services = turned
    app = make(choice)
    app.turn(services)
    return app


def a(value: Any) -> str:
    """The class of a value, with its article."""
    name = type(value).__name__
    return ("an " if name[:1].lower() in tuple("aeiou") else "a ") + name


def seconds(value: float) -> str:
    """A duration as text."""
    return "%.10g s" % round(value, 3)
