"""Gradwire: the studio (no arguments, or project files) or a command of the command line."""

from __future__ import annotations

import os

INTERRUPTED, NO_WINDOW = 130, 2

try:
    import signal
    import threading
    from types import FrameType
except KeyboardInterrupt:
    os._exit(INTERRUPTED)


def _leave(number: int, frame: FrameType | None) -> None:
    """Exit at once on Ctrl+C, while modules load and at exit, when there is no state to save."""
    os._exit(INTERRUPTED)


def _set_interrupt(before: object, after: object) -> None:
    """Install another handler for Ctrl+C, unless it is ignored or already handled."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is before:
        signal.signal(signal.SIGINT, after)  # pyright: ignore[reportArgumentType]


def _occupy_standard_streams() -> None:
    """Open closed standard streams: otherwise a file could get their descriptor and receive output of C code."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


_set_interrupt(signal.default_int_handler, _leave)
_occupy_standard_streams()
try:
    import importlib
    import sys
    from collections.abc import Sequence
    from pathlib import Path
    from typing import NoReturn

    import engine  # noqa: F401 - first: sets environment variables that NumPy reads when it loads
    from studio.document import LESSON_SUFFIX, SUFFIX
finally:
    _set_interrupt(_leave, signal.default_int_handler)


def start() -> NoReturn:
    """Run as a process; exits with the exit code."""
    _set_interrupt(signal.default_int_handler, _leave)
    sys.exit(main())


def main(arguments: Sequence[str] | None = None) -> int:
    """Start the studio or a command. Returns the exit code."""
    argument_list = list(sys.argv[1:] if arguments is None else arguments)
    if all(argument.endswith((SUFFIX, LESSON_SUFFIX)) and not argument.startswith("-") for argument in argument_list):
        return _open_studio([Path(argument) for argument in argument_list])
    return importlib.import_module("studio.cli").main(argument_list)


def _open_studio(paths: Sequence[Path]) -> int:
    try:
        app = importlib.import_module("studio.ui.app")
    except ImportError as error:
        sys.stderr.write(f"error: {_missing(error)}\n")
        return NO_WINDOW
    _set_interrupt(_leave, signal.default_int_handler)
    return app.main(paths)


def _missing(error: ImportError) -> str:
    name = (error.name or "").partition(".")[0]
    headless = "Training works without a window: gradwire run FILE."
    if name in ("PySide6", "shiboken6", "pyqtgraph") and isinstance(error, ModuleNotFoundError):
        return (
            f"the studio needs {name}, which is not installed. Install it: pip install 'gradwire[studio]'. {headless}"
        )
    if ".so" in str(error) or "DLL" in str(error):
        remedy = "Install that library, or use scripts/start.py, which installs it"
        return f"the studio cannot be opened: {error}. {remedy}. {headless}"
    raise error


if __name__ == "__main__":
    start()
