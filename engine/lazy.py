"""Names of a package that import their module when they are first used (PEP 562).

After the first use a name is an ordinary global of the package.

Two threads may use a name for the first time at once. Python locks single modules, not packages: a thread can import a
submodule while another one is still running the package's `__init__`, and then sees half of it. One lock for all lazy
names prevents that. Import statements do not take it. They hold module locks already, which a thread with this lock may
be waiting for.
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
    """Returns `__getattr__` and `__dir__` for a package. `__all__` is then computed on demand, too.

    Args:
        package: the name of the package
        names: for each module the names to take from it, as in an import statement: "Device as device, cuda_available"
        collections: modules whose `__all__` belongs to the package; they are searched in this order
        modules: names of submodules that belong to `__all__`; the others can be reached as well
        missing: the text of the AttributeError for a name that does not exist
    """
    sources = dict(_sources(names))

    def listed() -> list[str]:
        found = [*sources, *modules]
        for collection in collections:
            found += importlib.import_module(collection).__all__
        return sorted({name for name in found if not name.startswith("_")})

    def find(name: str) -> Any:
        if name in sources:
            source, attribute = sources[name]
            return getattr(importlib.import_module(source), attribute)
        if name == "__all__":
            return listed()
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
        return sorted({*vars(sys.modules[package]), *listed()})

    return get, names_of_package


def module(name: str) -> Any:
    """Return a module that is imported when one of its attributes is first used."""
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
    """For each name of the package the module that defines it and its name there."""
    for module, listed in names.items():
        for item in listed.split(", "):
            attribute, _, name = item.partition(" as ")
            yield name or attribute, (module, attribute)
