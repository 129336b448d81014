"""Loss scaling, which keeps small gradients from underflowing in float16."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from engine.backend import cuda_available
from engine.dtypes import float16, float32
from engine.modes import no_grad, note_attributes, note_items
from engine.tensors import Tensor
from engine.tensors.creation import tensor


class OptimizerStage(Enum):
    """State of an optimizer in the current iteration."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class GradScaler:
    """Scale the loss, unscale the gradients, and skip steps with gradients that are not finite.

    The scale is reduced after a skipped step and increased after `growth_interval` steps without one. Source:
    Micikevicius et al., arXiv 1710.03740.

    Args:
        device: "cuda" or "cpu"; without a GPU, "cuda" turns scaling off
        init_scale: initial scale
        growth_factor: factor by which the scale is increased
        backoff_factor: factor by which the scale is reduced after gradients that are not finite
        growth_interval: consecutive steps with finite gradients before the scale is increased
        enabled: if False, methods return their inputs unchanged and step() calls `optimizer.step()`
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if enabled and str(device).startswith("cuda") and not cuda_available():
            warnings.warn("GradScaler for cuda is off: CUDA is not available", stacklevel=2)
            enabled = False
        if enabled and growth_factor <= 1:
            raise ValueError(f"GradScaler: growth_factor must be above 1, not {growth_factor}")
        if enabled and backoff_factor >= 1:
            raise ValueError(f"GradScaler: backoff_factor must be below 1, not {backoff_factor}")
        self._enabled = enabled
        self._device = device
        self._scale = init_scale
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._growth_tracker = 0
        self._stages: dict[int, OptimizerStage] = {}
        self._found_inf: dict[int, bool] = {}

    def scale(self, outputs: Any) -> Any:
        """Multiply a tensor, or a nested structure of tensors, by the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * tensor(self._scale, dtype=float32, device=outputs.device)
        if isinstance(outputs, Iterable):
            scaled = [self.scale(output) for output in outputs]
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError(
            f"GradScaler: outputs must be a tensor or an iterable of tensors, not {type(outputs).__name__}"
        )

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients by the scale, for instance to clip them before the step."""
        if not self._enabled:
            return
        stage = self._stages.get(id(optimizer), OptimizerStage.READY)
        if stage is OptimizerStage.UNSCALED:
            raise RuntimeError("unscale_() was already called for this optimizer since the last update()")
        if stage is OptimizerStage.STEPPED:
            raise RuntimeError("unscale_() was called after step(). Call it before step().")
        inverse, finite = 1 / self._scale, True
        with no_grad():
            for group in optimizer.param_groups:
                for param in group["params"]:
                    if param.grad is None:
                        continue
                    if param.grad.dtype is float16:
                        raise ValueError(
                            "GradScaler: float16 gradients cannot be unscaled. Keep the parameters in float32 and "
                            "compute under autocast."
                        )
                    finite = bool(param.grad.isfinite().all()) and finite
                    param.grad.mul_(inverse)
        self._note_change()
        self._found_inf[id(optimizer)] = not finite
        self._stages[id(optimizer)] = OptimizerStage.UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Call `optimizer.step()` unless a gradient is not finite. Unscales the gradients first if needed."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs or args:
            raise RuntimeError("GradScaler: step() does not support a closure: gradients are checked before the step")
        stage = self._stages.get(id(optimizer), OptimizerStage.READY)
        if stage is OptimizerStage.STEPPED:
            raise RuntimeError("step() was already called for this optimizer since the last update()")
        if stage is OptimizerStage.READY:
            self.unscale_(optimizer)
        result = None if self._found_inf[id(optimizer)] else optimizer.step(**kwargs)
        self._note_change()
        self._stages[id(optimizer)] = OptimizerStage.STEPPED
        return result

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Update the scale, once after the steps of all optimizers; or set it to `new_scale`."""
        if not self._enabled:
            return
        if new_scale is not None:
            scale, tracker = float(new_scale), self._growth_tracker
        elif not self._found_inf:
            raise AssertionError("GradScaler: no gradients were checked before update(). Call step() first.")
        else:
            scale, tracker = self._next_scale(any(self._found_inf.values()))
        self._note_change()
        self._scale, self._growth_tracker = scale, tracker
        self._stages.clear()
        self._found_inf.clear()

    def _next_scale(self, found_inf: bool) -> tuple[float, int]:
        """Return the next scale and the number of steps since it last changed."""
        if found_inf:
            return self._scale * self._backoff_factor, 0
        tracker = self._growth_tracker + 1
        if tracker < self._growth_interval:
            return self._scale, tracker
        grown = self._scale * self._growth_factor
        return grown if math.isfinite(float(tensor(grown, dtype=float32).item())) else self._scale, 0

    def _note_change(self) -> None:
        """Register a change of state, so that an interrupted compiled call can undo it."""
        note_attributes(self, "_scale", "_growth_tracker")
        note_items(self._stages)
        note_items(self._found_inf)

    # -- state

    def is_enabled(self) -> bool:
        return self._enabled

    def get_scale(self) -> float:
        """Return the scale; 1 if scaling is off."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """Return the state in PyTorch's format; empty if scaling is off."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "the state is empty: it was saved with enabled=False. Load it into a GradScaler with enabled=False."
            )
        self._scale = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = state_dict["_growth_tracker"]
