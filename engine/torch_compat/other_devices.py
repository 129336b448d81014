"""Kinds of devices that PyTorch knows and the engine does not use, for code that asks whether they are there."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NoReturn

from engine import cuda
from engine.backend import Device
from engine.errors import DeviceError
from engine.torch_compat import cpu


class Absent(ModuleType):
    """The module of a kind of device: it says that there is none, and refuses the rest."""

    def is_available(self) -> bool:
        """Never."""
        return False

    def is_initialized(self) -> bool:
        """Never."""
        return False

    def device_count(self) -> int:
        """None."""
        return 0

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"{self.__name__}.{name} is not there: the engine's devices are cpu, cuda and meta. "
            f"Ask {self.__name__}.is_available() first."
        )


def _absent(kind: str, what: str) -> Any:
    return Absent(f"engine.{kind}", f"{what}, which the engine does not use.")


mps = _absent("mps", "Apple's GPUs")
mtia = _absent("mtia", "Meta's accelerators")
xpu = _absent("xpu", "Intel's GPUs")


def get_device_module(device: Any = None) -> ModuleType:
    """The module of a kind of device: `engine.cuda`, `engine.cpu`; that of the GPU if there is one."""
    if device is None:
        return cuda if cuda.is_available() else cpu
    kind = device.type if isinstance(device, Device) else str(device).partition(":")[0]
    found = {"cuda": cuda, "cpu": cpu, "mps": mps, "mtia": mtia, "xpu": xpu}.get(kind)
    if found is None:
        raise DeviceError(f"get_device_module(): there is no module for {device!r}. The devices are cpu and cuda.")
    return found


__all__ = ["get_device_module", "mps", "mtia", "xpu"]
