"""An audit hook that stops, and writes down, whatever a project file must never make a process do.

Only for processes that end soon: Python cannot take an audit hook away.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import types
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import list2cmdline
from typing import Any

ROOT = Path(__file__).resolve().parents[3]

FORBIDDEN = (
    *("os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.startfile", "pty.spawn"),
    *("os.kill", "signal.pthread_kill", "os.setxattr", "builtins.input"),
    *("pickle.find_class", "code.__new__", "function.__new__", "ctypes.dlopen", "ctypes.call_function"),
    *("urllib.Request", "http.client.connect", "ftplib.connect", "smtplib.connect", "webbrowser.open"),
    *("gc.get_objects", "sys._getframe.f_back", "winreg.SetValue"),
)
WRITING = (
    "os.mkdir",
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.link",
    "os.symlink",
    "os.truncate",
    "os.chmod",
    "os.chown",
)
"""Audit events whose arguments are modified paths."""

PACKAGES = {"engine", "studio", "encodings", "numpy", "pyarrow", "PIL", "numba", "llvmlite", "rich", "safetensors"} | {
    *("linkify_it", "markdown_it", "mdurl", "pygments")  # rich renders help with them
}
"""What may be imported late: the product, and what it declares to depend on."""

LIBRARY = sys.stdlib_module_names - {
    *("antigravity", "code", "codeop", "ensurepip", "ftplib", "http", "idlelib", "imaplib", "pdb", "poplib", "pty"),
    *("runpy", "smtplib", "telnetlib", "turtle", "venv", "webbrowser", "xmlrpc"),
}
"""Standard modules that may be imported late; dangerous functions of them raise separate audit events."""

NAMES = frozenset(
    [
        "engine",
        "data",
        "fit",
        "lr_scheduler",
        "metrics",
        "nn",
        "optim",
        "transforms",
        "checkpoint",
        "utils",
        "Module",
        "Task",
        "__init__",
        "super",
        "self",
        "model",
        "measure",
        "map",
        "parameters",
        "requires_grad_",
        "SequentialLR",
        "configure",
        "losses",
        "_measured_losses",
        "inside",
        "forward",
        "per_step",
        "accumulate",
        "clip_norm",
        "clip_value",
        "mixed_precision",
        "JointBatches",
        "ModuleList",
        "range",
        "float32",
        "functional",
        "linalg",
        "epoch",
        "__name__",
        "__module__",
        "__qualname__",
        "__class__",
        "__classcell__",
    ]
)
"""What generated code calls things, beside names of nodes, of the catalogue's types and of the two classes."""


class Forbidden(BaseException):
    """Not an Exception, so that only the test catches it."""


class Audit:
    """Watches from `watching` on.

    Args:
        folders: where files may be written
        started: the commands that the product starts, as the beginnings of their arguments
        names: of the catalogue's types
    """

    def __init__(self, folders: Iterable[Path], started: Iterable[list[str]], names: Iterable[str]) -> None:
        self.violations: list[str] = []
        self.expected: frozenset[str] = frozenset()
        """Names of the nodes and classes of the document that is looked at."""
        self._folders = tuple(os.path.realpath(folder) for folder in folders)
        self._started = list(started)
        self._names = NAMES | frozenset(names)
        self._on = self._inside = False
        paths = sysconfig.get_paths()
        self._code = tuple(
            os.path.realpath(path) for path in (ROOT, paths["stdlib"], paths["purelib"], paths["platlib"])
        )
        sys.addaudithook(self._hook)

    @contextmanager
    def watching(self) -> Iterator[None]:
        self._on = True
        try:
            yield
        finally:
            self._on = False

    def _hook(self, event: str, given: tuple[Any, ...]) -> None:
        if not self._on or self._inside:
            return
        self._inside = True
        try:
            problem = self._problem(event, given)
        finally:
            self._inside = False
        if problem is not None:
            self.violations.append(f"{event}: {problem}")
            raise Forbidden(problem)

    def _problem(self, event: str, given: tuple[Any, ...]) -> str | None:
        if event in FORBIDDEN or event.startswith("socket."):
            return repr(given)[:200]
        match event, given:
            case "subprocess.Popen", (_, command, *_):
                text = command if isinstance(command, str) else list2cmdline(command)  # Windows has a text
                known = any(text.startswith(list2cmdline(start)) for start in self._started)
                return None if known else text[:200]
            case "import", (module, *_):
                top = str(module).partition(".")[0]
                return None if top in PACKAGES | LIBRARY or top in sys.modules else str(module)
            case "exec", (code, *_):
                return self._of_code(code)
            case "open", (path, mode, flags):
                writes = bool(int(flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)) or bool(
                    set(mode or "") & set("wax+")
                )
                return self._of_path(path) if writes else None
            case name, paths if name in WRITING:
                return next(
                    (found for path in paths if isinstance(path, (str, bytes)) and (found := self._of_path(path))), None
                )
            case _:
                return None

    def _of_path(self, path: Any) -> str | None:
        if isinstance(path, int) or path == os.devnull:
            return None
        real = os.path.realpath(os.fsdecode(path))
        inside = any(real == folder or real.startswith(folder + os.sep) for folder in self._folders)
        return None if inside else f"writes {real}"

    def _of_code(self, code: types.CodeType) -> str | None:
        """Generated classes have known names alone; all else that runs is a plan, a kernel, or a module on disk."""
        if code.co_filename.startswith("<gradwire "):
            parts = {part for name in names_in(code) for part in name.split(".")}  # modules have dots
            known = self._names | self.expected
            unknown = {part for part in parts if not is_known(part, known)}
            return f"names {sorted(unknown)[:5]}" if unknown else None
        if code.co_filename.startswith(("<plan ", "<frozen ")):
            return None
        real = os.path.realpath(code.co_filename)
        known = any(real.startswith(folder + os.sep) for folder in (*self._code, *self._folders))
        return None if known else f"code of {code.co_filename}"


def is_known(name: str, known: Container[str]) -> bool:
    """Whether a name is known, or is the name of the measured form of a known class or of its known method."""
    title, prefix = name.removeprefix("_measured_"), name.startswith("_measured_")
    cuts = (at for at, letter in enumerate(title) if letter == "_")
    return name in known or (
        prefix and (title in known or any(title[:at] in known and title[at + 1 :] in known for at in cuts))
    )


def names_in(code: types.CodeType) -> set[str]:
    """Of globals, attributes and imports, in code and all code inside it."""
    inner = [names_in(each) for each in code.co_consts if isinstance(each, types.CodeType)]
    return set(code.co_names).union(*inner)
