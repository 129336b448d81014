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
from engine.dtypes import (
    bfloat16,
    can_cast,
    finfo,
    float16,
    float32,
    float64,
    get_default_dtype,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    set_default_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
)
from engine.dtypes import bool_ as bool
from engine.dtypes import float16 as half
from engine.dtypes import float32 as float
from engine.dtypes import float64 as double
from engine.dtypes import int16 as short
from engine.dtypes import int32 as int
from engine.dtypes import int64 as long
from engine.functions import *  # noqa: F403  (the op registry is the list)
from engine.gradients import grad
from engine.modes import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from engine.random import Generator, initial_seed, manual_seed
from engine.tensor import Size, Tensor

methods.install(
    Tensor, _run_in_place, {"_move": _move, "__getitem__": indexing.getitem, "__setitem__": indexing.setitem}
)

# Modules that are written with tensors come last, when tensors have their methods.
from engine import data, fit, io, linalg, metrics, nn, optim  # noqa: E402

__all__ = [
    "optim",
    "nn",
    "metrics",
    "io",
    "linalg",
    "fit",
    "data",
    "arange",
    "as_tensor",
    "bfloat16",
    "bool",
    "can_cast",
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
    "finfo",
    "float",
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
    "iinfo",
    "initial_seed",
    "inspect",
    "int",
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
    "promote_types",
    "set_default_dtype",
    "set_grad_enabled",
    "short",
    "Size",
    "Tensor",
    "tensor",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "zeros",
    "zeros_like",
]
__all__ += functions.__all__
