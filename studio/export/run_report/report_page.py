"""The HTML of a report. It has no scripts, and loads nothing."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from studio.export.run_report.class_results import ClassResults, WrongPrediction
from studio.export.run_report.curve_drawing import SERIES, Line, curve_drawing
from studio.export.run_report.page_style import style_sheet
from studio.training.data.sample_display import Scale, reduced
from studio.training.runs.run_comparison import MISSING, ComparisonGroup, ComparisonRow

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_MAX_CLASSES = 40
"""Classes up to which a confusion matrix is shown."""
_MAX_NUMBERS = 24
"""Numbers that are shown of a sample that is no image."""


@dataclass(frozen=True, slots=True)
class ReportContent:
    """What a report shows."""

    title: str
    summary: tuple[str, ...]
    """Sentences below the title."""
    note: str
    is_failed: bool
    figures: tuple[tuple[str, str], ...]
    """Names and texts of the most important numbers."""
    curves: tuple[tuple[str, tuple[Line, ...]], ...]
    """Quantities with their lines."""
    graphs: tuple[tuple[str, str], ...]
    """Titles and SVG texts of the graph and its blocks."""
    results: ClassResults | None
    no_results: str
    """Why there are no results by class."""
    groups: tuple[ComparisonGroup, ...]
    """Tables of properties."""


def report_page(content: ReportContent) -> str:
    """The text of an HTML file."""
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        f'<head><meta charset="utf-8"><title>{escape(content.title)}</title>',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>\n{style_sheet()}\n</style></head>",
        f"<body><h1>{escape(content.title)}</h1>",
        *_head(content),
        *_curves(content),
        *_graphs(content.graphs),
        *_results(content),
        *(line for group in content.groups for line in _table(group)),
        "<footer>Written by Gradwire.</footer>",
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _head(content: ReportContent) -> Iterator[str]:
    first, *others = content.summary
    yield f'<p class="{"failed" if content.is_failed else "dim"}">{escape(first)}</p>'
    for text in others:
        yield f'<p class="dim">{escape(text)}</p>'
    if content.note:
        yield f"<p>{escape(content.note)}</p>"
    if content.figures:
        cards = (f'<div class="figure">{escape(name)}<b>{escape(text)}</b></div>' for name, text in content.figures)
        yield f'<div class="figures">{"".join(cards)}</div>'


def _curves(content: ReportContent) -> Iterator[str]:
    drawings = [(title, lines, curve_drawing(title, lines)) for title, lines in content.curves]
    drawn = [each for each in drawings if each[2]]
    if not drawn:
        return
    yield '<h2>Curves</h2><div class="panels">'
    for title, lines, drawing in drawn:
        shown = [line for line in lines if np.isfinite(line.y).any()]
        legend = (
            f'<span class="series-{number % SERIES}"><b>{escape(line.label)}</b></span>'
            for number, line in enumerate(shown)
        )
        yield f'<div class="panel"><h3>{escape(title)}</h3>{drawing}<div class="legend">{"".join(legend)}</div></div>'
    yield "</div>"


def _graphs(graphs: Iterable[tuple[str, str]]) -> Iterator[str]:
    for number, (title, drawing) in enumerate(graphs):
        yield f"<h{3 if number else 2}>{escape(title)}</h{3 if number else 2}>"
        yield f'<div class="scroll">{drawing}</div>'


# -- results by class


def _results(content: ReportContent) -> Iterator[str]:
    results = content.results
    yield "<h2>Results by class</h2>"
    if results is None:
        yield f'<p class="dim">{escape(content.no_results)}</p>'
        return
    yield (
        f'<p class="dim">{results.samples:,} {results.part} samples with the weights of the run: '
        f"{results.accuracy:.2%} are right.</p>"
    )
    yield from _confusion(results)
    if results.wrong:
        yield "<h3>Samples that went wrong</h3>"
        yield '<p class="dim">The wrong predictions with the highest probabilities, after the transforms.</p>'
        yield f'<div class="samples">{"".join(_sample(each, results.names) for each in results.wrong)}</div>'


def _confusion(results: ClassResults) -> Iterator[str]:
    if len(results.names) > _MAX_CLASSES:
        yield f'<p class="dim">The confusion matrix of {len(results.names):,} classes is left out.</p>'
        return
    yield "<h3>Confusion matrix</h3>"
    yield '<p class="dim">Rows are targets, columns are predictions.</p>'
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in results.names)
    yield f'<div class="scroll"><table class="confusion"><tr><td></td>{heads}<th scope="col">right</th></tr>'
    for row, (name, counts) in enumerate(zip(results.names, results.confusion, strict=True)):
        cells = "".join(_cell(int(count), int(counts.sum()), row == column) for column, count in enumerate(counts))
        share = f"{counts[row] / counts.sum():.1%}" if counts.sum() else "no samples"
        yield f'<tr><th scope="row">{escape(name)}</th>{cells}<td>{share}</td></tr>'
    yield "</table></div>"


def _cell(count: int, total: int, is_right: bool) -> str:
    share = count / total if total else 0.0
    color = "ok" if is_right else "error"
    mix = f"background: color-mix(in srgb, var(--{color}) {round(45 * share)}%, transparent)"
    return f'<td class="{"right" if is_right else "wrong"}" style="{mix}">{count or ""}</td>'


def _sample(wrong: WrongPrediction, names: Sequence[str]) -> str:
    picture = _picture(wrong.input)
    shown = (
        f'<img alt="" src="data:image/png;base64,{picture}">' if picture else f"<code>{_numbers(wrong.input)}</code>"
    )
    caption = (
        f"{escape(names[wrong.predicted])} ({wrong.probability:.0%}) instead of {escape(names[wrong.target])}"
        f'<br><span class="dim">sample {wrong.sample:,}</span>'
    )
    return f"<figure>{shown}<figcaption>{caption}</figcaption></figure>"


def _picture(sample: NDArray[Any]) -> str:
    """A PNG file in base64, reduced and scaled as in the Data panel; empty if the sample is no image."""
    if sample.ndim not in (2, 3) or min(sample.shape[-2:]) < 2:
        return ""
    planes = np.nan_to_num(reduced(sample, "images").astype(np.float64), posinf=0.0, neginf=0.0)
    scale = Scale.of([planes])
    pixels = np.clip((planes - scale.low) / (scale.high - scale.low) * 255, 0, 255).round().astype(np.uint8)
    file = io.BytesIO()
    image = np.moveaxis(pixels, 0, -1)
    Image.fromarray(image if image.shape[-1] == 3 else image[..., 0]).save(file, "PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode()


def _numbers(sample: NDArray[Any]) -> str:
    flat = sample.reshape(-1)
    text = ", ".join(f"{each:.4g}" for each in flat[:_MAX_NUMBERS].tolist())
    return escape(text + (f", … ({flat.size:,} numbers)" if flat.size > _MAX_NUMBERS else ""))


# -- tables


def _table(group: ComparisonGroup) -> Iterator[str]:
    yield f"<h2>{escape(group.title)}</h2>"
    yield '<div class="scroll"><table>'
    for row in group.rows:
        yield from _rows(row, "")
    yield "</table></div>"


def _rows(row: ComparisonRow, kind: str) -> Iterator[str]:
    yield f'<tr{kind}><th scope="row">{escape(row.name)}</th><td>{escape(_text(row.values[0]))}</td></tr>'
    for inner in row.rows:
        yield from _rows(inner, ' class="inner"')


def _text(value: Any) -> str:
    if value is None or value is MISSING:
        return "–"
    if isinstance(value, dict):
        return ", ".join(f"{key}={_text(each)}" for key, each in value.items())
    return f"{value:.6g}" if isinstance(value, float) else str(value)


__all__ = ["ReportContent", "report_page"]
