"""Virtual environments of this checkout, created with the standard library.

Understood by Python 3.7, so that an old one can say what is wrong instead of failing on syntax.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MINIMUM = (3, 11)
NEWEST = 15
STAMP = "gradwire.json"
OFFLINE = (
    "NewConnectionError",
    "NameResolutionError",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "Network is unreachable",
)


class SetupError(Exception):
    """The environment cannot be created. The message gives the reason and the next step."""


def print_message(text: str) -> None:
    """Print a line to standard error; standard output belongs to the program."""
    print(text, file=sys.stderr, flush=True)


def prepare(name: str, extras: Iterable[str] = ()) -> Path:
    """Return the interpreter of environment `name`, with the project and `extras` installed."""
    folder = ROOT / name
    python = interpreter(folder)
    stamp = _read_stamp(folder)
    installed_extras = set(stamp.get("extras", []))
    all_extras = sorted(installed_extras | set(extras))
    new_stamp = {"root": str(ROOT), "project": _digest(ROOT / "pyproject.toml"), "extras": all_extras}
    if python.exists() and stamp == new_stamp:
        return python
    if not _has_pip(python) or stamp.get("root", str(ROOT)) != str(ROOT):
        _create(folder)
    target = f"{ROOT}[{','.join(all_extras)}]" if all_extras else str(ROOT)
    print_message(f"Installing Gradwire and its dependencies into {name}. This takes some minutes the first time.")
    try:
        install(python, ["--editable", target])
    except SetupError as error:
        if not stamp or not installed_extras.issuperset(extras):
            raise
        print_message(f"{error}\nContinuing with the packages in {name}, which may be out of date.")
        return python
    (folder / STAMP).write_text(json.dumps(new_stamp), encoding="utf-8")
    return python


def interpreter(folder: Path) -> Path:
    """Return the path of Python in the virtual environment `folder`."""
    return folder / "Scripts" / "python.exe" if os.name == "nt" else folder / "bin" / "python"


def install(python: Path, arguments: list[str]) -> None:
    """`pip install`; shows what is downloaded. Raises SetupError with pip's last lines."""
    command = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--progress-bar=off", *arguments]
    tail: list[str] = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            tail = [*tail[-29:], line.rstrip()]
            if line.lstrip().startswith(("Downloading ", "Installing collected")):
                print_message("  " + line.strip()[:116])
    if process.returncode == 0:
        return
    text = "\n".join(tail)
    if any(word in text for word in OFFLINE):
        reason = "the package index cannot be reached. Connect to the network (or set HTTPS_PROXY, PIP_INDEX_URL)"
    else:
        reason = "see its last lines above. Fix the cause"
        print_message(text)
    raise SetupError(f"pip could not install what Gradwire needs: {reason}, then run this command again.")


def _create(folder: Path) -> None:
    python = _base_python()
    print_message(f"Creating the virtual environment {folder.name} with {python}.")
    _require_venv_module(python)
    process = subprocess.run(
        [python, "-m", "venv", "--clear", str(folder)], capture_output=True, text=True, check=False
    )
    if process.returncode:
        output = (process.stdout + process.stderr).strip()
        raise SetupError(
            f"{output}\n{folder} could not be created. Check that it is writable and that the disk is not full."
        )


def _base_python() -> str:
    """Return an interpreter that is new enough: this one, else the newest on PATH."""
    if sys.version_info >= MINIMUM:
        return sys.executable
    for minor in range(NEWEST, MINIMUM[1] - 1, -1):
        path = shutil.which(f"python3.{minor}")
        if path and _succeeds([path, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]):
            return path
    raise SetupError(
        f"Gradwire needs Python {MINIMUM[0]}.{MINIMUM[1]} or newer; {sys.executable} is Python "
        f"{sys.version_info[0]}.{sys.version_info[1]}. Install a newer one from https://www.python.org/downloads/ "
        "or with your system's package manager, and start this script with it."
    )


def _require_venv_module(python: str) -> None:
    """Install `venv`, which is a separate package on Debian and its derivatives."""
    if _succeeds([python, "-c", "import venv, ensurepip"]):
        return
    package = f"python{_minor_version(python)}-venv"
    if shutil.which("apt-get") and is_root():
        print_message(f"Installing {package}, which {python} lacks.")
        apt_install([package])
    if not _succeeds([python, "-c", "import venv, ensurepip"]):
        raise SetupError(
            f"{python} has no venv module. On Debian and Ubuntu: sudo apt-get install {package}. "
            "Elsewhere install your system's complete Python 3 package. Then run this command again."
        )


def apt_install(packages: list[str]) -> bool:
    """Install Debian packages without prompts. Returns whether it succeeded."""
    arguments = ["install", "--yes", "--no-install-recommends", *packages]
    return _apt_get(arguments) or (_apt_get(["update"]) and _apt_get(arguments))


def is_root() -> bool:
    return os.name == "posix" and os.geteuid() == 0


def _apt_get(arguments: list[str]) -> bool:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(["apt-get", *arguments], env=environment, capture_output=True, check=False).returncode == 0


def _has_pip(python: Path) -> bool:
    return python.exists() and _succeeds([str(python), "-m", "pip", "--version"])


def _succeeds(command: list[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _minor_version(python: str) -> str:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _read_stamp(folder: Path) -> dict[str, Any]:
    try:
        stamp = json.loads((folder / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}
