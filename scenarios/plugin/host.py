"""The client process of a plug-in in Python: loads `package.module:attribute` and answers the lab's requests (docs/protocol.md).

Run as a program: `python host.py package.module:attribute`; for an adapter `python host.py tasklab_LIBRARY:adapted SHIMS FIELDS`,
with a directory for the path, and a JSON object with whose fields the attribute is called. One file, standard library only, from
Python 3.8 on: it runs in the interpreter of the system under test. The plug-in's code cannot end or disturb it:

- Standard output belongs to the protocol. Output of the plug-in, by `print` or by descriptor 1, goes to standard error, which
  the lab keeps as a log of the run; the plug-in's standard input is empty.
- An exception, a `SystemExit` or a value of a wrong type becomes an error answer.
- The system's methods are called in the main thread, one after the other. Each client has its own thread, in which it is made,
  used and closed.

It ends when its standard input ends.
"""

from __future__ import annotations

import dataclasses
import difflib
import enum
import importlib.util
import json
import os
import queue
import sys
import threading
import traceback
from pathlib import Path, PurePath
from types import ModuleType, SimpleNamespace
from typing import Any, Callable, Dict, List, Mapping, NoReturn, Optional

VERSION = 1
REPR_CHARS = 200
MEMBERS = ("name", "claims", "needs", "processes", "client")
POWERS = ("account", "trail", "dump", "api_url", "embedded_processes")
STATEMENTS = ("pace", "policy", "reservations", "capabilities", "versions", "facts", "documented", "documented_deaths")
OPERATIONS = {
    "submit": "Submit",
    "status": "ReadStatus",
    "cancel": "Cancel",
    "pause": "Pause",
    "resume": "Resume",
    "redrive": "Redrive",
    "schedule": "SetSchedule",
}


class RequestFailed(Exception):
    """The answer is an error; `kind` and `message` go to the lab."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


def shown(value: object) -> str:
    """A value for a message, even if its `repr` fails or is long."""
    try:
        text = repr(value)
    except BaseException:  # noqa: BLE001 — `repr` is code of the plug-in
        text = f"<{type(value).__name__}>"
    return text if len(text) <= REPR_CHARS else text[:REPR_CHARS] + "…"


def plain(value: Any) -> Any:
    """The JSON form of an object that `json` does not know."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if hasattr(value, "__struct_fields__"):  # an object of msgspec
        names = zip(value.__struct_fields__, value.__struct_encode_fields__)  # noqa: B905  Python 3.8
        return {name: content for field, name in names if (content := getattr(value, field)) is not None}
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, enum.Enum):
        return value.value
    raise RequestFailed("wrong_type", f"its answer holds {shown(value)}, which cannot be converted to JSON")


