"""Build hook of the wheel: everything that it installs is below `tasklab`, so that no generic name is in a user's site-packages.

In the repository the lab's packages are at the top (`scenarios`, `chaos`, …). A wheel holds them as `tasklab._lab.scenarios`, …:
copied, with their import statements changed, line by line. So a user's package of the same name can be imported in the same process,
and a type checker finds the lab's packages by their real names. An editable install is not changed: it is the repository.
"""

import ast
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FACE = "tasklab"
PACKAGES = ("reference_impl", "chaos", "scenarios", "reports", "loadtests")
HOME = "tasklab._lab"
INIT = '"""The packages of the lab, as a wheel installs them. Nothing in here is public: the public names are those of `tasklab`."""\n'


class LayoutHook(BuildHookInterface):  # type: ignore[type-arg]
    """Replaces the files of a standard wheel with the copies."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the copies, and register them as the content of the wheel."""
        if version == "editable":
            return
        self._directory = Path(tempfile.mkdtemp(prefix="tasklab-wheel-"))
        lay_out(Path(self.root), self._directory)
        build_data["force_include"][str(self._directory / FACE)] = FACE

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the copies."""
        if version != "editable":
            shutil.rmtree(self._directory)


def lay_out(repository: Path, target: Path) -> None:
    """Copy the public package and the others to `target`, in the layout of a wheel."""
    home = target.joinpath(*HOME.split("."))
    _copy(repository / FACE, target / FACE)
    for package in PACKAGES:
        _copy(repository / package, home / package)
    (home / "__init__.py").write_text(INIT)
    for file in target.rglob("*.py"):
        source = file.read_text(encoding="utf-8")
        file.write_text(relocated(source, str(file)), encoding="utf-8")


def _copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))


def relocated(source: str, name: str) -> str:
    """The source with every import of a package of the lab changed to its name in a wheel; no line is added or moved.

    Raises:
        SyntaxError: an `import package.module` without `as`: it would bind the package's old name.
    """
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source, name)):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and _is_ours(node.module or ""):
            _replace(lines, node.lineno, f"from {node.module}", f"from {HOME}.{node.module}")
        elif isinstance(node, ast.Import) and any(_is_ours(alias.name) for alias in node.names):
            (alias, *others) = node.names
            if others or ("." in alias.name and alias.asname is None):
                raise SyntaxError(f"{name}:{node.lineno}: write `from package import module` (.ci/wheel_layout.py)")
            if alias.asname is None:
                _replace(lines, node.lineno, f"import {alias.name}", f"from {HOME} import {alias.name}")
            else:
                _replace(lines, node.lineno, f"import {alias.name}", f"import {HOME}.{alias.name}")
    return "".join(lines)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in PACKAGES


def _replace(lines: list[str], number: int, before: str, after: str) -> None:
    line = lines[number - 1]
    assert line.count(before) == 1, f"an import statement is on one line, in normal form: {line!r}"
    lines[number - 1] = line.replace(before, after)
