"""Which library a tutorial runs with, and what is the same for both: `--library engine` (the default) or `torch`.

The tutorials are plain PyTorch. Outside of them, `import engine as torch` is all that this file does.
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
    """The library named on the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", choices=("engine", "torch"), default="engine")
    name = parser.parse_args().library
    for module in MODULES:
        importlib.import_module(f"{name}.{module}")
    return importlib.import_module(name)


def start_from(torch: Any, model: Any, seed: int = 0) -> Any:
    """`model` with weights that are the same in every library: drawn by NumPy, each layer's as wide as usual."""
    draw = np.random.default_rng(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            bound = 1 / np.sqrt(np.prod(parameter.shape[1:]) if parameter.ndim > 1 else parameter.shape[0])
            values = draw.uniform(-bound, bound, tuple(parameter.shape)).astype(np.float32)
            parameter.copy_(torch.from_numpy(values))
    return model


def digits() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """1797 handwritten digits: images of 8 by 8 pixels from 0 to 1 with one channel, and the numbers
    that they show, in an order that is the same each time."""
    images = np.frombuffer(gzip.decompress((DIGITS / "images-idx3-ubyte.gz").read_bytes()), np.uint8, offset=16)
    labels = np.frombuffer(gzip.decompress((DIGITS / "labels-idx1-ubyte.gz").read_bytes()), np.uint8, offset=8)
    order = np.random.default_rng(0).permutation(len(labels))
    return images.reshape(-1, 1, 8, 8)[order].astype(np.float32) / 16, labels[order].astype(np.int64)
