"""What `import engine` and the command line load, and lazy imports of the engine's names."""

from __future__ import annotations

import importlib
import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import engine

ROOT = Path(__file__).resolve().parent.parent
HEAVY = {"numpy", "ml_dtypes", "numba", "llvmlite", "pyarrow", "PIL", "networkx", "psutil", "msgspec", "PySide6"}
ENGINE = {
    "engine",
    "engine.exports",
    "engine.lazy",
    "engine.system",
    "engine.system.environment",
    "engine.torch_compat",
    "engine.torch_compat.left_out",
    "engine.torch_compat.paths",
}


def run(code: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, encoding="utf-8").stdout


def loaded(code: str) -> set[str]:
    """Return the modules that a program loads in a fresh process."""
    return set(json.loads(run(f"{code}\nimport json, sys; print(json.dumps(sorted(sys.modules)))").splitlines()[-1]))


def of_package(modules: set[str], name: str) -> set[str]:
    return {module for module in modules if module.partition(".")[0] == name}


def test_importing_the_engine_loads_only_the_list_of_its_names() -> None:
    modules = loaded("import engine")
    assert of_package(modules, "engine") == ENGINE
    assert modules & HEAVY == set()


def test_the_first_tensor_loads_no_layers_and_no_compiler() -> None:
    modules = loaded("import engine; engine.tensor([1.0]).exp()")
    assert modules & HEAVY == {"numpy", "ml_dtypes"}
    packages = {name.split(".")[1] for name in of_package(modules, "engine") if "." in name}
    assert packages & {"nn", "optim", "data", "compiler", "fit", "io", "distributions", "cuda", "autograd"} == set()


def test_help_loads_neither_the_engine_nor_the_commands() -> None:
    modules = loaded("import main\nassert main.main(['--help']) == 0")
    assert modules & HEAVY == set()
    assert of_package(modules, "engine") == ENGINE
    assert len(of_package(modules, "studio")) <= 10
    assert len(modules) < 500


def test_check_loads_neither_training_nor_tables_nor_qt() -> None:
    modules = loaded("import main\nassert main.main(['check', 'assets/templates/digits-cnn.gradwire']) == 0")
    assert modules & {"numba", "pyarrow", "networkx", "PySide6", "studio.training", "studio.ui"} == set()


@pytest.mark.parametrize(
    "module",
    ["engine.tensors.creation", "engine.tensors.methods", "engine.ops", "engine.functions", "engine.nn.functional"],
)
def test_tensors_have_all_methods_whichever_module_is_first(module: str) -> None:
    code = f"import {module}\nfrom engine.tensors import Tensor\nprint(len(dir(Tensor)))"
    assert int(run(code)) == len(dir(engine.Tensor))


def test_names_are_globals_after_their_first_use() -> None:
    code = (
        "import engine\n"
        "assert 'relu' not in vars(engine)\n"
        "function = engine.relu\n"
        "assert vars(engine)['relu'] is function is engine.functions.relu\n"
    )
    run(code)


def test_threads_that_ask_at_once_get_the_same_objects() -> None:
    code = (
        "import sys, threading\n"
        "import engine\n"
        "sys.setswitchinterval(1e-5)\n"
        "names = ['nn', 'tensor', 'optim', 'conv2d', 'compile', 'Tensor', 'fit', 'special']\n"
        "start, found = threading.Barrier(16), []\n"
        "def ask(first):\n"
        "    start.wait()\n"
        "    found.append({name: id(getattr(engine, name)) for name in names[first:] + names[:first]})\n"
        "threads = [threading.Thread(target=ask, args=(number % len(names),)) for number in range(16)]\n"
        "for thread in threads: thread.start()\n"
        "for thread in threads: thread.join()\n"
        "assert len(found) == 16 and all(one == found[0] for one in found)\n"
    )
    run(code)


def test_functions_are_not_replaced_by_modules_of_their_name() -> None:
    """Importing a module sets an attribute of its package."""
    children = {found.name for found in pkgutil.iter_modules(engine.__path__)}
    clashes = {name for name in engine.__all__ if name in children and callable(getattr(engine, name))}
    assert clashes == set()
    run("import engine.tensors.tensor, engine.nn.utils.weight_norm\nassert callable(engine.tensor)")
    run("from engine import *\nassert callable(tensor) and callable(nn.Linear) and float.name == 'float32'")


def test_pytorchs_paths_give_the_same_module() -> None:
    from_path = importlib.import_module("engine.backends.cudnn")
    assert from_path is engine.backends.cudnn is importlib.import_module("engine.torch_compat.backends.cudnn")
    assert from_path.__spec__ is not None and from_path.__spec__.name == from_path.__name__


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="module 'engine' has no attribute 'no_such_name'"):
        engine.no_such_name  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(ImportError, match="no_such_name"):
        exec("from engine import no_such_name", {})
