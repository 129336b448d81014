"""torch.cuda: GPUs. Without CUDA, queries return 0 or False, and requests raise DeviceError."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Any

from engine import dtypes
from engine import random as generators
from engine.backend import Device, cuda_available, namespace
from engine.errors import OutOfMemoryError
from engine.random import initial_seed, manual_seed, seed
from engine.random.philox import State
from engine.tensors.tensor_types import type_of

is_available = cuda_available


BoolTensor = type_of(dtypes.bool_, "cuda")
ByteTensor = type_of(dtypes.uint8, "cuda")
CharTensor = type_of(dtypes.int8, "cuda")
ShortTensor = type_of(dtypes.int16, "cuda")
IntTensor = type_of(dtypes.int32, "cuda")
LongTensor = type_of(dtypes.int64, "cuda")
HalfTensor = type_of(dtypes.float16, "cuda")
BFloat16Tensor = type_of(dtypes.bfloat16, "cuda")
FloatTensor = type_of(dtypes.float32, "cuda")
DoubleTensor = type_of(dtypes.float64, "cuda")


_initialized = False
"""Read by reversible layers before they save the random states of GPUs; one generator serves all devices."""


def is_initialized() -> bool:
    """Return whether CUDA is available; no initialization is needed."""
    return cuda_available()


def init() -> None:
    """Do nothing with CUDA, which needs no initialization. Raises DeviceError without CUDA."""
    _cuda()


def device_count() -> int:
    """Return the number of GPUs."""
    return _cuda().runtime.getDeviceCount() if cuda_available() else 0


def current_device() -> int:
    """Return the index of this thread's current GPU."""
    return _cuda().runtime.getDevice()


def set_device(device: Any) -> None:
    """Set the current GPU of this thread."""
    _cuda().runtime.setDevice(_index(device))


def synchronize(device: Any = None) -> None:
    """Wait until all work on a GPU is finished."""
    with _cuda().Device(_index(device)):
        _cuda().runtime.deviceSynchronize()


def get_device_name(device: Any = None) -> str:
    """Return the name of a GPU."""
    name = _properties(device)["name"]
    return name.decode() if isinstance(name, bytes) else name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Return the compute capability, such as (9, 0)."""
    properties = _properties(device)
    return properties["major"], properties["minor"]


class DeviceProperties:
    """Name, compute capability, memory and number of multiprocessors of a GPU."""

    def __init__(self, device: Any) -> None:
        properties = _properties(device)
        self.name = get_device_name(device)
        self.major, self.minor = get_device_capability(device)
        self.total_memory: int = properties["totalGlobalMem"]
        self.multi_processor_count: int = properties["multiProcessorCount"]

    def __repr__(self) -> str:
        return (
            f"DeviceProperties(name={self.name!r}, major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory >> 20}MB, multi_processor_count={self.multi_processor_count})"
        )


def get_device_properties(device: Any = None) -> DeviceProperties:
    """Return the properties of a GPU."""
    return DeviceProperties(device)


# -- memory -----------------------------------------------------------------------------------


def memory_allocated(device: Any = None) -> int:
    """Return the bytes used by tensors; 0 without CUDA."""
    return _pool(device).used_bytes() if cuda_available() else 0


def memory_reserved(device: Any = None) -> int:
    """Return the bytes held by the memory pool, used or free; 0 without CUDA."""
    return _pool(device).total_bytes() if cuda_available() else 0


def max_memory_allocated(device: Any = None) -> int:
    """Return `memory_reserved`, an upper bound: CuPy does not record the peak of used bytes."""
    return memory_reserved(device)


def max_memory_reserved(device: Any = None) -> int:
    """Return `memory_reserved`, which falls only with `empty_cache`."""
    return memory_reserved(device)


def reset_peak_memory_stats(device: Any = None) -> None:
    """Reset the peaks by `empty_cache`."""
    empty_cache()


def empty_cache() -> None:
    """Free unused memory of the memory pool. Does nothing without CUDA."""
    if cuda_available():
        xp = namespace(Device("cuda"))
        xp.get_default_memory_pool().free_all_blocks()
        xp.get_default_pinned_memory_pool().free_all_blocks()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Return the free and the total memory of a GPU in bytes."""
    with _cuda().Device(_index(device)):
        return tuple(_cuda().runtime.memGetInfo())


# -- random numbers: one generator for all devices -----------------------------------------------


def get_rng_state(device: Any = "cuda") -> State:
    """Return `engine.get_rng_state()`."""
    return generators.get_rng_state()


def set_rng_state(new_state: tuple[int, int, int], device: Any = "cuda") -> None:
    """Call `engine.set_rng_state`."""
    generators.set_rng_state(new_state)


def get_rng_state_all() -> list[State]:
    """Return the state of the global generator, once per GPU."""
    return [generators.get_rng_state()] * device_count()


def set_rng_state_all(new_states: Iterable[tuple[int, int, int]]) -> None:
    """Set the state of the global generator to the first state."""
    for state in list(new_states)[:1]:
        generators.set_rng_state(state)


def manual_seed_all(seed: int) -> None:
    """Call `engine.manual_seed`: all devices draw the same numbers."""
    generators.manual_seed(seed)


def seed_all() -> None:
    """Call `engine.seed`."""
    generators.seed()


# -- current device and events ------------------------------------------------------------------


class device:
    """Context manager that sets the current GPU. None and -1 do nothing."""

    def __init__(self, device: Any) -> None:
        self._context = None if device is None or device == -1 else _cuda().Device(_index(device))

    def __enter__(self) -> None:
        if self._context is not None:
            self._context.__enter__()

    def __exit__(self, kind: object, error: object, trace: TracebackType | None) -> None:
        if self._context is not None:
            self._context.__exit__(kind, error, trace)


class Event:
    """A CUDA event, to measure times on a GPU."""

    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> None:
        self._event = _cuda().Event(block=blocking, disable_timing=not enable_timing)

    def record(self) -> None:
        """Record the event after all work queued so far."""
        self._event.record()

    def synchronize(self) -> None:
        """Wait until the GPU has reached the event."""
        self._event.synchronize()

    def query(self) -> bool:
        """Return whether the GPU has reached the event."""
        return self._event.done

    def elapsed_time(self, end_event: Event) -> float:
        """Return the milliseconds from this event to another."""
        return _cuda().get_elapsed_time(self._event, end_event._event)


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Return whether the current GPU supports bfloat16."""
    return cuda_available() and get_device_capability()[0] >= 8


def ipc_collect() -> None:
    """Without effect: no memory is shared with other processes."""


def _cuda() -> Any:
    return namespace(Device("cuda")).cuda


def _index(device: Any) -> int:
    if device is None:
        return current_device()
    return device if isinstance(device, int) else Device(device).index or 0


def _properties(device: Any) -> Any:
    return _cuda().runtime.getDeviceProperties(_index(device))


def _pool(device: Any) -> Any:
    with _cuda().Device(_index(device)):
        return namespace(Device("cuda")).get_default_memory_pool()


__all__ = [
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "Event",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "OutOfMemoryError",
    "ShortTensor",
    "current_device",
    "device",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "synchronize",
]
