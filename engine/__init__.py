"""The deep-learning library beneath Gradwire: PyTorch's concepts and names on NumPy and CuPy."""

import os

from engine import threads

os.environ.update(threads.missing_settings())  # before NumPy is imported

from engine import dtypes, errors, functions, indexing, inspect, methods
from engine.backend import Device as device
from engine.backend import cuda_available
from engine.creation import (
    arange,
    as_tensor,
    empty,
    empty_like,
    eye,
    from_numpy,
    full,
    full_like,
    linspace,
    ones,
    ones_like,
    rand,
    rand_like,
    randint,
    randn,
    randn_like,
    randperm,
    tensor,
    zeros,
    zeros_like,
)
from engine.dispatch import move as _move
from engine.dispatch import run_in_place as _run_in_place
from engine.dtypes import DType as dtype
from engine.dtypes import bool_ as bool
from engine.dtypes import (
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    set_default_dtype,
    uint8,
)
from engine.functions import *  # noqa: F403  (the op registry is the list)
from engine.gradients import grad
from engine.modes import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from engine.random import Generator, initial_seed, manual_seed
from engine.tensor import Size, Tensor

methods.install(
    Tensor, _run_in_place, {"_move": _move, "__getitem__": indexing.getitem, "__setitem__": indexing.setitem}
)

# Modules that are written with tensors come last, when tensors have their methods.
from engine import data, fit, io, metrics, nn, optim  # noqa: E402

double, half, long = float64, float16, int64

__all__ = [
    "optim",
    "nn",
    "metrics",
    "io",
    "fit",
    "data",
    "arange",
    "as_tensor",
    "bool",
    "cuda_available",
    "device",
    "double",
    "dtype",
    "dtypes",
    "empty",
    "empty_like",
    "enable_grad",
    "errors",
    "eye",
    "float16",
    "float32",
    "float64",
    "from_numpy",
    "full",
    "full_like",
    "Generator",
    "get_default_dtype",
    "grad",
    "half",
    "initial_seed",
    "inspect",
    "int16",
    "int32",
    "int64",
    "int8",
    "is_grad_enabled",
    "linspace",
    "long",
    "manual_seed",
    "no_grad",
    "ones",
    "ones_like",
    "rand",
    "rand_like",
    "randint",
    "randn",
    "randn_like",
    "randperm",
    "set_default_dtype",
    "set_grad_enabled",
    "Size",
    "Tensor",
    "tensor",
    "uint8",
    "zeros",
    "zeros_like",
]
__all__ += functions.__all__
