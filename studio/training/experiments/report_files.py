"""The report of a diagnosis as one HTML file or as Markdown, with its pictures inside."""

from __future__ import annotations

from html import escape
from pathlib import Path

from studio.document.document_errors import FileError
from studio.training.experiments.diagnosis_run import Conclusion
from studio.training.experiments.experiment import Result, Verdict
from studio.training.experiments.report_pictures import svg

VERDICTS: dict[Verdict, str] = {"passed": "Passed", "problem": "Problem", "inconclusive": "Inconclusive"}
SUFFIXES = (".html", ".md")
_TITLE = "Why is the loss not falling?"
_STYLE = """\
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2rem; font-size: 1.15rem; }
.verdict { font-size: 0.85rem; border: 1px solid; border-radius: 4px; padding: 0 0.4rem; margin-left: 0.5rem; }
.problem { color: #c0392b; }
.passed { color: #1e7d45; }
@media (prefers-color-scheme: dark) { .problem { color: #ff8a75; } .passed { color: #6fd08c; } }
figure { margin: 1rem 0; overflow-x: auto; }"""


def write_report(path: Path, conclusion: Conclusion, project: str) -> None:
    """Write a report in the format of the file's suffix. Raises FileError."""
    if path.suffix not in SUFFIXES:
        raise FileError(str(path), "", "is not a report", "Choose a name that ends in .html or .md.")
    text = html_report(conclusion, project) if path.suffix == ".html" else markdown_report(conclusion, project)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FileError.from_os_error(path, "cannot be written", error) from None


def html_report(conclusion: Conclusion, project: str) -> str:
    """One HTML file that loads nothing else."""
    sections = [_html_section(result) for result in conclusion.results]
    return "\n".join(
        [
            "<!doctype html>",
            f'<html lang="en"><head><meta charset="utf-8"><title>{escape(f"{project}: {_TITLE}")}</title>',
            f"<style>\n{_STYLE}\n</style></head><body>",
            f"<h1>{escape(project)}: {escape(_TITLE)}</h1>",
            f"<p><strong>{escape(conclusion.summary)}</strong></p>",
            *([f"<p>Fix: {escape(fix)}.</p>"] if (fix := _fix(conclusion)) else []),
            *sections,
            "</body></html>\n",
        ]
    )


def markdown_report(conclusion: Conclusion, project: str) -> str:
    """Markdown with SVG pictures."""
    parts = [f"# {project}: {_TITLE}", f"**{_plain(conclusion.summary)}**"]
    parts += [f"Fix: {_plain(fix)}."] if (fix := _fix(conclusion)) else []
    for result in conclusion.results:
        experiment, outcome = result.experiment, result.outcome
        parts += [f"## {experiment.title}: {VERDICTS[outcome.verdict].lower()}", experiment.question]
        parts += [_plain(outcome.summary)]
        parts += [f"Next step: {_plain(outcome.next_step)}"] if outcome.next_step else []
        parts += [] if outcome.picture is None else [svg(outcome.picture, experiment.title)]
    return "\n\n".join(parts) + "\n"


def _html_section(result: Result) -> str:
    title, outcome = result.experiment.title, result.outcome
    lines = [
        f'<h2>{escape(title)}<span class="verdict {outcome.verdict}">{VERDICTS[outcome.verdict]}</span></h2>',
        f"<p><em>{escape(result.experiment.question)}</em></p>",
        f"<p>{escape(outcome.summary)}</p>",
    ]
    lines += [f"<p>Next step: {escape(outcome.next_step)}</p>"] if outcome.next_step else []
    lines += [] if outcome.picture is None else [f"<figure>\n{svg(outcome.picture, title)}\n</figure>"]
    return "\n".join(lines)


def _fix(conclusion: Conclusion) -> str:
    """The title of the fix of the cause; empty without one."""
    return "" if conclusion.cause is None or conclusion.cause.fix is None else conclusion.cause.fix.title


def _plain(text: str) -> str:
    """A text with Markdown characters escaped."""
    return "".join(f"\\{character}" if character in "\\*_[]<>`" else character for character in text)


__all__ = ["SUFFIXES", "VERDICTS", "html_report", "markdown_report", "write_report"]
