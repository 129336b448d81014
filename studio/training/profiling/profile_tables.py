"""A profile as tables: rows for CSV files, and a record for JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from studio.training.profiling.machine_limits import MachineLimits
from studio.training.profiling.profile_data import MEMORY_KINDS, PHASES, Profile
from studio.training.profiling.roofline import RooflinePoint, roofline_point

KERNEL_COLUMNS = (
    "kernel",
    "kind",
    "phases",
    "nodes",
    "seconds",
    "share",
    "runs",
    "bytes_read",
    "bytes_written",
    "flops",
    "dtype",
    "flops_per_second",
    "bytes_per_second",
    "intensity",
    "bound",
    "share_of_limit",
)


def kernel_rows(profile: Profile, limits: MachineLimits) -> list[dict[str, Any]]:
    """A row for each kernel. Times and sizes are those of one step."""
    rows: list[dict[str, Any]] = []
    for kernel in profile.kernels:
        point: RooflinePoint = roofline_point(kernel, limits)
        values = (
            kernel.name,
            kernel.kind,
            " ".join(kernel.phases),
            " ".join(kernel.nodes),
            kernel.seconds,
            kernel.seconds / profile.seconds if profile.seconds else 0.0,
            kernel.count,
            kernel.read,
            kernel.written,
            kernel.flops,
            kernel.dtype,
            kernel.flops_per_second,
            kernel.bytes_per_second,
            kernel.intensity,
            point.bound,
            point.share,
        )
        rows.append(dict(zip(KERNEL_COLUMNS, values, strict=True)))
    return rows


def csv_text(profile: Profile, limits: MachineLimits) -> str:
    """The table of kernels as CSV."""
    return rows_as_csv(KERNEL_COLUMNS, [list(row.values()) for row in kernel_rows(profile, limits)])


def rows_as_csv(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Rows with a header as CSV."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def profile_record(profile: Profile, limits: MachineLimits) -> dict[str, Any]:
    """The profile for JSON, without its timeline."""
    memory = {node.node: node for node in profile.memory.nodes}
    times = profile.node_seconds()
    return {
        "name": profile.name,
        "mode": profile.mode,
        "device": profile.device,
        "batch_size": profile.batch_size,
        "steps": len(profile.steps),
        "counted_steps": sum(step.is_counted for step in profile.steps),
        "seconds": profile.seconds,
        "unprofiled_seconds": profile.unprofiled_seconds,
        "phases": {phase: profile.phase_seconds(phase) for phase in PHASES},
        "nodes": [
            {
                "node": node,
                "seconds": times.get(node, {}),
                "memory": {} if node not in memory else dict(memory[node].kinds),
            }
            for node in dict.fromkeys([*times, *memory])
        ],
        "parts": [asdict(part) for part in profile.parts],
        "kernels": kernel_rows(profile, limits),
        "memory": {
            "peak": profile.memory.peak,
            "intermediate": profile.memory.intermediate,
            "planned": profile.memory.is_planned,
            "kinds": {kind: profile.memory.total(kind) for kind in MEMORY_KINDS},
        },
        "limits": asdict(limits),
        "notes": list(profile.notes),
    }


__all__ = ["KERNEL_COLUMNS", "csv_text", "kernel_rows", "profile_record", "rows_as_csv"]
