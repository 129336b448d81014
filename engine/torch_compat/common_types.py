"""torch.nn.common_types: types of sizes, for annotations."""

globals().update({f"_size_{count or 'any'}_t": int | tuple[int, ...] for count in range(7)})
globals().update({f"_ratio_{count or 'any'}_t": float | tuple[float, ...] for count in range(4)})
globals().update({f"_size_{count}_opt_t": tuple[int | None, ...] for count in ("any", 2, 3)})
