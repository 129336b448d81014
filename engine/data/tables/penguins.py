"""The bundled table of penguins."""

from __future__ import annotations

from typing import Literal

from engine.data.splits import Share
from engine.data.tables.column_roles import CategoryEncoding
from engine.data.tables.csv_table import CSV
from engine.data.tables.table_splits import Missing
from engine.registry import DATASETS
from engine.system.assets import asset

_CATEGORICAL = ("species", "island", "sex")


@DATASETS.register(
    category="Tables", outputs=("samples",), tags=("table", "tabular", "Palmer", "bundled", "example", "categorical")
)
class Penguins(CSV):
    """Measurements of 344 penguins of three species on three islands. Bundled with Gradwire; no download.

    Inputs are all other columns: lengths and depth of the bill in mm, length of the flipper in mm, body mass in g, and
    the categories species, island and sex. The year is left out.
    11 penguins have a missing value.

    Source: K. B. Gorman, T. D. Williams, W. R. Fraser, PLoS ONE 9(3) e90081, 2014; A. M. Horst, palmerpenguins.

    Args:
        target: column to learn: a class, or the body mass as a number
        validation: fraction of the penguins used for validation
        missing: for a missing value, drop its row, or keep it as NaN for Fill missing
        category_encoding: one input per category, or one category number per column, 0 for an unknown one
    """

    reports_missing = False

    def __init__(
        self,
        target: Literal["species", "island", "sex", "body_mass_g"] = "species",
        validation: Share = 0.2,
        missing: Literal["drop", "keep"] = "drop",
        category_encoding: CategoryEncoding = "one-hot",
    ) -> None:
        treatment: Missing = missing
        super().__init__(
            str(asset("data/penguins/penguins.csv")),
            target,
            "number" if target == "body_mass_g" else "classes",
            ignore="year",
            validation=validation,
            categorical=", ".join(name for name in _CATEGORICAL if name != target),
            missing=treatment,
            category_encoding=category_encoding,
        )
