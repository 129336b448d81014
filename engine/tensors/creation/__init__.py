"""Functions that create tensors, with PyTorch's names and arguments."""

from __future__ import annotations

from engine.tensors.creation.constant_tensors import empty as empty
from engine.tensors.creation.constant_tensors import empty_like as empty_like
from engine.tensors.creation.constant_tensors import empty_strided as empty_strided
from engine.tensors.creation.constant_tensors import full as full
from engine.tensors.creation.constant_tensors import full_like as full_like
from engine.tensors.creation.constant_tensors import new_empty_strided as new_empty_strided
from engine.tensors.creation.constant_tensors import ones as ones
from engine.tensors.creation.constant_tensors import ones_like as ones_like
from engine.tensors.creation.constant_tensors import scalar_tensor as scalar_tensor
from engine.tensors.creation.constant_tensors import zeros as zeros
from engine.tensors.creation.constant_tensors import zeros_like as zeros_like
from engine.tensors.creation.from_data import as_tensor as as_tensor
from engine.tensors.creation.from_data import asarray as asarray
from engine.tensors.creation.from_data import from_array as from_array
from engine.tensors.creation.from_data import from_dlpack as from_dlpack
from engine.tensors.creation.from_data import from_numpy as from_numpy
from engine.tensors.creation.from_data import frombuffer as frombuffer
from engine.tensors.creation.from_data import tensor as tensor
from engine.tensors.creation.random_fill import METHODS as FILLS
from engine.tensors.creation.random_tensors import bernoulli as bernoulli
from engine.tensors.creation.random_tensors import multinomial as multinomial
from engine.tensors.creation.random_tensors import normal as normal
from engine.tensors.creation.random_tensors import poisson as poisson
from engine.tensors.creation.random_tensors import rand as rand
from engine.tensors.creation.random_tensors import rand_like as rand_like
from engine.tensors.creation.random_tensors import randint as randint
from engine.tensors.creation.random_tensors import randint_like as randint_like
from engine.tensors.creation.random_tensors import randn as randn
from engine.tensors.creation.random_tensors import randn_like as randn_like
from engine.tensors.creation.random_tensors import randperm as randperm
from engine.tensors.creation.ranges import arange as arange
from engine.tensors.creation.ranges import eye as eye
from engine.tensors.creation.ranges import linspace as linspace
from engine.tensors.creation.ranges import logspace as logspace
from engine.tensors.creation.ranges import range_ as range_
from engine.tensors.creation.ranges import tril_indices as tril_indices
from engine.tensors.creation.ranges import triu_indices as triu_indices
from engine.tensors.creation.window_functions import bartlett_window as bartlett_window
from engine.tensors.creation.window_functions import blackman_window as blackman_window
from engine.tensors.creation.window_functions import hamming_window as hamming_window
from engine.tensors.creation.window_functions import hann_window as hann_window
from engine.tensors.creation.window_functions import kaiser_window as kaiser_window

METHODS = {**FILLS, "multinomial": multinomial, "new_empty_strided": new_empty_strided}
"""Functions that are also methods of tensors."""

__all__ = [
    "arange",
    "as_tensor",
    "asarray",
    "bartlett_window",
    "bernoulli",
    "blackman_window",
    "empty",
    "empty_like",
    "empty_strided",
    "eye",
    "from_dlpack",
    "from_numpy",
    "frombuffer",
    "full",
    "full_like",
    "hamming_window",
    "hann_window",
    "kaiser_window",
    "linspace",
    "logspace",
    "multinomial",
    "normal",
    "ones",
    "ones_like",
    "poisson",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "scalar_tensor",
    "tensor",
    "tril_indices",
    "triu_indices",
    "zeros",
    "zeros_like",
]
