"""The tooltip of a wire with a small tensor has its elements."""

from __future__ import annotations

import engine
from studio.training.probing.tensor_statistics import TensorStatistics, tensor_statistics
from studio.ui.canvas.wires.wire_statistics_tooltip import statistics_text
from studio.ui.project.wire_statistics import WireStatistics


def rows(found: TensorStatistics) -> list[str]:
    text = statistics_text(WireStatistics(found))
    return text.partition("<table")[2].partition("</table>")[0].split("<tr>")[1:]


def test_elements_are_shown_in_rows() -> None:
    found = rows(tensor_statistics(engine.tensor([[1.0, 2.5, 3.0], [4.0, 5.0, -6.0]])))
    assert len(found) == 2 and all(text in found[0] for text in ("1", "2.5", "3")) and "-6" in found[1]


def test_large_tensors_have_a_histogram_instead() -> None:
    assert "█" in statistics_text(WireStatistics(tensor_statistics(engine.arange(50).float())))
