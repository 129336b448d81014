"""The deep-learning library beneath Gradwire: PyTorch's concepts and names on NumPy and CuPy."""

import os
from math import e, inf, nan, pi

from engine import threads

os.environ.update(threads.missing_settings())  # before NumPy is imported

from engine import (
    accelerator,
    autograd,
    backends,
    compiler,
    cpu,
    cuda,
    determinism,
    dtypes,
    errors,
    functions,
    heap,
    inspect,
    legacy,
    return_types,
)
from engine.autograd import grad, inference_mode
from engine.autograd.anomaly import is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled
from engine.autograd.inference import is_inference, is_inference_mode_enabled
from engine.backend import Device as device
from engine.backend import cuda_available, set_default_device
from engine.backend import default_device as get_default_device
from engine.compiler import compile, graph_break
from engine.config import (
    get_num_interop_threads,
    get_num_threads,
    set_num_interop_threads,
    set_num_threads,
    show_config,
)
from engine.determinism import *  # noqa: F403  (its own list is the list)
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
from engine.errors import OutOfMemoryError
from engine.functions import *  # noqa: F403  (the op registry is the list)
from engine.layout import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    layout,
    memory_format,
    preserve_format,
    strided,
)
from engine.legacy import *  # noqa: F403  (its own list is the list)
from engine.modes import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from engine.other_devices import get_device_module, mps, mtia, xpu
from engine.random import Generator, default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from engine.tensors import Size, Tensor, creation, predicates
from engine.tensors.creation import *  # noqa: F403  (its own list is the list)
from engine.tensors.creation import range_ as range
from engine.tensors.predicates import *  # noqa: F403  (its own list is the list)
from engine.tensors.printing import set_printoptions
from engine.tensors.storage import UntypedStorage
from engine.version import __version__ as __version__

newaxis = None

heap.keep_freed_memory()

# Modules that are written with tensors come last, when tensors have their methods.
from engine import _utils as _utils  # noqa: E402
from engine import (  # noqa: E402
    amp,
    data,
    distributed,
    distributions,
    fft,
    fit,
    func,
    hub,
    in_place,
    io,
    jit,
    linalg,
    metrics,
    multiprocessing,
    nn,
    onnx,
    optim,
    overrides,
    profiler,
    serialization,
    shortcuts,
    signal,
    special,
    testing,
    types,
    utils,
    version,
)
from engine import torch_paths as torch_paths  # noqa: E402
from engine.amp import (  # noqa: E402
    GradScaler,
    autocast,
    clear_autocast_cache,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_cache_enabled,
    is_autocast_enabled,
)
from engine.in_place import *  # noqa: E402, F403
from engine.io import load, save  # noqa: E402
from engine.shortcuts import *  # noqa: E402, F403

__all__ = [
    "Generator",
    "GradScaler",
    "OutOfMemoryError",
    "Size",
    "Tensor",
    "UntypedStorage",
    "accelerator",
    "amp",
    "autocast",
    "autograd",
    "backends",
    "bfloat16",
    "bool",
    "can_cast",
    "channels_last",
    "channels_last_3d",
    "clear_autocast_cache",
    "compile",
    "compiler",
    "contiguous_format",
    "cpu",
    "creation",
    "cuda",
    "cuda_available",
    "data",
    "default_generator",
    "device",
    "distributed",
    "distributions",
    "double",
    "dtype",
    "dtypes",
    "enable_grad",
    "errors",
    "fft",
    "finfo",
    "fit",
    "float",
    "float16",
    "float32",
    "float64",
    "func",
    "get_autocast_dtype",
    "get_default_device",
    "get_default_dtype",
    "get_device_module",
    "get_num_interop_threads",
    "get_num_threads",
    "get_rng_state",
    "grad",
    "graph_break",
    "half",
    "hub",
    "iinfo",
    "inference_mode",
    "initial_seed",
    "inspect",
    "int",
    "int8",
    "int16",
    "int32",
    "int64",
    "io",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_autocast_available",
    "is_autocast_cache_enabled",
    "is_autocast_enabled",
    "is_grad_enabled",
    "is_inference",
    "is_inference_mode_enabled",
    "jit",
    "layout",
    "linalg",
    "load",
    "long",
    "manual_seed",
    "memory_format",
    "metrics",
    "mps",
    "mtia",
    "multiprocessing",
    "nn",
    "no_grad",
    "onnx",
    "optim",
    "overrides",
    "preserve_format",
    "profiler",
    "promote_types",
    "range",
    "return_types",
    "save",
    "seed",
    "serialization",
    "set_anomaly_enabled",
    "set_default_device",
    "set_default_dtype",
    "set_grad_enabled",
    "set_num_interop_threads",
    "set_num_threads",
    "set_printoptions",
    "set_rng_state",
    "short",
    "show_config",
    "signal",
    "special",
    "strided",
    "testing",
    "types",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "utils",
    "version",
    "xpu",
]
__all__ += ["e", "inf", "nan", "newaxis", "pi"]
__all__ += creation.__all__
__all__ += determinism.__all__
__all__ += legacy.__all__
__all__ += predicates.__all__
__all__ += shortcuts.__all__
__all__ += functions.__all__
__all__ += in_place.__all__
