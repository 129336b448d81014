"""Writes engine/parity/names.json: the public names of the installed PyTorch, by namespace, and its modules' paths.

python scripts/parity_names.py            write it
python scripts/parity_names.py --check    exit 1 if the installed PyTorch has other names

Names are public if `__all__` lists them; without `__all__`, if the namespace defines them and they have a docstring
(PyTorch's internal functions have none). A function without docstring counts if it is the functional form of something
documented elsewhere, such as `torch.relu`.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

NAMES = Path(__file__).resolve().parent.parent / "engine" / "parity" / "names.json"
NAMESPACES = (
    "torch",
    "torch.Tensor",
    "torch.amp",
    "torch.autograd",
    "torch.autograd.forward_ad",
    "torch.autograd.functional",
    "torch.autograd.graph",
    "torch.autograd.profiler",
    "torch.backends",
    "torch.backends.cuda",
    "torch.backends.mkl",
    "torch.backends.mps",
    "torch.backends.openmp",
    "torch.compiler",
    "torch.cuda",
    "torch.cuda.amp",
    "torch.distributed",
    "torch.distributions",
    "torch.distributions.utils",
    "torch.fft",
    "torch.func",
    "torch.functional",
    "torch.hub",
    "torch.jit",
    "torch.linalg",
    "torch.multiprocessing",
    "torch.nn",
    "torch.nn.attention",
    "torch.nn.functional",
    "torch.nn.init",
    "torch.nn.parallel",
    "torch.nn.parameter",
    "torch.nn.utils",
    "torch.nn.utils.parametrizations",
    "torch.nn.utils.parametrize",
    "torch.nn.utils.rnn",
    "torch.onnx",
    "torch.optim",
    "torch.optim.lr_scheduler",
    "torch.optim.swa_utils",
    "torch.overrides",
    "torch.profiler",
    "torch.random",
    "torch.serialization",
    "torch.signal",
    "torch.signal.windows",
    "torch.special",
    "torch.testing",
    "torch.types",
    "torch.utils",
    "torch.utils.checkpoint",
    "torch.utils.data",
    "torch.utils.dlpack",
    "torch.utils.hooks",
    "torch.version",
)
# Operators and conversions count as names of the tensor; Python's own object methods do not.
PYTHON = {*vars(object), "__dict__", "__weakref__", "__module__", "__slots__", "__annotations__", "__subclasshook__"}


def public_names() -> dict[str, list[str]]:
    """Return sorted names by namespace."""
    spaces = {name: resolve(name) for name in NAMESPACES}
    documented = {
        key for space in spaces.values() for key, value in entries(space) if callable(value) and documentation(value)
    }
    return {name: sorted(names_of(space, documented)) for name, space in spaces.items()}


def resolve(name: str) -> Any:
    owner, _, last = name.rpartition(".")
    return getattr(importlib.import_module(owner), last) if last == "Tensor" else importlib.import_module(name)


def entries(space: Any) -> Iterator[tuple[str, Any]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of deprecated names
        for key in dir(space):
            try:
                yield key, getattr(space, key)
            except (AttributeError, RuntimeError):  # properties of a class that only instances have
                yield key, inspect.getattr_static(space, key)


def names_of(space: Any, documented: set[str]) -> Iterator[str]:
    exported: set[str] = set(getattr(space, "__all__", ()))
    for key, value in entries(space):
        if isinstance(space, type):
            if is_tensor_name(key, value, documented):
                yield key
        elif not key.startswith("_") and is_module_name(space, key, value, exported, documented):
            yield key


def is_tensor_name(key: str, value: Any, documented: set[str]) -> bool:
    if key.startswith("__"):
        return key not in PYTHON and callable(value) and "torch" not in key
    is_documented = not callable(value) or bool(documentation(value)) or key.rstrip("_") in documented
    return is_documented and not key.startswith("_")


def is_module_name(space: Any, key: str, value: Any, exported: set[str], documented: set[str]) -> bool:
    if isinstance(value, ModuleType):
        path = f"{space.__name__}.{key}"
        return value.__name__ == path and (hasattr(value, "__path__") or path in NAMESPACES)
    if not callable(value):
        return is_constant(value) if space.__name__ == "torch" else key in exported
    home = getattr(value, "__module__", None) or "torch"
    if space.__name__ == "torch" and isinstance(value, type) and home in ("torch", "torch._C"):
        return type(value).__name__ != "pybind11_type"
    if not home.startswith("torch") or getattr(value, "__name__", key).startswith("__"):
        return False
    if space.__name__ != "torch":
        return key in exported if exported else is_defined_in_namespace(space, key, home, value, documented)
    return is_defined_in_namespace(space, key, "torch", value, documented)


def is_defined_in_namespace(space: Any, key: str, module: str, value: Any, documented: set[str]) -> bool:
    is_documented = bool(documentation(value)) or key.rstrip("_") in documented
    return is_documented and (module.startswith((space.__name__, "torch._C")) or module == "torch")


def is_constant(value: Any) -> bool:
    """Values in `torch`: numbers, dtypes, layouts and memory formats."""
    return type(value).__name__ in (
        "float",
        "NoneType",
        "dtype",
        "layout",
        "memory_format",
        "qscheme",
    )


def documentation(value: Any) -> str:
    text = getattr(value, "__doc__", None)
    if not isinstance(text, str) or text == type(value).__doc__ or text.startswith("Members:"):
        return ""
    return text


def public_modules(package: ModuleType) -> list[str]:
    """List the paths of all public modules in a package, without importing them."""
    return sorted(_below(list(package.__path__), package.__name__))


def _below(folders: list[str], prefix: str) -> Iterator[str]:
    for module in pkgutil.iter_modules(folders):
        if not module.name.startswith("_"):
            yield f"{prefix}.{module.name}"
            if module.ispkg:
                yield from _below([str(Path(folder, module.name)) for folder in folders], f"{prefix}.{module.name}")


def text() -> str:
    torch = importlib.import_module("torch")
    record = {
        "version": torch.__version__.partition("+")[0],
        "modules": public_modules(torch),
        "names": public_names(),
    }
    return json.dumps(record, indent=1) + "\n"


def main() -> int:
    if "--check" not in sys.argv:
        NAMES.write_text(text(), encoding="utf-8")
        return 0
    if NAMES.read_text(encoding="utf-8") == text():
        return 0
    sys.stderr.write("names.json is out of date. Run: python scripts/parity_names.py\n")
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
