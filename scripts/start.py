"""Start Gradwire from a checkout: create `.venv` if needed, then run `main.py` in it with the same arguments.

    python3 scripts/start.py                                 the studio
    python3 scripts/start.py run examples/digits_mlp.gradwire --json

Commands need no Qt; the first start of the window installs it.
"""

from __future__ import annotations

import os
import subprocess
import sys

import qt_libraries
from environment import ROOT, SetupError, prepare, print_message


def main(arguments: list[str]) -> int:
    try:
        window = opens_window(arguments)
        if window:
            qt_libraries.ensure(display=True)
        python = prepare(".venv", ["studio"] if window else [])
    except SetupError as error:
        print_message(str(error))
        return 1
    except KeyboardInterrupt:
        print_message("Stopped. Run the same command again to continue.")
        return 130
    return replace_process([str(python), str(ROOT / "main.py"), *arguments])


def opens_window(arguments: list[str]) -> bool:
    """Return whether the arguments open the studio: none, or project files."""
    return not arguments or arguments[0].endswith(".gradwire")


def replace_process(command: list[str]) -> int:
    """Replace this process by `command`, which gets its signals, terminal and exit code."""
    if os.name == "posix":
        os.execv(command[0], command)
    with subprocess.Popen(command) as process:  # Windows has no exec: wait, and let the program handle Ctrl+C
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                continue


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
