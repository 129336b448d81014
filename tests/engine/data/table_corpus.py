"""Small generated tables with the quirks of real ones, and what an import should find in them.

Names and value ranges follow well-known public tables; all values are random.
"""

from __future__ import annotations

import datetime as dt
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

ROWS = 120
rng = np.random.default_rng(7)


@dataclass(frozen=True)
class CorpusTable:
    """A file, and the expected use of its columns."""

    file: str
    content: bytes
    columns: str
    """Per column one letter for its use (t target, i input, x ignored) and one for its type
    (n number, c category, d date, t text); ignored columns need no type: ``x-``."""
    task: str = "classes"


def _floats(low: float, high: float, digits: int = 1) -> list[str]:
    return [f"{value:.{digits}f}" for value in rng.uniform(low, high, ROWS)]


def _ints(low: int, high: int) -> list[str]:
    return [str(value) for value in rng.integers(low, high, ROWS)]


def _pick(*texts: str) -> list[str]:
    return [texts[index] for index in rng.integers(0, len(texts), ROWS)]


def _count(start: int = 1) -> list[str]:
    return [str(start + row) for row in range(ROWS)]


def _holes(values: Sequence[str], text: str = "", every: int = 9) -> list[str]:
    return [text if row % every == 4 else value for row, value in enumerate(values)]


def _words(count: int) -> list[str]:
    words = ["the", "house", "was", "quiet", "and", "nobody", "came", "to", "open", "it", "before", "long", "so", "we"]
    return [" ".join(_ for _ in rng.choice(words, count)) for _ in range(ROWS)]


def _people() -> list[str]:
    return [f"Person {chr(65 + row % 26)}{row}, Mr. {chr(97 + row % 17)}" for row in range(ROWS)]


def _dates(form: str, step: int = 1, start: dt.date = dt.date(2021, 3, 27)) -> list[str]:
    return [(start + dt.timedelta(days=step * row)).strftime(form) for row in range(ROWS)]


def _text(names: Sequence[str] | None, *columns: Sequence[str], sep: str = ",", quote: bool = False) -> str:
    def cell(value: str) -> str:
        return f'"{value}"' if quote or sep in value or '"' in value else value

    rows = [*([names] if names is not None else []), *zip(*columns, strict=True)]
    return "".join(sep.join(map(cell, row)) + "\n" for row in rows)


def _iris() -> tuple[list[list[str]], list[str]]:
    return [_floats(4, 8), _floats(2, 4.4), _floats(1, 7), _floats(0, 2.5)], _pick("setosa", "versicolor", "virginica")


