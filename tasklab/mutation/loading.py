"""A module with another source than the one on disk, in this process only; it notes whether the changed statement was executed."""

import ast
import importlib.abc
import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType

from tasklab.mutation.changes import end_of

_MARK = "__tasklab_reached__"


class ChangedModule(importlib.abc.InspectLoader, importlib.abc.MetaPathFinder):
    """Finds and loads one module from `source`. Put it first on `sys.meta_path` before the module is imported.

    `reached`: whether the statement at the byte `position` of the source has been executed.
    """

    def __init__(self, name: str, path: str, source: str, position: int) -> None:
        self.reached = False
        self._name = name
        self._path = path
        self._source = source
        self._line = source.encode()[:position].count(b"\n") + 1
        self._column = len(source.encode()[:position].rpartition(b"\n")[2])

    def install(self) -> None:
        """From now on the module is this one."""
        assert self._name not in sys.modules, f"{self._name} was imported before it was changed"
        sys.meta_path.insert(0, self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The changed module; no other."""
        return importlib.util.spec_from_loader(fullname, self, origin=self._path) if fullname == self._name else None

    def get_source(self, fullname: str) -> str:
        """For tracebacks."""
        return self._source

    def get_code(self, fullname: str) -> CodeType:
        """The code, with a note before the changed statement."""
        tree = ast.parse(self._source)
        _note_before(tree, self._line, self._column)
        return compile(tree, self._path, "exec")

    def exec_module(self, module: ModuleType) -> None:
        """Import it."""
        setattr(module, _MARK, self._note)
        super().exec_module(module)

    def _note(self) -> None:
        self.reached = True


def _note_before(tree: ast.Module, line: int, column: int) -> None:
    """Insert the call before the innermost statement that covers the position."""
    body, index = next(reversed(list(_statements_over(tree, line, column))), (tree.body, len(tree.body)))
    call = ast.parse(f"{_MARK}()").body[0]
    place = body[index] if index < len(body) else tree.body[-1]
    for node in ast.walk(call):
        ast.copy_location(node, place)
    body.insert(index, call)


def _statements_over(node: ast.AST, line: int, column: int) -> Sequence[tuple[list[ast.stmt], int]]:
    """The statements that cover the position, from the outermost, each by the list that holds it."""
    found: list[tuple[list[ast.stmt], int]] = []
    for child in ast.walk(node):
        for name in ("body", "orelse", "finalbody"):
            statements = getattr(child, name, None)
            if not isinstance(statements, list):
                continue
            for index, statement in enumerate(statements):
                if _covers(statement, line, column):
                    found.append((statements, index))
    return found


def _covers(statement: ast.stmt, line: int, column: int) -> bool:
    return (statement.lineno, statement.col_offset) <= (line, column) <= end_of(statement)
