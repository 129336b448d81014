"""Chooses the library of an example (`--library engine`, the default, or `torch`), with equal weights and data.

The examples are plain PyTorch programs. In other programs, write `import engine as torch`.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
from pathlib import Path
from typing import Any

import numpy as np

DIGITS = Path(__file__).resolve().parents[2] / "assets" / "data" / "digits"
MODULES = ("utils.data", "utils.checkpoint")


def chosen() -> Any:
    """Return the library named on the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", choices=("engine", "torch"), default="engine")
    name = parser.parse_args().library
    for module in MODULES:
        importlib.import_module(f"{name}.{module}")
    return importlib.import_module(name)


def start_from(torch: Any, model: Any, seed: int = 0) -> Any:
    """Initialize `model` with NumPy's random numbers, so that weights are equal in all libraries."""
    draw = np.random.default_rng(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            bound = 1 / np.sqrt(np.prod(parameter.shape[1:]) if parameter.ndim > 1 else parameter.shape[0])
            values = draw.uniform(-bound, bound, tuple(parameter.shape)).astype(np.float32)
            parameter.copy_(torch.from_numpy(values))
    return model


def digits() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return 1797 handwritten digits in a fixed random order: images (N, 1, 8, 8) from 0 to 1, and labels."""
    images = np.frombuffer(gzip.decompress((DIGITS / "images-idx3-ubyte.gz").read_bytes()), np.uint8, offset=16)
    labels = np.frombuffer(gzip.decompress((DIGITS / "labels-idx1-ubyte.gz").read_bytes()), np.uint8, offset=8)
    order = np.random.default_rng(0).permutation(len(labels))
    return images.reshape(-1, 1, 8, 8)[order].astype(np.float32) / 16, labels[order].astype(np.int64)
