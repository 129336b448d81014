"""Transfer of tensors between devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.backend import CPU, META, Device, MetaArray, namespace, to_host
from engine.errors import DeviceError
from engine.modes import MODES
from engine.ops.record import Op
from engine.shape import format_shape
from engine.tensors.dispatch.node_recording import record
from engine.tensors.storage import Storage
from engine.tensors.tensor import Tensor


def _kernel_move(xp, x, device: str, source: str):  # pyright: ignore[reportMissingParameterType]
    """Copy x to another device."""
    raise AssertionError("run by move(), which knows both devices")


_kernel_move.__name__ = "to_device"
MOVE = Op(_kernel_move, "movement", method=False)
MOVE.shape(lambda x, device, source: x)


@MOVE.gradient
def _(g: Any, device: str, source: str) -> Any:
    return move(g, Device(source))


def move(x: Tensor, device: Device) -> Tensor:
    """Return a copy of `x` on `device`; autograd records the copy."""
    if device is META:
        array: Any = MetaArray(tuple(x._array.shape), x._array.dtype)
    elif device is CPU:
        array = to_host(x._numbers())
    else:
        xp = namespace(device)
        with xp.cuda.Device(device.index):
            array = xp.asarray(x._numbers())
    out = Tensor(array, Storage(device))
    if MODES.tracer is not None:
        MODES.tracer.moved(x, out)
    if MODES.grad and x.requires_grad:
        record(MOVE, (x,), {"device": str(device), "source": str(x.device)}, [out], None)
    return out


def common_device(op: Op, inputs: Sequence[Any]) -> Device:
    """Return the common device of all inputs. As in PyTorch, a 0-dimensional CPU tensor combines with any device."""
    tensors = [value for value in inputs if isinstance(value, Tensor)]
    devices = {tensor.device for tensor in tensors if tensor.ndim or tensor.device is not CPU}
    if len(devices) <= 1 and META not in devices:
        return next(iter(devices), CPU)
    if META in devices and len(devices | {CPU}) <= 2:
        return META
    names = ", ".join(f"{format_shape(tensor.shape)} on {tensor.device}" for tensor in tensors)
    raise DeviceError(
        f"{op.name}(): tensors on different devices: {names}.", in_code="Move them to one with .to(device)."
    )


def move_inputs(inputs: Sequence[Any], device: Device) -> list[Any]:
    """Copy the inputs that are on another device to `device`."""
    return [
        move(value, device) if isinstance(value, Tensor) and value.device is not device else value for value in inputs
    ]