def _csv_tables() -> list[CorpusTable]:
    leaves, kinds = _iris()
    codes = [{"setosa": "0", "versicolor": "1", "virginica": "2"}[kind] for kind in kinds]
    leaf_names = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
    wine = [_floats(4, 15), _floats(0, 1.5, 2), _floats(0, 1, 2), _floats(1, 15)]
    wine_names = ["fixed acidity", "volatile acidity", "citric acid", "residual sugar", "quality"]
    sizes = [_floats(0, 1, 3) for _ in range(4)]
    return [
        CorpusTable("iris.csv", _text([*leaf_names, "species"], *leaves, kinds).encode(), "in in in in tc"),
        CorpusTable("iris.data", _text(None, *leaves, [f"Iris-{kind}" for kind in kinds]).encode(), "in in in in tc"),
        CorpusTable("iris_counts.csv", f"{ROWS},4,setosa,versicolor,virginica\n{_text(None, *leaves, codes)}".encode(),
                    "in in in in tn"),
        CorpusTable("iris_pandas.csv", _text(["", *leaf_names, "species"], _count(0), *leaves, kinds).encode(),
                    "x- in in in in tc"),
        CorpusTable("titanic.csv", _text(
            ["PassengerId", "Survived", "Pclass", "Name", "Sex", "Age", "SibSp", "Parch", "Ticket", "Fare", "Cabin",
             "Embarked"],
            _count(), _ints(0, 2), _ints(1, 4), _people(), _pick("male", "female"), _holes(_ints(1, 80), every=5),
            _ints(0, 5), _ints(0, 4), [f"A/{5 * row} {21000 + row}" for row in range(ROWS)], _floats(7, 80, 4),
            [f"C{row}" if row % 4 == 0 else "" for row in range(ROWS)], _holes(_pick("S", "C", "Q"), every=60),
        ).encode(), "x- tn ic x- ic in in in x- in x- ic"),
        CorpusTable("winequality-red.csv", _text(wine_names, *wine, _ints(3, 9), sep=";", quote=False).encode(),
                    "in in in in tn"),
        CorpusTable("wine_quoted.csv", ("\n".join(
            ['"fixed acidity";"volatile acidity";"quality"',
             *(f"{a};{b};{c}" for a, b, c in zip(wine[0], wine[1], _ints(3, 9), strict=True))]) + "\n").encode(),
                    "in in tn"),
        CorpusTable("auto-mpg.data", "".join(
            f"{mpg}   {cyl}   {disp}      {hp}      {weight}   {year}  {origin}\t\"{name}\"\n"
            for mpg, cyl, disp, hp, weight, year, origin, name in zip(
                _floats(9, 46), _pick("4", "6", "8"), _floats(70, 455), _holes(_floats(46, 230), "?", 20),
                _floats(1600, 5000, 0), _ints(70, 83), _ints(1, 4), [f"ford model {row}" for row in range(ROWS)],
                strict=True)).encode(), "tn in in in in in in x-", "number"),
        CorpusTable("adult.data", "".join(
            ", ".join(row) + "\n" for row in zip(
                _ints(17, 90), _holes(_pick("Private", "State-gov", "Self-emp"), "?", 15), _ints(20000, 900000),
                _pick("Bachelors", "HS-grad", "11th", "Masters"), _ints(1, 17), _pick("White", "Black", "Other"),
                _pick("Male", "Female"), _ints(20, 60), _pick("<=50K", ">50K"), strict=True)).encode(),
                    "in ic in ic in ic ic in tc"),
        CorpusTable("abalone.data", _text(None, _pick("M", "F", "I"), *sizes, _ints(1, 29)).encode(),
                    "ic in in in in tn", "number"),
        CorpusTable("housing.data", "".join(
            " " + "  ".join(row) + "\n" for row in zip(
                _floats(0, 9, 5), _floats(0, 100, 2), _floats(1, 25, 2), _ints(0, 2), _floats(0.3, 0.9, 4),
                _floats(5, 50, 2), strict=True)).encode(), "in in in in in tn", "number"),
        CorpusTable("heart.csv", _text(
            ["age", "sex", "cp", "trestbps", "chol", "thal", "target"], _ints(29, 78), _ints(0, 2), _ints(0, 4),
            _ints(94, 200), _ints(126, 564), _ints(0, 4), _ints(0, 2)).encode(), "in in in in in ic tn"),
        CorpusTable("diabetes_arff_like.csv", (
            "% Pima Indians\n% 1988\n\npreg,plas,pres,mass,class\n" + _text(
                None, _ints(0, 17), _ints(40, 199), _ints(30, 110), _floats(18, 60),
                _pick("tested_negative", "tested_positive"))).encode(), "in in in in tc"),
        CorpusTable("car.data", _text(None, _pick("vhigh", "high", "med", "low"), _pick("2", "3", "4", "5more"),
                                      _pick("small", "med", "big"), _pick("unacc", "acc", "good", "vgood")).encode(),
                    "ic ic ic tc"),
        CorpusTable("mushrooms.csv", _text(["class", "cap-shape", "odor", "habitat"], _pick("p", "e"),
                                           _pick("x", "b", "f"), _pick("a", "l", "n", "f"), _pick("g", "u")).encode(),
                    "tc ic ic ic"),
        CorpusTable("breast_cancer.csv", _text(
            ["id", "diagnosis", "radius_mean", "texture_mean", "Unnamed: 32"],
            [str(8_000_000 + 13 * row) for row in range(ROWS)], _pick("M", "B"), _floats(6, 28, 2), _floats(9, 40, 2),
            [""] * ROWS).encode(), "x- tc in in x-"),
        CorpusTable("churn.csv", _text(
            ["customerID", "gender", "SeniorCitizen", "tenure", "Contract", "MonthlyCharges", "TotalCharges", "Churn"],
            [f"{7000 + row}-VHVEG" for row in range(ROWS)], _pick("Male", "Female"), _ints(0, 2), _ints(0, 73),
            _pick("Month-to-month", "One year", "Two year"), _floats(18, 119, 2), _holes(_floats(18, 8000, 2), " ", 30),
            _pick("Yes", "No")).encode(), "x- ic in in ic in in tc"),
    ]  # fmt: skip


