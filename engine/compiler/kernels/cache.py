"""Generated modules as files: numba keeps machine code beside them, so a later process loads it in milliseconds.

A folder for each version of what has a say in the machine code: numba and LLVM, Python, the CPU, and the functions that
kernels call. Files are written whole or not at all; what cannot be loaded is built again.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import platform
import queue
import shutil
import sys
import tempfile
import threading
from importlib.metadata import version
from pathlib import Path
from typing import Any

import platformdirs

from engine.compiler.kernels.expression import Unlowered

VARIABLE = "GRADWIRE_KERNELS"
"""Environment variable with the folder to keep kernels in."""
_USED = ("blocks", "memory", "planes", "rows", "tiles", "windows")
"""Modules beside this one that kernels import."""
LIMIT = 256 << 20
"""Bytes that the folder may hold; the oldest kernels go first."""
_PREFIX = "gradwire_kernel_"


class Module:
    """A generated module: compiled in the background, or loaded."""

    def __init__(self, source: str, title: str) -> None:
        self.source, self.title = source, title
        self.file = f"{_PREFIX}{hashlib.sha256(source.encode()).hexdigest()[:20]}.py"
        self.function: Any = None
        self.error: Exception | None = None
        self._done = threading.Event()

    @property
    def ready(self) -> bool:
        return self.function is not None

    def wait(self) -> None:
        self._done.wait()
        if self.error is not None:
            raise self.error

    def waited(self) -> Any:
        """The function, as soon as it is compiled."""
        self.wait()
        return self.function

    def build(self) -> None:
        """Loads the module, or compiles it."""
        try:
            self.function = _built(self)
        except Exception as error:  # noqa: BLE001 - kept for whoever waits, in another thread
            self.error = Unlowered(f"{self.title} did not compile: {error}")
            self.error.__cause__ = error
        self._done.set()


class Compiler:
    """Modules by source, and the thread that compiles them, one after the other: numba has a lock around it anyway."""

    def __init__(self) -> None:
        self.modules: dict[str, Module] = {}
        self._lock = threading.Lock()
        self._queue: queue.SimpleQueue[Module] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def load(self, source: str, title: str) -> Module:
        with self._lock:
            found = self.modules.get(source)
            if found is None:
                found = self.modules[source] = Module(source, title)
                self._queue.put(found)
                if self._thread is None or not self._thread.is_alive():
                    self._thread = threading.Thread(target=self._work, name="kernel compiler", daemon=True)
                    self._thread.start()
        return found

    def known(self, source: str, title: str) -> Module:
        """The module of a source, which nobody else builds."""
        with self._lock:
            return self.modules.setdefault(source, Module(source, title))

    def wait(self) -> None:
        """Returns once all modules are there that anybody asked for."""
        for module in list(self.modules.values()):
            module.wait()

    def _work(self) -> None:
        while True:
            try:
                module = self._queue.get(timeout=_PATIENCE)
            except queue.Empty:
                with self._lock:
                    if self._queue.empty():
                        self._thread = None
                        return
                continue
            module.build()


_PATIENCE = 5.0
"""Seconds without work after which the thread ends."""

COMPILER = Compiler()
load = COMPILER.load


def built(source: str, title: str) -> Any:
    """The function of a module that somebody waits for: it is built here, before what is in the queue."""
    with _building:
        module = COMPILER.known(source, title)
        if module.error is None and not module.ready:
            module.build()
        module.wait()
        return module.function


_building = threading.Lock()


def folder() -> Path:
    """Where kernels are kept, by what has a say in their machine code."""
    chosen = os.environ.get(VARIABLE)
    root = Path(chosen) if chosen else Path(platformdirs.user_cache_dir("gradwire", appauthor=False)) / "kernels"
    return root / _circumstances()


_known: dict[str, str] = {}


def _circumstances() -> str:
    found = _known.get("")
    if found is None:
        binding = importlib.import_module("llvmlite.binding")
        features = binding.get_host_cpu_features().flatten()
        parts = [version("numba"), version("llvmlite"), version("numpy"), sys.version, platform.machine(),
                 binding.get_host_cpu_name(), features]  # fmt: skip
        here = Path(__file__).parent
        used = [*(here / f"{name}.py" for name in _USED), *sorted(here.glob("functions/*.py"))]
        parts += [path.read_text(encoding="utf-8") for path in used]
        digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
        found = _known[""] = f"{version('numba')}-{binding.get_host_cpu_name()}-{digest}"
    return found


def _built(module: Module) -> Any:
    """The kernel function; what lies in the cache and cannot be used is thrown away."""
    try:
        place = folder()
        place.mkdir(parents=True, exist_ok=True)
    except OSError:
        place = Path(tempfile.mkdtemp(prefix="gradwire-kernels-"))
    path = place / module.file
    is_new = not _holds(path, module.source)
    if is_new:
        _forget(path)
        _write(path, module.source)
    try:
        found = _imported(path)
    except Exception:  # noqa: BLE001 - whatever a damaged file raises
        _forget(path)
        _write(path, module.source)
        found = _imported(path)
    if not is_new:
        _touch(path)
    elif len(COMPILER.modules) % _OFTEN == 1:
        tidy(place.parent, LIMIT)
    return found


def is_kept(source: str) -> bool:
    """Whether the machine code of a module lies on disk."""
    path = folder() / Module(source, "").file
    return _holds(path, source) and any(path.parent.glob(f"__pycache__/{path.stem}.*.nbc"))


def _holds(path: Path, source: str) -> bool:
    try:
        return path.read_text(encoding="utf-8") == source
    except (OSError, UnicodeDecodeError):
        return False


def _write(path: Path, source: str) -> None:
    """All at once: another process may be reading."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".py")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(source)
    os.replace(name, path)


