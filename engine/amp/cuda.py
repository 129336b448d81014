"""torch.cuda.amp: autocast and GradScaler with the device type "cuda"."""

from __future__ import annotations

import functools

from engine.amp.autocast import autocast as _autocast
from engine.amp.custom_functions import custom_bwd as _custom_bwd
from engine.amp.custom_functions import custom_fwd as _custom_fwd
from engine.amp.grad_scaler import GradScaler as _GradScaler
from engine.dtypes import DType, float16


class autocast(_autocast):
    """`engine.amp.autocast` for "cuda"."""

    def __init__(self, enabled: bool = True, dtype: DType = float16, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)

    def _arguments(self) -> dict[str, object]:
        return {name: value for name, value in super()._arguments().items() if name != "device_type"}


class GradScaler(_GradScaler):
    """`engine.amp.GradScaler` for "cuda"."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


custom_fwd = functools.partial(_custom_fwd, device_type="cuda")
custom_bwd = functools.partial(_custom_bwd, device_type="cuda")

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]
