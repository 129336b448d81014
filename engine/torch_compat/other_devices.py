"""Modules of PyTorch's device types that the engine does not support; `is_available()` returns False."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NoReturn

from engine import cuda
from engine.backend import Device
from engine.errors import DeviceError
from engine.torch_compat import cpu


class UnsupportedDeviceModule(ModuleType):
    """The module of an unsupported device type. Names other than the availability checks raise AttributeError."""

    def is_available(self) -> bool:
        """Return False."""
        return False

    def is_initialized(self) -> bool:
        """Return False."""
        return False

    def device_count(self) -> int:
        """Return 0."""
        return 0

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"{self.__name__}.{name} does not exist: the engine's devices are cpu, cuda and meta. "
            f"Check {self.__name__}.is_available() first."
        )


def _unsupported_module(kind: str, description: str) -> Any:
    return UnsupportedDeviceModule(f"engine.{kind}", f"{description}, which the engine does not use.")


mps = _unsupported_module("mps", "Apple's GPUs")
mtia = _unsupported_module("mtia", "Meta's accelerators")
xpu = _unsupported_module("xpu", "Intel's GPUs")


def get_device_module(device: Any = None) -> ModuleType:
    """Return the module of a device type, such as `engine.cuda`. By default that of the GPU if there is one."""
    if device is None:
        return cuda if cuda.is_available() else cpu
    kind = device.type if isinstance(device, Device) else str(device).partition(":")[0]
    found = {"cuda": cuda, "cpu": cpu, "mps": mps, "mtia": mtia, "xpu": xpu}.get(kind)
    if found is None:
        raise DeviceError(f"get_device_module(): {device!r} is not a device with a module. Use 'cpu' or 'cuda'.")
    return found


__all__ = ["get_device_module", "mps", "mtia", "xpu"]
