"""torch.autograd.profiler: the profiler with PyTorch's older arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.profiler.profile import ProfilerAction
from engine.profiler.profile import profile as _profile
from engine.profiler.recorder import record_function


class profile(_profile):
    """`engine.profiler.profile` of one recording.

    Args:
        enabled: False to time nothing
        use_cuda, use_device, record_shapes, with_flops, profile_memory, with_stack, with_modules: no effect
        use_kineto, use_cpu, experimental_config, acc_events: no effect
        custom_trace_id_callback, post_processing_timeout_s, activity_filters: no effect
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
        activity_filters: Any = None,
    ) -> None:
        super().__init__(schedule=None if enabled else lambda step: ProfilerAction.NONE)

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_name_column_width: int | None = 55) -> str:
        """Return `key_averages().table()`."""
        return self.key_averages().table(sort_by, row_limit, max_name_column_width)

    @property
    def self_cpu_time_total(self) -> float:
        """Return the microseconds in ops and named ranges."""
        return self.key_averages().self_cpu_time_total


__all__ = ["profile", "record_function"]
