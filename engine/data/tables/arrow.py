"""Lazy import of pyarrow, which takes as long to import as the rest of `engine.data`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine import lazy

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import compute, parquet
    from pyarrow import csv as arrow_csv
else:
    pa, compute = lazy.module("pyarrow"), lazy.module("pyarrow.compute")
    parquet, arrow_csv = lazy.module("pyarrow.parquet"), lazy.module("pyarrow.csv")
