"""The packages of the extra `onnx`, imported when they are first used."""

from __future__ import annotations

import importlib
from typing import Any

from engine import lazy

ir: Any = lazy.module("onnx_ir")
ir_passes: Any = lazy.module("onnx_ir.passes.common")
onnx: Any = lazy.module("onnx")
onnxruntime: Any = lazy.module("onnxruntime")

NAMES = ("onnx", "onnx_ir", "onnxruntime")


def require_packages() -> None:
    """Import the packages. Raises ImportError, with the extra to install, if one is missing."""
    for name in NAMES:
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise ImportError(
                f'ONNX export needs the package {name} ({error}). Install it: pip install "gradwire[onnx]"'
            ) from None


__all__ = ["ir", "ir_passes", "onnx", "onnxruntime", "require_packages"]
