"""The Python sources of a project: parsed, with the meaning of each name that they import."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

FILES_MAX = 5_000
FILE_BYTES_MAX = 1 << 20
SKIPPED = frozenset({"node_modules", "site-packages", "__pycache__", "build", "dist", "tests", "test"})
SOURCE_ROOTS = ("src",)
"""Directories that are on the path of an installed project, and are no packages themselves."""
LINKS_MAX = 10
"""How often a name may be imported from a module that imports it itself."""
DEPENDENCY_FILES = ("pyproject.toml", "requirements*.txt", "requirements/*.txt", "setup.cfg", "setup.py", "Pipfile")


@dataclass(frozen=True, slots=True)
class SourceModule:
    """One module. `imports`: by local name, the full name of what it stands for."""

    name: str
    file: Path
    tree: ast.Module
    imports: dict[str, str]

    def full_name(self, expression: ast.expr) -> str:
        """`package.module.name` of a name or attribute; "" for any other expression."""
        match expression:
            case ast.Name(id=name):
                return self.imports.get(name, f"{self.name}.{name}")
            case ast.Attribute(value=value, attr=attribute):
                base = self.full_name(value)
                return base and f"{base}.{attribute}"
        return ""


@dataclass(frozen=True, slots=True)
class Project:
    """All modules by name. `unread`: files that are no Python, or too large. `dependencies`: the text of what it depends on."""

    modules: dict[str, SourceModule]
    unread: Sequence[Path]
    dependencies: str

    def original(self, full_name: str) -> str:
        """The full name where the object is defined, if the project's modules only pass it on."""
        for _ in range(LINKS_MAX):
            module, _, name = full_name.rpartition(".")
            if module not in self.modules or name not in self.modules[module].imports:
                return full_name
            full_name = self.modules[module].imports[name]
        return full_name

    def depends_on(self, library: str) -> bool:
        """Whether its files of dependencies name the library."""
        return re.search(rf"(?<![\w-]){library}(?![\w-])", self.dependencies, re.IGNORECASE) is not None


def read_project(directory: Path) -> Project:
    """The sources below this directory, without hidden directories, virtual environments and tests."""
    modules: dict[str, SourceModule] = {}
    unread: list[Path] = []
    for file in _files(directory):
        try:
            tree = ast.parse(file.read_bytes()) if file.stat().st_size <= FILE_BYTES_MAX else None
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            tree = None
        if tree is None:
            unread.append(file.relative_to(directory))
            continue
        name, is_package = _name_of(file.relative_to(directory))
        if not all(part.isidentifier() for part in name.split(".")):
            continue  # a script, which cannot be imported
        modules[name] = SourceModule(
            name, file.relative_to(directory), tree, _imports(tree, name, is_package=is_package)
        )
    return Project(modules, unread, _dependencies(directory))


def _files(directory: Path) -> Iterator[Path]:
    """At most `FILES_MAX`, in the order of their paths, those of a directory before those below it."""
    left, places = FILES_MAX, [directory]
    while places and left > 0:
        place = places.pop(0)
        try:
            entries = sorted(place.iterdir())
        except OSError:
            continue
        for entry in entries:
            if entry.is_symlink() or entry.name.startswith("."):
                continue
            if entry.suffix == ".py" and entry.is_file() and left > 0:
                left -= 1
                yield entry
            elif entry.is_dir() and entry.name not in SKIPPED and not (entry / "pyvenv.cfg").exists():
                places.append(entry)


def _name_of(path: Path) -> tuple[str, bool]:
    """The name by which the module is imported, and whether it is a package."""
    parts = list(path.with_suffix("").parts)
    if len(parts) > 1 and parts[0] in SOURCE_ROOTS:
        parts = parts[1:]
    is_package = len(parts) > 1 and parts[-1] == "__init__"
    return ".".join(parts[:-1] if is_package else parts), is_package


def _imports(tree: ast.Module, module: str, *, is_package: bool) -> dict[str, str]:
    found: dict[str, str] = {}
    package = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                found[alias.asname or alias.name] = f"{source}.{alias.name}"
    return found


def _dependencies(directory: Path) -> str:
    files = [file for pattern in DEPENDENCY_FILES for file in sorted(directory.glob(pattern)) if file.is_file()]
    return "\n".join(file.read_text(errors="replace") for file in files if file.stat().st_size <= FILE_BYTES_MAX)
