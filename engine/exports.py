"""The public names of `engine`: where each is defined. scripts/stubs.py writes `__init__.pyi` from these tables."""

NAMES = {
    "engine.amp": (
        "GradScaler, autocast, clear_autocast_cache, get_autocast_dtype, is_autocast_available, "
        "is_autocast_cache_enabled, is_autocast_enabled"
    ),
    "engine.autograd": "grad, inference_mode",
    "engine.autograd.anomaly": "is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled",
    "engine.autograd.inference": "is_inference, is_inference_mode_enabled",
    "engine.backend": "Device as device, cuda_available, default_device as get_default_device, set_default_device",
    "engine.compiler": "compile, graph_break",
    "engine.dtypes": (
        "DType as dtype, bfloat16, bool_ as bool, can_cast, finfo, float16, float16 as half, float32, "
        "float32 as float, float64, float64 as double, get_default_dtype, iinfo, int8, int16, int16 as short, int32, "
        "int32 as int, int64, int64 as long, promote_types, set_default_dtype, uint8, uint16, uint32, uint64"
    ),
    "engine.errors": "OutOfMemoryError",
    "engine.io": "load, save",
    "engine.modes": "enable_grad, is_grad_enabled, no_grad, set_grad_enabled",
    "engine.random": ("Generator, default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state"),
    "engine.system.config": (
        "get_num_interop_threads, get_num_threads, set_num_interop_threads, set_num_threads, show_config"
    ),
    "engine.tensors": "Size, Tensor",
    "engine.tensors.creation": "range_ as range",
    "engine.tensors.memory_format": (
        "channels_last, channels_last_3d, contiguous_format, layout, memory_format, preserve_format, strided"
    ),
    "engine.tensors.printing": "set_printoptions",
    "engine.tensors.storage": "UntypedStorage",
    "engine.torch_compat.other_devices": "get_device_module",
    "engine.version": "__version__",
    "engine.tensors.indexing": "newaxis",
    "math": "e, inf, nan, pi",
}
"""For each module the names that `engine` takes from it."""

COLLECTIONS = (
    "engine.functions",
    "engine.tensors.creation",
    "engine.tensors.predicates",
    "engine.tensors.tensor_types",
    "engine.torch_compat.determinism",
    "engine.torch_compat.in_place",
    "engine.torch_compat.shortcuts",
)
"""Modules whose public names are all names of `engine`."""

MODULES = (
    "accelerator", "amp", "autograd", "backends", "compiler", "cpu", "cuda", "data", "distributed", "distributions",
    "dtypes", "errors", "export", "fft", "fit", "func", "hub", "inspect", "io", "jit", "linalg", "metrics", "mps",
    "mtia", "multiprocessing", "nn", "onnx", "optim", "overrides", "profiler", "random", "return_types",
    "serialization", "signal", "special", "testing", "types", "utils", "version", "xpu",
)  # fmt: skip
"""Public modules."""
