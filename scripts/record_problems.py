"""Record the problems that samples, runs and experiments show in the examples of the help pages.

    python -m scripts.record_problems

Run it when such a message changes. Tests compare the wording of the file with what is diagnosed.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec

from studio.lowering import check
from studio.nodes.catalogue import catalogue
from studio.reference.mistakes import Mistake
from studio.reference.problem_pages import recorded_examples
from studio.reference.shown_problems import RECORDED, ShownProblem, shown, without_folder
from tests.studio.mistakes.diagnosing import diagnose

TARGET = Path(__file__).resolve().parent.parent / "assets" / RECORDED


def record(mistake: Mistake) -> ShownProblem:
    """Plant and diagnose a mistake."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        document = mistake.plant(base)
        [problem] = diagnose(document, mistake, base)
        return shown(without_folder(problem, base), document, check(document, catalogue(), base))


if __name__ == "__main__":
    found = {mistake.name: record(mistake) for mistake in recorded_examples()}
    TARGET.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")
    print(f"{TARGET}: {len(found)} problems")
