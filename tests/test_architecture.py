"""Rules of the code base that no linter knows."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("engine", "studio", "tests", "scripts", "benchmarks", "examples")
SOURCES = sorted([ROOT / "main.py", *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))])
PRODUCT = [path for path in SOURCES if path.relative_to(ROOT).parts[0] in ("engine", "studio", "main.py")]
TEXTS = sorted(
    path
    for pattern in ("*.md", "*.toml", "*.gradwire", "*.json", "*.yaml", "*.py")
    for path in ROOT.glob(f"**/{pattern}")
    if not any(part.startswith(".") or part.endswith(".runs") for part in path.relative_to(ROOT).parts)
)

LONGEST = 600
VAGUE = {"utils", "util", "helpers", "helper", "common", "misc"}
QT = {"PySide6", "shiboken6", "pyqtgraph"}
UNSAFE_MODULES = {"pickle", "cPickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
NETWORK = {
    *(
        "socket",
        "socketserver",
        "ssl",
        "asyncio",
        "http",
        "urllib",
        "ftplib",
        "smtplib",
        "poplib",
        "imaplib",
        "telnetlib",
    ),
    *("xmlrpc", "webbrowser", "requests", "httpx", "aiohttp", "urllib3", "fsspec", "boto3", "huggingface_hub"),
}
UNSAFE_CALLS = {"eval", "exec", "compile", "__import__"}
EXECUTES = {
    "studio/lowering/program.py": {"exec", "compile"},  # the generated classes, from a tree that was verified
    "studio/lowering/user_code/code_loader.py": {"exec", "compile"},  # source that the user trusts
    "engine/compiler/plan/execution_plan.py": {"exec", "compile", "eval"},  # a plan's function, written of names alone
    "engine/compiler/kernels/numpy_functions.py": {"exec", "compile"},  # functions of our own files, without branches
    "engine/compiler/kernels/compile_process.py": {"exec", "compile"},  # kernels that `cpu.py` or we have written
    "engine/data/workers/packing.py": {"pickle"},  # batches of this program's own processes, never files
    "engine/data/workers/shared_memory.py": {"pickle"},  # a type of pickle's, no reading
}
MACHINE_PATHS = re.compile(r"(?<![\w.:/])/(?:(?:work|root)/|(?:home|Users)/\w)|[A-Z]:\\\\?Users\\")


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def calls(path: Path) -> tuple[ast.Call, ...]:
    return tuple(node for node in ast.walk(tree(path)) if isinstance(node, ast.Call))


@cache
def imported(path: Path) -> tuple[str, ...]:
    """Top-level names of all that a file imports, at any depth, also by `importlib.import_module("…")`."""
    return tuple(_imported(tree(path)))


def _imported(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
        elif isinstance(node, ast.Call) and called(node) in ("import_module", "__import__") and node.args:
            argument = node.args[0]
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                yield argument.value.partition(".")[0]


def called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def test_no_file_is_too_long() -> None:
    lengths = {name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    assert {path: length for path, length in lengths.items() if length > LONGEST} == {}


def test_files_are_named_after_what_they_hold() -> None:
    assert [name(path) for path in SOURCES if path.stem in VAGUE] == []


def test_only_the_window_imports_qt() -> None:
    outside = [path for path in PRODUCT if not name(path).startswith("studio/ui/")]
    assert {name(path): found for path in outside if (found := QT & set(imported(path)))} == {}


def test_nothing_unpickles_and_only_generated_code_is_executed() -> None:
    found: dict[str, set[str]] = {}
    for path in PRODUCT:
        used = UNSAFE_MODULES & set(imported(path))
        used |= UNSAFE_CALLS & {node.func.id for node in calls(path) if isinstance(node.func, ast.Name)}
        used |= {"allow_pickle" for node in calls(path) if any(allows_pickle(keyword) for keyword in node.keywords)}
        if used - EXECUTES.get(name(path), set()):
            found[name(path)] = used
    assert found == {}


def test_nothing_uses_the_network() -> None:
    found = {name(path): used for path in PRODUCT if (used := NETWORK & set(imported(path)))}
    assert found == {}
    texts = {name(path): path.read_text(encoding="utf-8") for path in PRODUCT}
    assert [path for path, text in texts.items() if "QtNetwork" in text or "QtWebEngine" in text] == []
    opened = [line.strip() for text in texts.values() for line in text.splitlines() if ".openUrl(" in line]
    assert [line for line in opened if "openUrl(QUrl.fromLocalFile(" not in line] == []


QUIET = """
import sys
seen = []
def hook(event, given):
    if event.startswith(("socket.", "urllib.", "http.", "ftplib.", "smtplib.", "webbrowser.", "pickle.find_class")):
        seen.append(f"{event} {given}")
sys.addaudithook(hook)
import main, engine, engine.data, engine.compiler, engine.io, studio.cli
file, out = sys.argv[1:]
codes = [studio.cli.main(["check", file]), studio.cli.main(["run", file, "--steps", "1", "--quiet", "--out", out])]
print(codes, seen)
"""


def test_importing_checking_and_running_use_no_network_and_no_pickle(tmp_path: Path) -> None:
    file = str(ROOT / "examples" / "digits_mlp.gradwire")
    command = [sys.executable, "-c", QUIET, file, str(tmp_path / "out")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1:] == ["[0, 0] []"], done.stderr


def allows_pickle(keyword: ast.keyword) -> bool:
    refused = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
    return keyword.arg == "allow_pickle" and not refused


def test_no_file_names_a_place_on_somebodys_machine() -> None:
    texts = [path for path in TEXTS if path != Path(__file__).resolve()]
    found = {name(path): MACHINE_PATHS.findall(path.read_text(encoding="utf-8")) for path in texts}
    assert {path: places for path, places in found.items() if places} == {}


def test_every_bundled_data_set_and_font_has_its_license() -> None:
    folders = [path for kind in ("data", "fonts") for path in (ROOT / "assets" / kind).glob("*/")]
    folders += [path.parent for path in (ROOT / "assets").rglob("*.ttf")]
    assert [name(folder) for folder in folders if not [*folder.glob("LICENSE*"), *folder.glob("OFL*")]] == []


def test_test_folders_are_no_packages() -> None:
    assert [name(path) for path in (ROOT / "tests").rglob("__init__.py")] == []


@pytest.mark.parametrize("module", ["engine", "main", "studio.cli"])
def test_importing_is_light(module: str) -> None:
    """Neither Qt nor CuPy nor the reference library is loaded before somebody needs it."""
    heavy = sorted(QT | {"cupy", "torch", "numba"})
    code = f"import sys, {module}; print(*(set(sys.modules) & set({heavy!r})))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("", "")


def test_no_module_imports_itself_through_others() -> None:
    """Type-only imports count, so that reading a module never requires reading the modules above it."""
    graph = grimp.build_graph("engine", "studio", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    TopologicalSorter(imports).prepare()  # raises CycleError with the modules of a cycle
