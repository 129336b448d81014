"""The device of a plan: its array library, its kernels, and how a run starts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from engine.backend import CPU, Device, namespace
from engine.compiler.atomic_changes import CommitChanges, apply_changes
from engine.compiler.ir import IRGraph, PlanUnsupported
from engine.compiler.kernels import CpuKernel, FusedGroup, cuda
from engine.compiler.kernels.loop_layout import Strides


def device_of(graph: IRGraph) -> Device:
    """The device of a graph. Raises PlanUnsupported if it uses several."""
    values = [*graph.inputs.values(), *(value for node in graph.nodes for value in node.outputs)]
    devices = {value.device for value in values}
    if len(devices) > 1:
        raise PlanUnsupported(f"it uses several devices: {', '.join(sorted(map(str, devices)))}")
    return devices.pop() if devices else CPU


class GpuTarget:
    """A CUDA device. Plans wait for its kernels, because no other code there sums in their order.

    Raises:
        PlanUnsupported: the device has no kernels
    """

    def __init__(self, device: Device) -> None:
        if device.type != "cuda":
            raise PlanUnsupported(f"{device} has no compiled kernels")
        self.device, self.xp = device, namespace(device)
        self._stream: Any = None

    def kernel(self, fused: FusedGroup, strides: Sequence[Strides]) -> cuda.CudaKernel:
        """Creates the kernel of a group. Raises LoweringUnsupported."""
        return cuda.CudaKernel(fused, strides, self.device)

    def device_context(self) -> Any:
        """Context in which CuPy uses this device."""
        return self.xp.cuda.Device(self.device.index)

    def synchronize(self) -> None:
        """Waits for the kernels that were started."""
        with self.device_context():
            self.xp.cuda.get_current_stream().synchronize()

    def allocate(self, size: int) -> Any:
        """Allocates bytes on the device. CuPy aligns memory to 256 bytes."""
        with self.device_context():
            return self.xp.zeros(max(size, 1), np.uint8)

    def scratch_bytes(self, kernels: Iterable[cuda.CudaKernel]) -> int:
        """Bytes of scratch memory, which kernels share since they run one after the other."""
        return max((kernel.scratch_bytes for kernel in kernels), default=0)

    def bind_kernels(self, kernels: Sequence[cuda.CudaKernel]) -> dict[FusedGroup, Any]:
        """A callable for each kernel."""
        scratch = self.allocate(self.scratch_bytes(kernels))
        return {kernel.fused: kernel.bind(scratch) for kernel in kernels}

    def run(self, function: Any, externals: dict[int, Any], scalars: list[Any], commit: CommitChanges) -> list[Any]:
        """Calls a plan's function.

        Runs share memory, so if the stream has changed, it waits for the stream of the previous run.
        """
        with self.device_context():
            stream = self.xp.cuda.get_current_stream()
            if self._stream is not None and stream.ptr != self._stream.ptr:
                stream.wait_event(self._stream.record())
            self._stream = stream
            values, changes, _held = function(externals, scalars, {})
            apply_changes([*changes, *commit(values)])
            return values


def kernel_for(gpu: GpuTarget | None, fused: FusedGroup, strides: Sequence[Strides]) -> CpuKernel | cuda.CudaKernel:
    """Creates the kernel of a group for a GPU, or else for the CPU. Raises LoweringUnsupported."""
    return CpuKernel(fused, strides) if gpu is None else gpu.kernel(fused, strides)


__all__ = ["GpuTarget", "device_of", "kernel_for"]
