"""PyTorch's wrappers for several devices or processes, which run on one device in one process."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from engine import cuda
from engine.backend import Device
from engine.nn.module import Module
from engine.tensors import Tensor


class DataParallel(Module):
    """Calls `module` on the first of the devices. Keys of the state dict start with "module.", as in PyTorch.

    Without CUDA, `device_ids` is empty and nothing is moved. More than one device gives a warning: one device processes
    the whole batch.

    Args:
        module: module to call
        device_ids: GPU indices (default: all)
        output_device: accepted for compatibility; the output stays on its device
        dim: accepted for compatibility; the batch is not split
    """

    def __init__(
        self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module
        self.dim = dim
        self.device_ids = _first_device(device_ids)
        self.output_device = self.device_ids[0] if self.device_ids and output_device is None else output_device
        if self.device_ids:
            module.to(f"cuda:{self.device_ids[0]}")

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        device = Device("cuda", self.device_ids[0])
        return self.module(*_move(inputs, device), **_move(kwargs, device))


class DistributedDataParallel(Module):
    """Calls `module` in this process. Keys of the state dict start with "module.", as in PyTorch.

    No process group is needed. Options for the exchange of gradients between processes have no effect.

    Raises:
        RuntimeError: no parameter of the module requires a gradient
        ValueError: `mixed_precision` is given
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: list[int] | None = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ) -> None:
        super().__init__()
        if not any(parameter.requires_grad for parameter in module.parameters()):
            raise RuntimeError(
                "DistributedDataParallel: no parameter of the module requires a gradient. Call the module itself."
            )
        if mixed_precision is not None:
            raise ValueError(
                "DistributedDataParallel does not support mixed_precision. Use engine.autocast around the forward pass."
            )
        self.module = module
        self.dim = dim
        self.device_ids = None if device_ids is None else list(device_ids)
        self.output_device = output_device
        self.require_backward_grad_sync = True

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Context for gradient accumulation; has no effect in one process."""
        outer, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = outer

    @contextmanager
    def join(self, divide_by_initial_world_size: bool = True, enable: bool = True, **options: Any) -> Iterator[None]:
        """Context for uneven inputs across processes; has no effect in one process."""
        yield


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """Call `module(*inputs, **module_kwargs)` with `DataParallel`."""
    inputs = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*inputs, **(module_kwargs or {}))


def _first_device(device_ids: Sequence[Any] | None) -> list[int]:
    """List with the GPU to use; empty without CUDA."""
    if not cuda.is_available():
        return []
    ids = range(cuda.device_count()) if device_ids is None else device_ids
    indices = [one if isinstance(one, int) else Device(one).index or 0 for one in ids]
    if len(indices) > 1:
        warnings.warn(f"DataParallel runs on cuda:{indices[0]} only, not on {len(indices)} devices.", stacklevel=3)
    return indices[:1]


def _move(value: Any, device: Device) -> Any:
    """Copy of a nested value with all tensors moved to a device."""
    if isinstance(value, Tensor):
        return value.to(device)
    if isinstance(value, dict):
        return type(value)((key, _move(one, device)) for key, one in value.items())
    if isinstance(value, (list, tuple)):
        moved = [_move(one, device) for one in value]
        return type(value)(*moved) if isinstance(value, tuple) and hasattr(value, "_fields") else type(value)(moved)
    return value


__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]