def _dated_tables() -> list[CorpusTable]:
    return [
        CorpusTable("bike_day.csv", _text(
            ["instant", "dteday", "season", "yr", "mnth", "holiday", "weekday", "temp", "hum", "cnt"],
            _count(), _dates("%Y-%m-%d"), _ints(1, 5), _ints(0, 2), _ints(1, 13), _ints(0, 2), _ints(0, 7),
            _floats(0, 1, 6), _floats(0, 1, 6), _ints(22, 8714)).encode(), "x- id ic in in in ic in in tn", "number"),
        CorpusTable("AirQualityUCI.csv", ("Date;Time;CO(GT);NOx(GT);T;Benzene;;\n" + "".join(
            f"{date};{row % 24:02}.00.00;{co.replace('.', ',')};{nox};{t.replace('.', ',')};{b.replace('.', ',')};;\n"
            for row, (date, co, nox, t, b) in enumerate(zip(
                _dates("%d/%m/%Y"), _holes(_floats(0, 9), "-200"), _ints(2, 1400), _floats(-2, 44), _floats(0, 60),
                strict=True)))).encode(), "id ic in in in tn x- x-", "number"),
        CorpusTable("stocks.csv", _text(
            ["Date", "Open", "High", "Low", "Volume", "Close"], _dates("%m/%d/%Y"), _floats(90, 100, 2),
            _floats(100, 110, 2), _floats(80, 90, 2), [f"{int(v):,}" for v in rng.integers(10**6, 10**8, ROWS)],
            _floats(90, 110, 2)).encode(), "id in in in in tn", "number"),
        CorpusTable("sales_de.csv", ("Datum;Filiale;Menge;Rabatt;Umsatz\n" + "".join(
            f"{date};{shop};{menge};{rabatt}%;{tsd}.{rest:03},{cent:02} €\n"
            for date, shop, menge, rabatt, tsd, rest, cent in zip(
                _dates("%d.%m.%Y"), _pick("Köln", "Bonn", "Düsseldorf"), _ints(1, 90), _ints(0, 30),
                _ints(1, 90), rng.integers(0, 1000, ROWS), rng.integers(0, 100, ROWS), strict=True,
            ))).encode("cp1252"),
                    "id ic in in tn", "number"),
        CorpusTable("flights.csv", _text(
            ["flight_date", "carrier", "origin", "dep_time", "distance", "arr_delay"],
            _dates("%d-%b-%y"), _pick("UA", "AA", "DL"), _pick("JFK", "LGA", "EWR"),
            [f"{row % 24:02}:{row % 60:02}" for row in range(ROWS)], _ints(90, 4000),
            _holes(_ints(-30, 200), "NA")).encode(), "id ic ic id in tn", "number"),
        CorpusTable("taxi.csv", _text(
            ["key", "pickup_datetime", "passenger_count", "trip_distance", "fare_amount"],
            [f"k{row:06}" for row in range(ROWS)],
            [f"2015-03-{row % 28 + 1:02} {row % 24:02}:{row % 60:02}:11" for row in range(ROWS)], _ints(1, 7),
            _floats(0.3, 20, 2), _floats(2.5, 60, 2)).encode(), "x- id in in tn", "number"),
        CorpusTable("sensor_log.csv", ("# device 7\n# firmware 1.2\ntimestamp,temperature,vibration,failure\n" + _text(
            None, [str(1_600_000_000 + 60 * row) for row in range(ROWS)], _floats(20, 90), _floats(0, 3, 3),
            _ints(0, 2))).encode(), "id in in tn"),
        CorpusTable("logger.tsv", b"Station export\nGenerated 2024-01-02\nRows: 120\n\n" + _text(
            ["time", "wind", "pressure", "energy"],
            [f"2024-01-{row % 28 + 1:02}T{row % 24:02}:00:00Z" for row in range(ROWS)],
            _floats(0, 20), _floats(980, 1030), _floats(0, 500), sep="\t").encode(), "id in in tn", "number"),
        CorpusTable("weather_units.csv", ("station,temp,pressure,wind,rain\n,°C,hPa,m/s,mm\n" + _text(
            None, _pick("North", "South", "East"), _floats(-10, 35), _floats(980, 1030), _floats(0, 20),
            _floats(0, 30))).encode(), "ic in in in tn", "number"),
        CorpusTable("subscriptions.csv", _text(
            ["user_id", "signup", "plan", "price", "last_login", "cancelled"],
            [str(100 + 7 * row) for row in range(ROWS)], _dates("%b %d, %Y", 3), _pick("free", "basic", "pro"),
            [f"${value}" for value in _floats(0, 30, 2)], _holes(_dates("%b %d, %Y", 2)),
            _pick("true", "false")).encode(), "x- id ic in id tc"),
    ]  # fmt: skip