def tagged(value: Any) -> Any:
    """The JSON form of a scenario: each object with the name of its class, since many classes have the same fields."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            "is": type(value).__name__,
            **{field.name: tagged(getattr(value, field.name)) for field in dataclasses.fields(value)},
        }
    if isinstance(value, Mapping):
        return {name: tagged(content) for name, content in value.items()}
    if isinstance(value, (list, tuple)):
        return [tagged(item) for item in value]
    return value


def shaped(what: str, value: object, expected: str) -> Any:
    """`value`, checked to be an object of a class of that name (of any module) or a mapping."""
    if isinstance(value, Mapping) or any(kind.__name__ == expected for kind in type(value).__mro__):
        return value
    raise RequestFailed("wrong_type", f"{what} returned {shown(value)}, not {expected}")


def listed(what: str, value: object, expected: str) -> List[Any]:
    """The items of `value`, each checked as by `shaped`."""
    if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__iter__"):
        raise RequestFailed("wrong_type", f"{what} returned {shown(value)}, not a list of {expected}")
    return [shaped(f"an item of {what}", item, expected) for item in value]


def plugin_classes() -> ModuleType:
    """The module with the classes for plug-ins: `tasklab` if it is installed, else the substitute beside this file."""
    substitute = _module_at(Path(__file__).with_name("tasklab_plugin.py"))
    sys.modules[substitute.__name__] = substitute
    try:
        return importlib.import_module("tasklab.names")
    except ImportError:  # it is not installed here, or not with all that it needs
        return substitute


def _module_at(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None, "a file that ends in .py has a loader"  # noqa: PT018
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module  # before it is executed: its dataclasses look for it there
    spec.loader.exec_module(module)
    return module


def load(place: str) -> Any:
    """The object that `package.module:attribute` names."""
    module_name, _, attribute = place.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise RequestFailed("not_found", f"{place}: {error}; is it installed, or on PYTHONPATH?") from error
    if not hasattr(module, attribute):
        public = [name for name in vars(module) if not name.startswith("_")]
        nearest = " or ".join(difflib.get_close_matches(attribute, public, n=3, cutoff=0.4))
        hint = f"; did you mean {nearest}?" if nearest else ""
        raise RequestFailed("not_found", f"{place}: {module_name} has no {attribute!r}{hint}")
    return getattr(module, attribute)


class Arguments:
    """Makes the arguments for calls of a plug-in from the fields of a request."""

    def __init__(self) -> None:
        self._module = plugin_classes()
        self._addresses: Any = self._module
        if not hasattr(self._module, "MysqlAddress"):
            self._addresses = sys.modules[self._module.Services.__module__]

    def services(self, fields: Mapping[str, Any]) -> Any:
        """The `Services` of a request."""
        values = dict(fields)
        values["directory"] = Path(values["directory"])
        for service, stated in fields.items():
            kind = f"{service.capitalize()}Address"
            if isinstance(stated, Mapping) and hasattr(self._addresses, kind):
                values[service] = self._address(kind, stated)
        values["links"] = {name: self.services(linked) for name, linked in (values.get("links") or {}).items()}
        return _filled(self._module.Services, values)

    def handlers(self, environment: Mapping[str, str]) -> Any:
        """The `Handlers` of a request."""
        return _filled(self._module.Handlers, {"environment": environment})

    def operation(self, fields: Mapping[str, Any]) -> Any:
        """The operation of a request; an older tasklab may lack its class."""
        name = OPERATIONS.get(fields["type"])
        if name is None or not hasattr(self._module, name):
            raise RequestFailed("unsupported", f"this client process knows no operation {fields['type']!r}")
        return _filled(
            getattr(self._module, name), {field: value for field, value in fields.items() if field != "type"}
        )

    def _address(self, kind: str, fields: Mapping[str, Any]) -> Any:
        values = dict(fields)
        if "sentinels" in values:
            values["sentinels"] = tuple((host, port) for host, port in values["sentinels"])
        return _filled(getattr(self._addresses, kind), values)


def _filled(kind: Any, fields: Mapping[str, Any]) -> Any:
    """An object of a data class; unknown fields are ignored."""
    return kind(**{field.name: fields[field.name] for field in dataclasses.fields(kind) if field.name in fields})


class CallQueue:
    """A queue of calls for one thread."""

    def __init__(self) -> None:
        self.calls: queue.Queue[Optional[Callable[[], None]]] = queue.Queue()

    def run(self) -> None:
        """Carry out calls, one after the other, until the call is None."""
        while True:
            call = self.calls.get()
            if call is None:
                return
            call()


class Host:
    """Answers requests, each in its own thread: the main thread, or that of a client."""

    def __init__(self, place: str, write: Callable[[bytes], None], fields: Optional[Mapping[str, Any]] = None) -> None:
        self._place = place
        self._fields = fields
        self._write = write
        self._write_lock = threading.Lock()  # for whole lines
        self._answer_bytes_max = 1 << 20
        self._arguments: Any = None
        self._system: Any = None
        self._clients: Dict[str, Any] = {}
        self._queues: Dict[str, CallQueue] = {}
        self.main = CallQueue()
        self._answers: Dict[str, Callable[[Mapping[str, Any]], Any]] = {
            "describe": self._describe,
            "processes": self._list_processes,
            "embedded_processes": self._list_processes,
            "api_url": self._name_url,
            "client.open": self._open,
            "client.close": self._close,
            "invoke": self._invoke,
            "account": self._read_account,
            "trail": self._read_trail,
            "dump": self._dump,
            "scenario": self._find_scenario,
        }

    def take(self, line: bytes) -> None:
        """Pass a request to its thread."""
        request = json.loads(line)
        calls = self.main.calls
        if "client" in request:
            name = request["client"]
            if name not in self._queues:
                self._queues[name] = CallQueue()
                threading.Thread(target=self._queues[name].run, name=name, daemon=True).start()
            calls = self._queues[name].calls
        calls.put(lambda: self._answer(request))
        if request["do"] == "client.close":
            calls.put(None)
            del self._queues[request["client"]]

    def _answer(self, request: Mapping[str, Any]) -> None:
        try:
            line = self._answered(request)
        except RequestFailed as failure:
            error = {"kind": failure.kind, "message": failure.message.encode(errors="backslashreplace").decode()}
            line = _line({"id": request["id"], "error": error})
        with self._write_lock:
            self._write(line)

    def _answered(self, request: Mapping[str, Any]) -> bytes:
        """The line of an answer; every exception of the plug-in becomes `RequestFailed`."""
        answer = self._answers.get(request["do"])
        if answer is None:
            raise RequestFailed("unsupported", f"this client process knows no request {request['do']!r}")
        try:
            line = _line({"id": request["id"], "ok": answer(request)})
        except RequestFailed:
            raise
        except SystemExit as error:
            traceback.print_exc()
            raise RequestFailed(
                "exited", f"it called sys.exit({'' if error.code is None else shown(error.code)})"
            ) from error
        except BaseException as error:  # the boundary to the plug-in: none of its exceptions may end this process
            traceback.print_exc()
            if type(error).__name__ == "UnusableApp":  # of an adapter: its message is for the user
                raise RequestFailed("not_found", str(error)) from error
            raise RequestFailed("raised", shown(error)) from error
        if len(line) > self._answer_bytes_max:
            raise RequestFailed(
                "too_large", f"its answer has {len(line):,} bytes; at most {self._answer_bytes_max:,} are allowed"
            )
        return line

    def _describe(self, request: Mapping[str, Any]) -> Any:
        if request["protocol"] != VERSION:
            raise RequestFailed("unsupported", f"this client process speaks version {VERSION} of the protocol")
        self._answer_bytes_max = request["answer_bytes_max"]
        self._arguments = Arguments()
        loaded = load(self._place)
        system = self._system = loaded if self._fields is None else loaded(**self._fields)
        lacking = [member for member in MEMBERS if not hasattr(system, member)]
        if lacking:
            raise RequestFailed(
                "not_found",
                f"{self._place} is not a system under test: it lacks {', '.join(lacking)} (docs/writing_a_system.md)",
            )
        stated = {name: getattr(system, name, None) for name in STATEMENTS}
        if callable(stated["versions"]):
            stated["versions"] = stated["versions"]()
        return {
            "protocol": VERSION,
            "name": system.name,
            "summary": (type(system).__doc__ or "").strip().split("\n")[0],
            "claims": _names("claims", system.claims),
            "needs": _names("needs", system.needs),
            "powers": [power for power in POWERS if callable(getattr(system, power, None))],
            **{name: value for name, value in stated.items() if value is not None},
        }

    def _list_processes(self, request: Mapping[str, Any]) -> Any:
        services = self._arguments.services(request["services"])
        found = getattr(self._system, request["do"])(services, self._arguments.handlers(request["environment"]))
        return {"processes": listed(f"{request['do']}()", found, "ProcessSpec")}

    def _name_url(self, request: Mapping[str, Any]) -> Any:
        return {"url": self._system.api_url(self._arguments.services(request["services"]))}

    def _open(self, request: Mapping[str, Any]) -> Any:
        client = self._system.client(self._arguments.services(request["services"]))
        lacking = [member for member in ("invoke", "close") if not hasattr(client, member)]
        if lacking:
            raise RequestFailed("wrong_type", f"client() returned {shown(client)}, which has no {lacking[0]}()")
        self._clients[request["client"]] = client
        return {}

    def _close(self, request: Mapping[str, Any]) -> Any:
        if request["client"] in self._clients:  # else it was never made
            self._clients.pop(request["client"]).close()
        return {}

    def _invoke(self, request: Mapping[str, Any]) -> Any:
        operation = self._arguments.operation(request["operation"])
        answer = self._clients[request["client"]].invoke(operation)
        return shaped(f"invoke({type(operation).__name__})", answer, "Outcome")

    def _read_account(self, request: Mapping[str, Any]) -> Any:
        return shaped("account()", self._system.account(self._arguments.services(request["services"])), "Account")

    def _read_trail(self, request: Mapping[str, Any]) -> Any:
        found = self._system.trail(self._arguments.services(request["services"]))
        return {"events": listed("trail()", found, "Event")}

    def _dump(self, request: Mapping[str, Any]) -> Any:
        return {"places": shaped("dump()", self._system.dump(self._arguments.services(request["services"])), "Mapping")}

    def _find_scenario(self, request: Mapping[str, Any]) -> Any:
        return {"scenario": tagged(shaped(request["name"], load(request["name"]), "Scenario"))}


def _line(answer: Mapping[str, Any]) -> bytes:
    """The answer as a line; raises RequestFailed if a part of it cannot be converted to JSON."""
    try:
        text = json.dumps(answer, default=plain, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        return text.encode() + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise RequestFailed("wrong_type", f"its answer cannot be converted to JSON: {error}") from error


def _names(what: str, value: Any) -> List[Any]:
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        raise RequestFailed("wrong_type", f"{what} is {shown(value)}, not a set of names")
    return sorted(str(getattr(name, "value", name)) for name in value)


def keep_standard_streams() -> SimpleNamespace:
    """The two streams of the protocol, moved from descriptors 0 and 1, which the plug-in may use."""
    streams = SimpleNamespace(requests=os.fdopen(os.dup(0), "rb"), answers=os.dup(1))
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    return streams


def main(place: str, shims: Optional[str] = None, fields: Optional[str] = None) -> NoReturn:
    """Answer until the lab closes the connection."""
    streams = keep_standard_streams()
    # The user's directory comes last, also if PYTHONPATH contains it: a `queue.py` or a package `chaos` in it must hide no other module.
    here, own = os.path.realpath(os.curdir), os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry or os.curdir) not in (here, own)]
    sys.path.append(here)
    sys.path[:0] = [shims] if shims else []

    def write(line: bytes) -> None:
        left = memoryview(line)
        while left:
            left = left[os.write(streams.answers, left) :]

    host = Host(place, write, None if fields is None else json.loads(fields))

    def read() -> None:
        for line in streams.requests:
            host.take(line)
        os._exit(0)  # at once: threads of clients may wait forever

    threading.Thread(target=read, name="requests", daemon=True).start()
    host.main.run()
    raise AssertionError("the queue of the main thread never contains None")


if __name__ == "__main__":
    main(*sys.argv[1:])