def _imported(path: Path) -> Any:
    name = path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # numba looks the function's module up by its name
    spec.loader.exec_module(module)
    return module.kernel


def _forget(path: Path) -> None:
    """Deletes a module and the machine code beside it."""
    for one in (path, *path.parent.glob(f"__pycache__/{path.stem}.*"), *path.parent.glob(f"__pycache__/*{path.stem}*")):
        one.unlink(missing_ok=True)


def _touch(path: Path) -> None:
    """Notes that a kernel is still used; the time of the source itself is part of numba's key."""
    mark = path.with_suffix(".used")
    try:
        mark.touch()
    except OSError:
        pass


_OFTEN = 16
"""Modules of a process after which it looks again how full the folder is."""


def tidy(root: Path, limit: int) -> None:
    """Deletes the kernels that were not used for longest until the rest fit the limit."""
    sizes: dict[Path, int] = {}
    used: dict[Path, float] = {}
    for part in (*root.glob(f"*/{_PREFIX}*"), *root.glob(f"*/__pycache__/{_PREFIX}*")):
        home = part.parent.parent if part.parent.name == "__pycache__" else part.parent
        path = home / f"{part.name.partition('.')[0]}.py"
        try:
            found = part.stat()
        except OSError:  # another process deleted it
            continue
        sizes[path] = sizes.get(path, 0) + found.st_size
        used[path] = max(used.get(path, 0.0), found.st_mtime)
    total = sum(sizes.values())
    for _, path in sorted((when, path) for path, when in used.items()):
        size = sizes[path]
        if total <= limit:
            return
        try:
            _forget(path)
            path.with_suffix(".used").unlink(missing_ok=True)
        except OSError:  # in use, on Windows
            continue
        total -= size


def clear() -> None:
    """Deletes all kernels kept on disk."""
    shutil.rmtree(folder().parent, ignore_errors=True)


__all__ = ["COMPILER", "LIMIT", "VARIABLE", "Module", "clear", "folder", "is_kept", "load", "tidy"]
