"""A separate process in which numba compiles, because numba holds the GIL for seconds.

It starts on demand, and ends with this process or after some seconds without work. Where it cannot be started, as in a
frozen program, this process compiles.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, BinaryIO

from engine.compiler.kernels.compiler_self_test import compiler_self_test
from engine.compiler.kernels.object_code import ObjectCode

IDLE_SECONDS = 20.0
"""Seconds without work after which the process ends."""
WATCHER_THREAD_NAME = "gradwire-compile-end"
"""Name of the thread that waits for the end of the process."""
_START = """
import json, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
sys.path[:] = json.loads(sys.argv[1])
from engine.compiler.kernels.compile_process import serve
serve()
"""


class KernelCompileError(Exception):
    """A source could not be compiled."""


class CompilerUnavailableError(KernelCompileError):
    """No source can be compiled: the compiler's self-test failed, or its process exits unexpectedly."""


class CompileProcess:
    """Compiles sources one after the other, for any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_waiting = False
        """Whether an answer is pending."""
        self._has_answered = False
        self._owner = os.getpid()

    def code_of(self, source: str, file: str) -> ObjectCode:
        """Compiles a kernel. Raises KernelCompileError."""
        has_exited = False
        with self._lock:
            for _ in range(2):  # the process may just have ended because it was idle
                try:
                    return self._request(source, file)
                except (OSError, EOFError, ValueError) as error:
                    has_exited = isinstance(error, EOFError)
                    self._end()
        if has_exited and not self._has_answered:  # its self-test crashed, and would crash this process, too
            raise CompilerUnavailableError("the process that compiles kernels exits during its self-test")
        return compile_in_process(source, file)

    def end(self) -> None:
        """Ends the process. The next source starts another one."""
        with self._lock:
            self._end()

    def _request(self, source: str, file: str) -> ObjectCode:
        if self._is_waiting:  # the previous request was interrupted, and its answer is still pending
            self._end()
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        self._is_waiting = True
        process.stdin.write(json.dumps([source, file]).encode() + b"\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        if not answer:
            raise EOFError
        error, is_available, needs, size = json.loads(answer)
        code = process.stdout.read(size)
        if len(code) < size:
            raise EOFError
        self._is_waiting, self._has_answered = False, True
        if error is not None:
            raise KernelCompileError(error) if is_available else CompilerUnavailableError(error)
        return ObjectCode(code, tuple(needs))

    def _running(self) -> subprocess.Popen[bytes]:
        if self._owner != os.getpid():  # after a fork, its pipes belong to the parent
            self._process, self._owner = None, os.getpid()
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _START, json.dumps([os.path.abspath(path) for path in sys.path])],
                cwd=Path(__file__).parent,  # numba reads a settings file there
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
            atexit.unregister(self._end)
            atexit.register(self._end)
            thread = threading.Thread(
                target=self._clean_up_after, args=(self._process,), name=WATCHER_THREAD_NAME, daemon=True
            )
            try:
                thread.start()
            except RuntimeError as error:  # this process compiles instead
                raise OSError(str(error)) from None
        return self._process

    def _clean_up_after(self, process: subprocess.Popen[bytes]) -> None:
        """Cleans up after a process that ended."""
        process.wait()
        with self._lock:
            if self._process is process:
                self._end()

    def _end(self) -> None:
        process, self._process, self._is_waiting = self._process, None, False
        if process is None or self._owner != os.getpid():
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # unread data is lost
                    pipe.close()
        process.wait()


def compile_in_process(source: str, file: str) -> ObjectCode:
    """Compiles a kernel in this process. Raises KernelCompileError."""
    if COMPILER_SELF_TEST.failure is not None:
        raise CompilerUnavailableError(COMPILER_SELF_TEST.failure)
    return _compile(source, file)


def _compile(source: str, file: str) -> ObjectCode:
    names: dict[str, Any] = {"__name__": __name__}
    try:
        exec(compile(source, file, "exec"), names)  # noqa: S102 - written by `cpu_source.py`, or a file of this package
    except Exception as error:
        raise KernelCompileError(str(error)) from error
    return names["kernel"]


COMPILER_SELF_TEST = compiler_self_test(_compile)


def serve() -> None:
    """Main loop of the compile process. Ends after some seconds without requests."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # keeps output of the compiler out of the answers
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, requests), daemon=True).start()
    while True:
        try:
            line = requests.get(timeout=IDLE_SECONDS)
        except queue.Empty:
            line = b""
        if not line:
            os._exit(0)  # the other thread may still be reading
        try:
            code = compile_in_process(*json.loads(line))
            answers.write(json.dumps([None, True, code.needs, len(code.code)]).encode() + b"\n" + code.code)
        except KernelCompileError as error:
            answers.write(
                json.dumps([str(error), not isinstance(error, CompilerUnavailableError), (), 0]).encode() + b"\n"
            )
        answers.flush()


def _read(lines: BinaryIO, requests: queue.SimpleQueue[bytes]) -> None:
    for line in lines:
        requests.put(line)
    requests.put(b"")


__all__ = [
    "COMPILER_SELF_TEST",
    "IDLE_SECONDS",
    "WATCHER_THREAD_NAME",
    "CompileProcess",
    "CompilerUnavailableError",
    "KernelCompileError",
    "compile_in_process",
    "serve",
]
