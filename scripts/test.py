"""All checks: lint, format, types, imports, tests (of the window with Qt, all others without), docs, wheel.

python3 scripts/test.py                       everything, as CI does
python3 scripts/test.py --only lint --only types
python3 scripts/test.py --only tests -- -k conv -x
python3 scripts/test.py --only tests -- -n0 --pdb tests/engine/test_tensor.py      in one process
python3 scripts/test.py --fast                lint, format, types, imports, and tests that are not slow
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import qt_libraries
import reference
from environment import ROOT, SetupError, prepare, print_message

NO_QT = 'import importlib.util as u, sys; sys.exit("Qt is installed here" if u.find_spec("PySide6") else 0)'
NO_TORCH = """
import sys, pytest
sys.modules["torch"] = None
sys.exit(pytest.main(["--collect-only", "-qqq", *sys.argv[1:]]))
"""
PARALLEL = ["--numprocesses=2", "--dist=loadfile"]
"""Two processes with one thread each are faster than one with two."""
NOTHING_SELECTED = 5
"""Pytest's exit code."""
FAILURES: list[str] = []
"""Failed tests of all steps."""
USES_WHEEL = """
import sys; sys.path.insert(0, sys.argv[1])
import engine.system.assets, main, studio.cli
engine.system.assets.page("reference/graph-breaks.md"), engine.system.assets.page("reference/window.md")
assert all(path.startswith(sys.argv[1]) for path in (engine.__file__, main.__file__, studio.__file__))
print("assets:", *sorted(path.name for path in engine.system.assets.asset("data/digits").parents[1].iterdir()))
"""


def main() -> int:
    options = parse()
    # Window tests need no display; thread pools must not compete for the cores.
    os.environ.update(QT_QPA_PLATFORM="offscreen", OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive", PYTHONUTF8="1")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # programs that tests start would compile all modules again
    os.environ["CI"] = "1"  # tests draw many cases, the same on every machine
    steps = {name: STEPS[name] for name in STEPS if selected(name, options)}
    results = [(name, *timed(step, options)) for name, step in steps.items()]
    failed = [name for name, passed, _ in results if not passed]
    print("\n" + "\n".join(f"  failed: {one}" for one in FAILURES))
    print("\n".join(f"  {'ok    ' if ok else 'FAILED'}  {name:<9}{seconds:7.1f} s" for name, ok, seconds in results))
    print(f"\nsteps: {len(results) - len(failed)} passed, {len(failed)} failed", flush=True)
    return 1 if failed else 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=list(STEPS), help="run this step; repeatable")
    parser.add_argument("--fast", action="store_true", help="leave out slow tests, the docs and the wheel")
    parser.add_argument("pytest", nargs="*", help="arguments for pytest, after --")
    return parser.parse_args()


def selected(name: str, options: argparse.Namespace) -> bool:
    if options.only:
        return name in options.only
    return not (options.fast and name in ("compiled", "alone", "docs", "package"))


def timed(step: Callable[[argparse.Namespace], bool], options: argparse.Namespace) -> tuple[bool, float]:
    """Return whether `step` passed, and its seconds. A step that cannot be set up has failed; the others continue."""
    start = time.monotonic()
    try:
        passed = step(options)
    except SetupError as error:
        print_message(str(error))
        passed = False
    return passed, time.monotonic() - start


def tool(*arguments: str) -> Callable[[argparse.Namespace], bool]:
    """A step that runs one module of the development environment."""
    return lambda options: run(development(), "-m", *arguments)


def imports(_: argparse.Namespace) -> bool:
    python = development()
    return run(python.with_name("lint-imports" + python.suffix), "--no-logo")


def development() -> Path:
    return prepare(".venv", ["dev"])


def headless() -> Path:
    return prepare(".venv-headless", ["test"])


def tests(options: argparse.Namespace) -> bool:
    """Tests outside tests/ui, in an environment without Qt, as on a server."""
    python = headless()
    reference.ensure(python)
    return run(python, "-c", NO_QT) and pytest(python, options, *PARALLEL, "--ignore=tests/ui")


def compiled(options: argparse.Namespace) -> bool:
    """The engine's tests inside compiled functions: a sample of the cases in CI, all when run by hand."""
    return pytest(
        headless(), options, *PARALLEL, "--compiled", "--share=30", "tests/engine", "--ignore=tests/engine/compiler"
    )


def window(options: argparse.Namespace) -> bool:
    qt_libraries.ensure(display=False)
    paths = [] if any(one.startswith("tests") for one in options.pytest) else ["tests/ui"]
    return pytest(development(), options, *PARALLEL, *paths)


def alone(_: argparse.Namespace) -> bool:
    """Without PyTorch, comparisons are skipped and all other tests are collected."""
    return run(headless(), "-c", NO_TORCH, "--ignore=tests/ui")


def docs(_: argparse.Namespace) -> bool:
    """The documentation site, in build/site. Warnings such as broken links are errors."""
    os.environ["NO_MKDOCS_2_WARNING"] = "1"  # an announcement about a successor of MkDocs
    return run(prepare(".venv-docs", ["docs"]), "-m", "mkdocs", "build", "--strict")


def package(_: argparse.Namespace) -> bool:
    """Build a wheel, unpack it elsewhere, and check that packages and assets are found there."""
    python = development()
    with tempfile.TemporaryDirectory() as folder:
        if not run(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, "."):
            return False
        [wheel] = Path(folder).glob("*.whl")
        unpacked = Path(folder) / "unpacked"
        shutil.unpack_archive(wheel, unpacked, "zip")
        return run(python, "-I", "-c", USES_WHEEL, str(unpacked), cwd=unpacked)


def pytest(python: Path, options: argparse.Namespace, *arguments: str) -> bool:
    """Run tests, and list failed ones at the end of the output."""
    slow = ["-m", "not slow"] if options.fast else []
    accepted = (0, NOTHING_SELECTED) if options.pytest else (0,)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "tests.xml"
        pytest_arguments = [*arguments, *slow, *options.pytest, f"--junit-xml={report}"]
        passed = run(python, "-m", "pytest", *pytest_arguments, accepted=accepted)
        if report.exists():
            FAILURES.extend(failures(report))
    return passed


def failures(report: Path) -> Iterator[str]:
    """Failed tests, each with the first line of its message."""
    for case in ET.parse(report).iter("testcase"):
        for failure in (*case.findall("failure"), *case.findall("error")):
            message = failure.get("message", "").strip().partition("\n")[0]
            yield f"{case.get('classname')}::{case.get('name')}: {message[:150]}"


def run(program: Path, *arguments: str, cwd: Path = ROOT, accepted: tuple[int, ...] = (0,)) -> bool:
    print(f"\n$ {program.name} {' '.join(arguments).strip().splitlines()[0]}", flush=True)
    return subprocess.run([str(program), *arguments], cwd=cwd, check=False).returncode in accepted


STEPS: dict[str, Callable[[argparse.Namespace], bool]] = {
    "lint": tool("ruff", "check", "."),
    "format": tool("ruff", "format", "--check", "."),
    "types": tool("basedpyright"),
    "imports": imports,
    "tests": tests,
    "compiled": compiled,
    "window": window,
    "alone": alone,
    "docs": docs,
    "package": package,
}


if __name__ == "__main__":
    sys.exit(main())
