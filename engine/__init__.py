"""The deep-learning library beneath Gradwire: PyTorch's concepts and names on NumPy and CuPy."""

from engine import dtypes, indexing, inspect, methods
from engine.autograd import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
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
from engine.dtypes import DType as dtype
from engine.dtypes import bool_ as bool
from engine.gradients import grad
from engine.ops import COMPOSITES as _COMPOSITES
from engine.ops import REGISTRY as _REGISTRY
from engine.ops.elementwise import where
from engine.ops.movement import stack
from engine.random import Generator, initial_seed, manual_seed
from engine.tensor import Size, Tensor

methods.install(Tensor, _run_in_place)
Tensor._move = _move
Tensor._run_in_place = lambda self, op, *args: _run_in_place(op, self, args, {})
Tensor.__getitem__ = indexing.getitem
Tensor.__setitem__ = indexing.setitem
globals().update({name: op.function for name, op in _REGISTRY.items() if not name.startswith("_") and name not in globals()})
globals().update({name: function for name, function in _COMPOSITES.items() if name not in globals()})

double, half, long = float64, float16, int64
