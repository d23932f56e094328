"""Drivers of databases with sockets of their own, which Python's audit hook (tasklab_guard.py) does not see: asked before they connect.

psycopg and psycopg2. Each is patched as soon as it is imported. Standard library only, from Python 3.8 on.
"""

import functools
import os
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder
from typing import Any, Callable, Dict, Mapping

import tasklab_guard

PORT = 5432


def check_libpq(stated: Mapping[str, Any]) -> None:
    """Raise ConnectionRefusedError if libpq, with these settings, would ask any server but the lab's, those behind Unix sockets too."""
    host = stated.get("hostaddr") or stated.get("host") or os.environ.get("PGHOST") or "the default host of libpq"
    port = stated.get("port") or os.environ.get("PGPORT") or PORT
    tasklab_guard.check(str(host), int(str(port).partition(",")[0]))  # a list, if there are several servers


def _patch_psycopg(module: Any) -> None:
    from psycopg.conninfo import conninfo_to_dict

    connect = module.connect

    @functools.wraps(connect)
    def guarded(conninfo: str, *more: Any, **options: Any) -> Any:
        check_libpq(conninfo_to_dict(conninfo))
        return connect(conninfo, *more, **options)

    module.connect = guarded


def _patch_psycopg2(module: Any) -> None:
    connect = module._connect

    @functools.wraps(connect)
    def guarded(dsn: str, *more: Any, **options: Any) -> Any:
        check_libpq(module.extensions.parse_dsn(dsn))
        return connect(dsn, *more, **options)

    module._connect = guarded


PATCHES: Dict[str, Callable[[Any], None]] = {
    "psycopg.generators": _patch_psycopg,
    "psycopg2": _patch_psycopg2,
}


class DriverFinder(MetaPathFinder):
    """Finds these modules where they are, and patches each after its import."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        """The spec of one of these modules, with a loader that patches it; of every other module None."""
        spec = PathFinder.find_spec(fullname, path, target) if fullname in PATCHES else None
        if spec is None or spec.loader is None:
            return None
        load: Any = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            load(module)
            PATCHES[fullname](module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def install() -> None:
    """Patch the drivers that are imported already, and the others as soon as they are."""
    for name, patch in PATCHES.items():
        if name in sys.modules:
            patch(sys.modules[name])
    sys.meta_path.insert(0, DriverFinder())


install()
