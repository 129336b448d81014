"""Lazy imports: names of a package that import their module on first use (PEP 562).

After its first use a name is an ordinary global of the package.

Two threads may use a name for the first time concurrently. Python locks single modules, not packages: one thread can
import a submodule while another is still running the package's `__init__`, and see a partly initialized package. A
lock for all lazy names prevents that. Import statements do not take the lock, since they already hold module locks
that a thread with this lock may be waiting for.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any


def attach(
    package: str,
    names: Mapping[str, str],
    collections: Sequence[str] = (),
    modules: Iterable[str] = (),
    missing: Callable[[str], str] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a package. `__all__` is computed on demand too.

    Args:
        package: name of the package
        names: names to import per module, as in an import statement: "Device as device, cuda_available"
        collections: modules whose `__all__` is part of the package's, in search order
        modules: submodules that are part of `__all__`; other submodules are accessible too
        missing: returns the message of the AttributeError for an unknown name
    """
    sources = dict(_sources(names))

    def public_names() -> list[str]:
        found = [*sources, *modules]
        for collection in collections:
            found += importlib.import_module(collection).__all__
        return sorted({name for name in found if not name.startswith("_")})

    def find(name: str) -> Any:
        if name in sources:
            source, attribute = sources[name]
            return getattr(importlib.import_module(source), attribute)
        if name == "__all__":
            return public_names()
        if not name.startswith("__"):
            path = f"{package}.{name}"
            if importlib.util.find_spec(path) is not None:
                return importlib.import_module(path)
            for collection in map(importlib.import_module, collections):
                if name in collection.__all__:
                    return getattr(collection, name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}" if missing is None else missing(name))

    @locked
    def get(name: str) -> Any:
        value = find(name)
        setattr(sys.modules[package], name, value)
        return value

    def names_of_package() -> list[str]:
        return sorted({*vars(sys.modules[package]), *public_names()})

    return get, names_of_package


def module(name: str) -> Any:
    """Return a proxy of a module that is imported when an attribute is first used."""
    return _LazyModule(name)


class _LazyModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        value = getattr(importlib.import_module(self.__name__), name)
        setattr(self, name, value)
        return value


def locked(get: Callable[[str], Any]) -> Callable[[str], Any]:
    """Make a module's `__getattr__` run in one thread at a time, except in import statements."""

    def get_locked(name: str) -> Any:
        if sys._getframe(1).f_globals.get("__name__") == "importlib._bootstrap":
            return get(name)
        with _LOCK:
            return get(name)

    return get_locked


_LOCK = threading.RLock()


def _sources(names: Mapping[str, str]) -> Iterable[tuple[str, tuple[str, str]]]:
    """Return for each name of the package its defining module and its name there."""
    for module, listed in names.items():
        for item in listed.split(", "):
            attribute, _, name = item.partition(" as ")
            yield name or attribute, (module, attribute)
