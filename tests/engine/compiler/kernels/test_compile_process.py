"""Kernels are compiled in a separate process, which may fail or be killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from engine.compiler.kernels import compile_process
from engine.compiler.kernels.compile_process import CompileProcess, KernelCompileError
from engine.compiler.kernels.object_code import load_function

SOURCE = """
from engine.compiler.kernels.machine_code import machine_code
@machine_code("void(int64)")
def kernel(number):
    pass
"""
FAILS = "raise ValueError('not a kernel')"
TELLS = """
import os
from engine.compiler.kernels.object_code import ObjectCode
kernel = ObjectCode(str(os.getpid()).encode(), ())
"""


@pytest.fixture
def process() -> Iterator[CompileProcess]:
    found = CompileProcess()
    yield found
    found.end()


def where(process: CompileProcess) -> int:
    """The process that compiles."""
    return int(process.code_of(TELLS, "file").code)


def test_code_of_the_compile_process_runs_in_this_process(process: CompileProcess) -> None:
    function = load_function(process.code_of(SOURCE, "file"))
    function(3)
    assert where(process) == where(process) != os.getpid()


def test_compile_error_is_reported_and_the_process_continues(process: CompileProcess) -> None:
    before = where(process)
    with pytest.raises(KernelCompileError, match="not a kernel"):
        process.code_of(FAILS, "file")
    assert where(process) == before


def test_output_of_the_compiler_is_not_parsed_as_an_answer(process: CompileProcess) -> None:
    assert process.code_of("import os\nos.write(1, b'hello')\nprint('hello')\n" + TELLS, "file").needs == ()


def test_killed_process_is_restarted(process: CompileProcess) -> None:
    before = where(process)
    psutil.Process(before).kill()
    assert where(process) not in (before, os.getpid())


def test_source_that_crashes_the_process_is_compiled_in_this_process(process: CompileProcess) -> None:
    before = where(process)
    deadly = f"import os\nif os.getpid() != {os.getpid()}: os._exit(1)\n" + TELLS
    assert int(process.code_of(deadly, "file").code) == os.getpid()
    assert where(process) != before


def test_an_abandoned_answer_is_not_returned_to_the_next_caller(
    process: CompileProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    where(process)
    with monkeypatch.context() as patch:
        patch.setattr(json, "loads", interrupted)
        with pytest.raises(KeyboardInterrupt):
            process.code_of("import time\ntime.sleep(0.1)\n" + TELLS.replace("str(os.getpid())", "'old'"), "file")
    assert where(process) != os.getpid()


def test_compiles_in_this_process_if_no_process_starts(
    process: CompileProcess, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    assert where(process) == os.getpid()
    with pytest.raises(KernelCompileError, match="not a kernel"):
        process.code_of(FAILS, "file")


def test_compile_process_ends_with_its_owner() -> None:
    program = (
        "import os, sys\nfrom tests.engine.compiler.kernels.test_compile_process import CompileProcess, where\n"
        "process = CompileProcess()\nprint(where(process), flush=True)\nsys.stdin.read()\n"
    )
    for end in ("exit", "kill"):
        with subprocess.Popen([sys.executable, "-c", program], stdin=-1, stdout=-1, text=True) as owner:
            assert owner.stdin is not None
            assert owner.stdout is not None
            child = psutil.Process(int(owner.stdout.readline()))
            if end == "kill":
                owner.kill()
            else:
                owner.stdin.close()
            child.wait(60)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_compile_process_ignores_ctrl_c(process: CompileProcess) -> None:
    before = where(process)
    os.kill(before, signal.SIGINT)
    assert where(process) == before


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends as soon as there is no work."""
    hurried = "from engine.compiler.kernels import compile_process\ncompile_process.IDLE_SECONDS = 0.1\nserve()\n"
    monkeypatch.setattr(compile_process, "_START", compile_process._START.replace("serve()\n", hurried))


@pytest.mark.usefixtures("impatient")
def test_idle_process_ends_and_restarts_on_demand(process: CompileProcess) -> None:
    before = where(process)
    with suppress(psutil.NoSuchProcess):
        psutil.Process(before).wait(60)
    assert where(process) not in (before, os.getpid())


@pytest.mark.usefixtures("impatient")
def test_ended_process_leaves_no_threads_or_pipes(process: CompileProcess) -> None:
    threads = set(threading.enumerate())
    before = where(process)
    for thread in set(threading.enumerate()) - threads:
        assert thread.name == compile_process.WATCHER_THREAD_NAME
        thread.join(60)
    assert not psutil.pid_exists(before), "on POSIX a child stays a zombie until its parent waits for it"
    assert process._process is None
