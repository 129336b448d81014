"""How close kernels are to the limits of the machine: the roofline model (Williams, Waterman and Patterson, 2009)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from studio.training.profiling.machine_limits import MachineLimits
from studio.training.profiling.profile_data import Bound, KernelProfile, Profile

_OVERHEAD_SHARE = 0.2
"""A kernel is bound by overhead if empty kernels would take at least this share of its time,"""
_MIN_SHARE = 0.1
"""or if it reaches less than this share of the limit."""


@dataclass(frozen=True, slots=True)
class RooflinePoint:
    """A kernel under the roofline."""

    kernel: KernelProfile
    bound: Bound
    limit: float
    """Floating-point operations per second that the machine could reach at the intensity of the kernel."""
    share: float
    """Share of the limit that it reaches: the shortest possible time by the measured one.

    Above 1 for arrays that stay in a cache, which is faster than memory.
    """


def roofline_point(kernel: KernelProfile, limits: MachineLimits) -> RooflinePoint:
    """The position of a kernel."""
    peak = limits.flops_of(kernel.dtype)
    shortest = max(kernel.flops / peak, kernel.bytes / limits.bandwidth)
    limit = min(peak, kernel.intensity * limits.bandwidth)
    share = shortest / kernel.seconds if kernel.seconds else 0.0
    return RooflinePoint(kernel, _bound(kernel, limits), limit, share)


def roofline(profile: Profile, limits: MachineLimits) -> tuple[RooflinePoint, ...]:
    """The positions of all kernels that compute or move data, in the order of the profile."""
    return tuple(roofline_point(kernel, limits) for kernel in profile.kernels if kernel.kind != "view")


def bound_seconds(points: Sequence[RooflinePoint]) -> dict[Bound, float]:
    """Seconds of a step by what bounds its kernels."""
    found: dict[Bound, float] = {}
    for point in points:
        found[point.bound] = found.get(point.bound, 0.0) + point.kernel.seconds
    return found


def _bound(kernel: KernelProfile, limits: MachineLimits) -> Bound:
    if not kernel.bytes or not kernel.seconds:
        return "unknown"
    if limits.overhead * kernel.count >= _OVERHEAD_SHARE * kernel.seconds:
        return "overhead"
    arithmetic, movement = kernel.flops / limits.flops_of(kernel.dtype), kernel.bytes / limits.bandwidth
    if max(arithmetic, movement) < _MIN_SHARE * kernel.seconds:
        return "overhead"
    return "compute" if arithmetic > movement else "memory"


__all__ = ["RooflinePoint", "bound_seconds", "roofline", "roofline_point"]
