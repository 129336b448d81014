"""The engine's public names are pinned, so that each addition and removal is intended.

python tests/test_public_api.py        rewrites tests/public_api.txt
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from types import ModuleType

import engine
from engine.torch_compat.paths import PATHS

GOLDEN = Path(__file__).with_name("public_api.txt")


def modules() -> list[ModuleType]:
    """Yield `engine` and its public modules, except those that need TensorBoard."""
    names = [found.name for found in pkgutil.walk_packages(engine.__path__, "engine.", onerror=lambda name: None)]
    names = [name for name in names if not name.startswith("engine.utils.tensorboard")]
    names = [name for name in names if not name.startswith("engine.torch_compat")]  # public by PyTorch's paths
    names += [f"engine.{path}" for path, source in PATHS.items() if source == f"engine.torch_compat.{path}"]
    public = [name for name in names if not any(part.startswith("_") for part in name.split("."))]
    return [engine, *map(importlib.import_module, public)]


def public_names() -> str:
    """Return one dotted name per line, for every module with `__all__`."""
    listed = [module for module in modules() if hasattr(module, "__all__") and not _is_internal(module)]
    return "".join(sorted(f"{_path(module)}.{name}\n" for module in listed for name in module.__all__))


def _path(module: ModuleType) -> str:
    return module.__name__.replace(".torch_compat", "")


def _is_internal(module: ModuleType) -> bool:
    """Whether it is a part of the compiler, whose documented names are those of `engine.compiler` itself."""
    return module.__name__.startswith("engine.compiler.")


def test_public_names_are_the_pinned_ones() -> None:
    pinned, found = set(GOLDEN.read_text(encoding="utf-8").split()), set(public_names().split())
    hint = "if that is meant: python tests/test_public_api.py"
    assert (sorted(found - pinned), sorted(pinned - found)) == ([], []), f"(added, removed); {hint}"


def test_public_names_exist() -> None:
    missing = [f"{m.__name__}.{name}" for m in modules() for name in getattr(m, "__all__", ()) if not hasattr(m, name)]
    assert missing == []


def test_every_package_lists_its_public_names() -> None:
    """Folders further down only sort files; their names are public through the package above."""
    packages = [module for module in modules() if hasattr(module, "__path__") and module.__name__.count(".") <= 1]
    assert [package.__name__ for package in packages if not hasattr(package, "__all__")] == []


def test_public_names_do_not_begin_with_an_underscore() -> None:
    assert [name for name in public_names().split() if name.rpartition(".")[2].startswith("_")] == []


if __name__ == "__main__":
    GOLDEN.write_text(public_names(), encoding="utf-8")
