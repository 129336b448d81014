"""pyarrow, imported when the first table is read: that takes as long as all other modules of `engine.data`."""

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