def _students() -> bytes:
    """Texts in quotation marks, numbers without."""
    names = ("school", "sex", "age", "Mjob", "absences", "internet", "G3")
    jobs = _pick("teacher", "health", "other")
    columns = (_pick("GP", "MS"), _pick("F", "M"), _ints(15, 22), jobs, _ints(0, 60), _pick("yes", "no"), _ints(0, 23))
    rows = [names, *zip(*columns, strict=True)]
    return "".join(
        ";".join(f'"{cell}"' if not cell.isdecimal() else cell for cell in row) + "\n" for row in rows
    ).encode()


def _odd_tables() -> list[CorpusTable]:
    ragged = _text(["a", "b", "c", "label"], _floats(0, 1), _floats(0, 1), _floats(0, 1), _pick("u", "v")).split("\n")
    ragged[9] = "1.5,2.5"
    ragged[40] = "1,2,3,u,extra"
    return [
        CorpusTable("ragged.csv", "\n".join(ragged).encode(), "in in in tc"),
        CorpusTable("repeated.csv", _text(["x", "x", "x", "y"], _floats(0, 1), _floats(0, 1), _floats(0, 1),
                                          _floats(0, 9)).encode(), "in in in tn", "number"),
        CorpusTable("excel_utf16.csv", _text(["Größe", "Gewicht", "Klasse"], _floats(150, 200), _floats(50, 99),
                                             _pick("groß", "klein"), sep="\t").encode("utf-16"), "in in tc"),
        CorpusTable("bom.csv", b"\xef\xbb\xbf" + _text(["height", "weight", "sex"], _floats(150, 200), _floats(50, 99),
                                                       _pick("f", "m")).encode(), "in in tc"),
        CorpusTable("listings.csv", _text(
            ["id", "name", "neighbourhood", "zipcode", "room_type", "host_since", "response_rate", "reviews", "price"],
            [str(2_500 + 31 * row) for row in range(ROWS)], _words(7), _pick("Harlem", "Bronx", "Queens"),
            _pick("02134", "02215", "02116"), _pick("Entire home", "Private room"), _holes(_dates("%Y-%m-%d", 11)),
            _holes([f"{value}%" for value in _ints(20, 100)], "N/A"), _ints(0, 400),
            [f"${int(value):,}.00" for value in rng.integers(40, 3000, ROWS)]).encode(),
                    "x- x- ic ic ic id in in tn", "number"),
        CorpusTable("house_prices.csv", _text(
            ["Id", "MSZoning", "LotFrontage", "LotArea", "Alley", "YearBuilt", "CentralAir", "GarageYrBlt",
             "SalePrice"],
            _count(), _pick("RL", "RM", "FV"), _holes(_ints(20, 200), "NA"), _ints(1300, 60000),
            _pick("NA", "NA", "Grvl", "Pave"), _ints(1900, 2010), _pick("Y", "N"), _holes(_ints(1920, 2010), "NA"),
            _ints(34900, 755000)).encode(), "x- ic in in ic in ic in tn", "number"),
        CorpusTable("spam.tsv", _text(["label", "message", "length"], _pick("ham", "spam"), _words(12), _ints(9, 400),
                                      sep="\t").encode(), "tc x- in"),
        CorpusTable("genres.csv", _text(
            ["duration", "tempo", "label_rock", "label_jazz", "label_folk"], _floats(90, 400), _floats(60, 200),
            _ints(0, 2), _ints(0, 2), _ints(0, 2)).encode(), "in in tn tn tn", "number"),
        CorpusTable("missing_marks.csv", _text(
            ["depth", "salinity", "oxygen", "site"], _holes(_floats(0, 90), "-"), _holes(_floats(30, 40), "n/a", 7),
            _holes(_floats(0, 9), "-999", 11), _pick("reef", "bay", "open")).encode(), "in in in tc"),
        CorpusTable("pipes.txt", _text(["code", "amount", "currency", "is_fraud"], [f"{row:05}" for row in range(ROWS)],
                                       _floats(1, 900, 2), _pick("EUR", "USD"), _ints(0, 2), sep="|").encode(),
                    "x- in ic tn"),
        CorpusTable("constant.csv", _text(["version", "x1", "x2", "empty", "y"], ["3"] * ROWS, _floats(-1, 1, 3),
                                          _floats(-1, 1, 3), [""] * ROWS, _floats(-5, 5, 3)).encode(),
                    "x- in in x- tn", "number"),
        CorpusTable("students.csv", _students(), "ic ic in ic in ic tn", "number"),
    ]  # fmt: skip


