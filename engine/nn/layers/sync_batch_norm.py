"""Synchronized batch normalization, in a single process."""

from __future__ import annotations

from typing import Any

from engine.dtypes import DType
from engine.nn.layers.annotations import DeviceArgument
from engine.nn.layers.batch_norm import BatchNorm
from engine.nn.module import Module


class SyncBatchNorm(BatchNorm):
    """Batch normalization of inputs with 2 to 5 dimensions; in one process identical to `BatchNorm1d` to `3d`."""

    dimensions = (2, 3, 4, 5)

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: DeviceArgument = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Replace all batch norms in `module`, keeping their parameters and statistics. Returns the module."""
        if isinstance(module, BatchNorm) and not isinstance(module, cls):
            converted = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                device="meta",
                bias=module.bias is not None,
            )
            for name, tensor in (*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)):
                setattr(converted, name, tensor)
            return converted.train(module.training)
        for name, child in module.named_children():
            replaced = cls.convert_sync_batchnorm(child, process_group)
            if replaced is not child:
                setattr(module, name, replaced)
        return module
