"""Installs a CPU build of PyTorch as the reference for tests, if one is available."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from environment import ROOT, SetupError, install, print_message

CPU_INDEX = "https://download.pytorch.org/whl/cpu"


def ensure(python: Path) -> None:
    """Install the pinned PyTorch, unless only a build with gigabytes of CUDA libraries is available."""
    requirement = pinned()
    version = requirement.partition("==")[2]
    check = f"import importlib.metadata as m, sys; sys.exit(m.version('torch').split('+')[0] != {version!r})"
    if subprocess.run([str(python), "-c", check], capture_output=True, check=False).returncode == 0:
        return
    try:
        arguments = cpu_build_arguments(python, requirement)
        if arguments:
            print_message(f"Installing {requirement} as the reference for tests.")
            install(python, arguments)
            return
    except SetupError as error:
        print_message(str(error))
    print_message(f"No CPU build of {requirement} is available: tests that compare with it are skipped.")


def cpu_build_arguments(python: Path, requirement: str) -> list[str]:
    """Return pip arguments that install a CPU build; empty if none is available."""
    sources = ([], ["--extra-index-url", CPU_INDEX, "--retries", "0", "--timeout", "10"])
    choices = ([requirement, *source] for source in sources)
    return next((arguments for arguments in choices if is_cpu_build(python, arguments)), [])


def pinned() -> str:
    """Return the requirement in the extra `peers` of pyproject.toml."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    match = re.search(r'"(torch==[\w.]+)"', text)
    assert match is not None, "pyproject.toml pins no torch"
    return match[1]


def is_cpu_build(python: Path, arguments: list[str]) -> bool:
    """Return whether pip would install a wheel without CUDA. Reads metadata only; False if no index answers."""
    command = [str(python), "-m", "pip", "install", "--dry-run", "--quiet", "--no-deps", "--ignore-installed"]
    process = subprocess.run([*command, "--report", "-", *arguments], capture_output=True, text=True, check=False)
    if process.returncode:
        return False
    [package] = json.loads(process.stdout)["install"]
    requirements = " ".join(package["metadata"].get("requires_dist", []))
    return not (sys.platform.startswith("linux") and re.search(r"\b(nvidia|cuda|triton)\b", requirements))