def _other_formats() -> list[CorpusTable]:
    leaves, kinds = _iris()
    numbers = [[float(value) for value in column] for column in leaves]
    stored = io.BytesIO()
    start = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    parquet.write_table(pa.table({
        "order_id": list(range(1, ROWS + 1)), "ordered_at": [start + dt.timedelta(hours=row) for row in range(ROWS)],
        "country": _pick("FR", "DE", "IT"), "items": [int(value) for value in _ints(1, 9)],
        "total": [float(value) for value in _floats(5, 900, 2)],
    }), stored)  # fmt: skip
    records = [
        {
            "leaf": {"length": a, "width": b},
            "petal": {"length": c, "width": None if row % 9 == 4 else d},
            "species": kind,
        }
        for row, (a, b, c, d, kind) in enumerate(zip(*numbers, kinds, strict=True))
    ]
    events = [
        {
            "ts": 1_700_000_000_000 + 60_000 * row,
            "user": f"u{row % 9}",
            "ok": row % 3 == 0,
            "ms": row * 7 % 31,
            "tags": [],
        }
        for row in range(ROWS)
    ]
    lines: Callable[[list[dict[str, Any]]], bytes] = lambda found: "\n".join(map(json.dumps, found)).encode()  # noqa: E731
    return [
        CorpusTable("orders.parquet", stored.getvalue(), "x- id ic in tn", "number"),
        CorpusTable("leaves.jsonl", lines(records), "in in in in tc"),
        CorpusTable("leaves.json", json.dumps(records).encode(), "in in in in tc"),
        CorpusTable("events.ndjson", lines(events), "id ic ic tn x-", "number"),
    ]


CORPUS = [*_csv_tables(), *_dated_tables(), *_odd_tables(), *_other_formats()]
