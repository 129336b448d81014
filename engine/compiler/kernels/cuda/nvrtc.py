"""Compiles CUDA sources in the background. CuPy caches machine code on disk by source, options and GPU."""

from __future__ import annotations

import queue
import re
import threading
from contextlib import suppress
from typing import Any

from engine.backend import Device, namespace
from engine.compiler.kernels.scalar_expression import LoweringUnsupported

OPTIONS = ("--std=c++17", "--fmad=false")
"""Products and sums are rounded separately, as on the CPU, so that both devices compute the same values; kernels are
limited by memory. Division, square root and subnormal numbers are exact by default.
"""
THREADS, IDLE_SECONDS = 4, 5.0
"""Number of compiler threads, and seconds without work after which one ends."""
_NAME = re.compile(r'extern "C" __global__ void .*?(\w+)\(const Layout')


class CudaCompilation:
    """The functions of a source on a device, once compiled."""

    def __init__(self, source: str, title: str, device: Device) -> None:
        self.source, self.title, self.device = source, title, device
        self.functions: dict[str, Any] = {}
        self.xp: Any = None
        self.error: Exception | None = None
        self._done = threading.Event()

    @property
    def ready(self) -> bool:
        return self._done.is_set() and self.error is None

    def wait(self) -> None:
        """Waits until it is compiled. Raises LoweringUnsupported if that failed."""
        self._done.wait()
        if self.error is not None:
            raise self.error

    def wait_until_done(self) -> None:
        """Waits until it is compiled or has failed."""
        self._done.wait()

    def build(self) -> None:
        """Compiles in the calling thread."""
        try:
            self.xp = namespace(self.device)
            with self.xp.cuda.Device(self.device.index):
                module = self.xp.RawModule(code=self.source, options=OPTIONS)
                for name in _NAME.findall(self.source):
                    function = module.get_function(name)
                    if hasattr(function, "kernel"):
                        _ = function.kernel  # accessing it compiles it for this device
                    self.functions[name] = function
        except Exception as error:  # noqa: BLE001 - raised again in waiting threads
            self.error = LoweringUnsupported(f"{self.title} did not compile: {error}")
            self.error.__cause__ = error
        self._done.set()


class _Compiler:
    """Compilations by source, and the threads that run them; NVRTC can compile several at once."""

    def __init__(self) -> None:
        self._compilations: dict[tuple[str, Device], CudaCompilation] = {}
        self._lock = threading.Lock()
        self._queue: queue.SimpleQueue[CudaCompilation] = queue.SimpleQueue()
        self._threads = 0

    def load(self, source: str, title: str, device: Device) -> CudaCompilation:
        with self._lock:
            found = self._compilations.get((source, device))
            is_new = found is None
            if found is None:
                found = self._compilations[source, device] = CudaCompilation(source, title, device)
                self._queue.put(found)
                if self._threads < THREADS:
                    self._start()
        if is_new and not self._threads:
            found.build()
        return found

    def _start(self) -> None:
        """Starts a thread, unless the system refuses it."""
        with suppress(RuntimeError):
            threading.Thread(target=self._work, name="CUDA compiler", daemon=True).start()
            self._threads += 1

    def _work(self) -> None:
        while True:
            try:
                one = self._queue.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                with self._lock:
                    if self._queue.empty():
                        self._threads -= 1
                        return
                continue
            one.build()

    def wait(self) -> None:
        """Waits for all requested compilations."""
        for one in list(self._compilations.values()):
            one.wait_until_done()


COMPILER = _Compiler()
load = COMPILER.load

__all__ = ["COMPILER", "OPTIONS", "CudaCompilation", "load"]
