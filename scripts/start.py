"""Start Gradwire from a checkout: make `.venv` if needed, then run `main.py` in it with the same arguments.

    python3 scripts/start.py                                 the studio
    python3 scripts/start.py run examples/digits_mlp.gradwire --json

Headless commands get an environment without Qt; the first start of the window adds it.
"""

from __future__ import annotations

import os
import subprocess
import sys

import qt_libraries
from environment import ROOT, SetupError, prepare, say


def main(arguments: list[str]) -> int:
    try:
        window = opens_window(arguments)
        if window:
            qt_libraries.ensure(display=True)
        python = prepare(".venv", ["studio"] if window else [])
    except SetupError as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        say("Stopped. Run the same command again to go on.")
        return 130
    return replace_process([str(python), str(ROOT / "main.py"), *arguments])


def opens_window(arguments: list[str]) -> bool:
    """No arguments or a project file open the studio; anything else is a headless command."""
    return not arguments or arguments[0].endswith(".gradwire")


def replace_process(command: list[str]) -> int:
    """Run `command` in this process's place, so that signals, terminal and exit code are its own."""
    if os.name == "posix":
        os.execv(command[0], command)
    with subprocess.Popen(command) as process:  # Windows has no exec: wait, and leave Ctrl+C to the program
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                continue


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
