"""Compiled kernels on disk, which later processes load in a millisecond without importing numba.

There is a folder for each combination of what the machine code depends on: numba, LLVM, Python, the CPU, and the
functions that kernels call. Files are written atomically; damaged files and files of other users are compiled again.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import platform
import queue
import shutil
import stat
import sys
import tempfile
import threading
import warnings
import weakref
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import platformdirs

from engine.compiler.kernels.compile_process import CompileProcess, CompilerUnavailableError, compile_in_process
from engine.compiler.kernels.cpython_objects import SELF_TEST
from engine.compiler.kernels.object_code import ObjectCode, load_function
from engine.compiler.kernels.scalar_expression import LoweringUnsupported

FOLDER_VARIABLE = "GRADWIRE_KERNELS"
"""Environment variable that sets the cache folder."""
_KERNEL_MODULES = (
    "blas_calls",
    "blocked_matmul",
    "cpython_objects",
    "image_planes",
    "machine_code",
    "numba_internals",
    "object_code",
    "packed_matmul",
    "parallel_calls",
    "pooling_windows",
    "raw_memory",
    "register_tiles",
    "statistics_tiles",
    "thread_pool",
)
"""Modules in this folder that kernels import."""
MAX_CACHE_BYTES = 256 << 20
"""Maximum size of the cache folder in bytes; the oldest kernels are removed first."""
_PREFIX = "gradwire_kernel_"


class KernelModule:
    """The source of a kernel, and its function once it is compiled or loaded."""

    def __init__(self, source: str, title: str) -> None:
        self.source, self.title = source, title
        self.function: Any = None
        self.error: Exception | None = None
        self._done = threading.Event()

    @property
    def file(self) -> Path:
        """Its cache file."""
        return cache_folder() / f"{_PREFIX}{hashlib.sha256(self.source.encode()).hexdigest()[:20]}"

    @property
    def ready(self) -> bool:
        return self.function is not None

    @property
    def is_done(self) -> bool:
        """Whether it is ready or has failed."""
        return self._done.is_set()

    def wait(self) -> None:
        while not self._done.wait(_POLL_SECONDS):
            COMPILER.ensure_worker()  # the thread that queued it may have been interrupted
        if self.error is not None:
            raise self.error

    def wait_for_function(self) -> Any:
        """Waits until it is compiled, and returns the function."""
        self.wait()
        return self.function

    def load(self) -> bool:
        """Loads the function from disk if it is there."""
        try:
            self.function = _load(self)
        except Exception:  # noqa: BLE001 - compiling reports the cause
            return False
        if self.ready:
            self._done.set()
        return self.ready

    def build(self, process: CompileProcess) -> None:
        """Loads or compiles the function."""
        if self._done.is_set() or self.load():
            return
        try:
            SELF_TEST.require()
            self.function = _compile(self, process)
        except Exception as error:  # noqa: BLE001 - raised again in waiting threads
            self.error = LoweringUnsupported(f"{self.title} did not compile: {error}")
            self.error.__cause__ = error
            if isinstance(error, CompilerUnavailableError):
                COMPILER.warn_once(str(error))
        finally:
            self._done.set()


class KernelCompiler:
    """Compiles kernels in a background thread, one after the other.

    Kernels that are no longer referenced, such as those of a graph that was edited, are not compiled.
    """

    def __init__(self) -> None:
        self.modules: dict[str, KernelModule] = {}
        """Finished kernels by source."""
        self._requested: weakref.WeakValueDictionary[str, KernelModule] = weakref.WeakValueDictionary()
        """Kernels by source that are not finished."""
        self._lock = threading.Lock()
        self._queue: queue.SimpleQueue[weakref.ref[KernelModule]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._process = CompileProcess()
        self._has_warned = False

    def warn_once(self, message: str) -> None:
        """Warns that kernels cannot be compiled, once per process."""
        if not self._has_warned:
            self._has_warned = True
            warnings.warn(message, RuntimeWarning, stacklevel=2)

    def load(self, source: str, title: str) -> KernelModule:
        with self._lock:
            found = self.modules.get(source) or self._requested.get(source)
            if found is None:
                found = KernelModule(source, title)
                if found.load():
                    self.modules[source] = found
                else:
                    self._requested[source] = found
                    self._queue.put(weakref.ref(found))
        if not found.is_done:
            self.ensure_worker()
        return found

    def ensure_worker(self) -> None:
        """Starts a thread for the queue. If the system refuses one, the calling thread compiles."""
        with self._lock:
            if self._queue.empty() or (self._thread is not None and self._thread.is_alive()):
                return
            thread = threading.Thread(target=self._work, name="kernel compiler", daemon=True)
            try:
                thread.start()
                self._thread = thread
                return
            except RuntimeError:
                pass
        with suppress(queue.Empty):
            while True:
                self._build(self._queue.get_nowait()())

    def build_now(self, source: str, title: str, process: CompileProcess) -> KernelModule:
        """Builds a kernel in this thread, in parallel to the queue."""
        with self._lock:
            found = self.modules.get(source) or self._requested.setdefault(source, KernelModule(source, title))
        try:
            found.build(process)
        finally:
            self._keep(found)
        return found

    def wait(self) -> None:
        """Waits for all kernels that are still referenced, also for those that fail."""
        with self._lock:
            requested = list(self._requested.values())
        for module in requested:
            with suppress(LoweringUnsupported):  # NumPy computes its values
                module.wait()

    def _build(self, module: KernelModule | None) -> None:
        if module is not None:
            try:
                module.build(self._process)
            finally:
                self._keep(module)

    def _keep(self, module: KernelModule) -> None:
        with self._lock:
            self.modules[module.source] = module
            self._requested.pop(module.source, None)

    def _work(self) -> None:
        while True:
            try:
                reference = self._queue.get(timeout=_IDLE_SECONDS)
            except queue.Empty:
                with self._lock:
                    if self._queue.empty():
                        self._thread = None
                        return
                continue
            self._build(reference())


_IDLE_SECONDS = 5.0
"""Seconds without work after which the thread ends."""
_POLL_SECONDS = 0.5
"""Seconds between checks of a waiting thread that the queue has a thread."""

COMPILER = KernelCompiler()
compile_in_background = COMPILER.load


def compile_now(source: str, title: str) -> Any:
    """Compiles a kernel at once, in parallel to the queue, and returns its function."""
    with _foreground_lock:
        _foreground_titles.append(title)
        try:
            module = COMPILER.build_now(source, title, _foreground_process)
        finally:
            _foreground_titles.pop()
    return module.wait_for_function()


def kernel_compiled_now() -> str:
    """Title of the kernel that `compile_now` is compiling for another thread; empty if there is none."""
    titles = _foreground_titles[-1:]
    return titles[0] if titles else ""


_foreground_titles: list[str] = []
_foreground_lock = threading.Lock()
_foreground_process = CompileProcess()


def cache_folder() -> Path:
    """The cache folder for this environment."""
    chosen = os.environ.get(FOLDER_VARIABLE)
    root = Path(chosen) if chosen else Path(platformdirs.user_cache_dir("gradwire", appauthor=False)) / "kernels"
    return root / _environment_name()


_environment_names: dict[str, str] = {}


def _environment_name() -> str:
    found = _environment_names.get("")
    if found is None:
        binding = importlib.import_module("llvmlite.binding")
        features = binding.get_host_cpu_features().flatten()
        parts = [version("numba"), version("llvmlite"), version("numpy"), sys.version, platform.machine(),
                 binding.get_host_cpu_name(), features]  # fmt: skip
        parts += [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith("NUMBA_")]
        folder = Path(__file__).parent
        files = [*(folder / f"{name}.py" for name in _KERNEL_MODULES), *sorted(folder.glob("functions/*.py"))]
        parts += [path.read_text(encoding="utf-8") for path in files]
        digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
        found = _environment_names[""] = f"{version('numba')}-{binding.get_host_cpu_name()}-{digest}"
    return found


def _load(module: KernelModule) -> Any:
    """The function of a source from the cache; None if it is not there."""
    path = module.file
    code = read(path, module.source)
    if code is None:
        return None
    found = load_function(code)
    with suppress(OSError):
        os.utime(path)  # mark it as used
    return found


def _compile(module: KernelModule, process: CompileProcess) -> Any:
    """Compiles a source, caches it, and returns its function."""
    code = process.code_of(module.source, str(module.file))
    try:
        found = load_function(code)
    except ImportError:  # it imports functions that only numba provides
        code = compile_in_process(module.source, str(module.file))
        found = load_function(code)
    try:
        write(module.file, module.source, code)
    except OSError:  # not cached; compiled again in the next process
        return found
    if len(COMPILER.modules) % _EVICTION_INTERVAL == 1:
        evict_oldest(cache_folder().parent, MAX_CACHE_BYTES)
    return found


# -- files


def is_cached(source: str) -> bool:
    """Whether the cache has a kernel."""
    return read(KernelModule(source, "").file, source) is not None


MAGIC = b"gradwire kernel 1\n"
"""Start of a cache file. A digest of the rest follows, then a line of JSON, then machine code."""


def read(path: Path, source: str) -> ObjectCode | None:
    """Reads a cache file of this user; None if it is damaged or for another source."""
    try:
        with path.open("rb") as file:
            if hasattr(os, "getuid") and os.fstat(file.fileno()).st_uid != os.getuid():
                return None
            data = file.read()
    except OSError:
        return None
    start = len(MAGIC) + hashlib.sha256().digest_size
    rest = data[start:]
    if data[:start] != MAGIC + hashlib.sha256(rest).digest():
        return None
    header, _, code = rest.partition(b"\n")
    found = json.loads(header)
    return ObjectCode(code, tuple(found["needs"])) if found["source"] == source else None


def write(path: Path, source: str, code: ObjectCode) -> None:
    """Writes a cache file atomically, because other processes may read it."""
    rest = json.dumps({"source": source, "needs": code.needs}).encode() + b"\n" + code.code
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=_PREFIX)
    with os.fdopen(handle, "wb") as file:
        file.write(MAGIC + hashlib.sha256(rest).digest() + rest)
    os.replace(name, path)


_EVICTION_INTERVAL = 16
"""Compiled kernels after which the size of the folder is checked again."""


def evict_oldest(root: Path, limit: int) -> None:
    """Deletes the least recently used files until the others fit the limit."""
    found: list[tuple[float, int, Path]] = []
    for path in root.rglob("*"):
        try:
            status = path.stat()
        except OSError:  # deleted by another process
            continue
        if stat.S_ISREG(status.st_mode):
            found.append((status.st_mtime, status.st_size, path))
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= limit:
            return
        try:
            path.unlink(missing_ok=True)
        except OSError:  # in use, on Windows
            continue
        total -= size


def clear_cache() -> None:
    """Deletes all cached kernels."""
    shutil.rmtree(cache_folder().parent, ignore_errors=True)


__all__ = [
    "COMPILER",
    "MAX_CACHE_BYTES",
    "MAGIC",
    "FOLDER_VARIABLE",
    "KernelModule",
    "ObjectCode",
    "cache_folder",
    "clear_cache",
    "compile_in_background",
    "evict_oldest",
    "is_cached",
    "kernel_compiled_now",
    "read",
    "write",
]
