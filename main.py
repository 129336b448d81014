"""Gradwire: without arguments or with project files the studio, otherwise the command line."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

try:
    import engine  # noqa: F401 - first of all: it sets what must be set before NumPy is loaded
    from studio import cli
    from studio.document.format import SUFFIX
except KeyboardInterrupt:  # Ctrl+C that comes before there is anything to end
    sys.exit(130)

NO_WINDOW = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Start what the arguments ask for. Returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if all(argument.endswith(SUFFIX) and not argument.startswith("-") for argument in given):
        return _open_studio([Path(argument) for argument in given])
    return cli.main(given)


def _open_studio(paths: Sequence[Path]) -> int:
    try:
        app = importlib.import_module("studio.ui.app")
    except ImportError as error:
        sys.stderr.write(f"gradwire: {_missing(error)}\n")
        return NO_WINDOW
    return app.main(paths)


def _missing(error: ImportError) -> str:
    name = (error.name or "").partition(".")[0]
    headless = "Training works without a window: gradwire run FILE."
    if name in ("PySide6", "shiboken6", "pyqtgraph") and isinstance(error, ModuleNotFoundError):
        return (
            f"the studio needs {name}, which is not installed. Install it: pip install 'gradwire[studio]'. {headless}"
        )
    if ".so" in str(error) or "DLL" in str(error):
        remedy = "Install that library, or start with scripts/start.py, which does it"
        return f"the studio cannot be opened: {error}. {remedy}. {headless}"
    raise error


if __name__ == "__main__":
    sys.exit(main())
