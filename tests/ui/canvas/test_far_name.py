"""Names at low zoom: readable size, in the node, whole if they fit in two lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.document.files.project_templates import Template, templates
from studio.ui.canvas.level_of_detail import NAMES_SCALE, LevelOfDetail, readable
from studio.ui.canvas.nodes.far_name import far_name
from tests.ui.canvas.conftest import MakeView


def measure(text: str) -> float:
    return 0.6 * len(text)


@given(st.text(min_size=1, max_size=60), st.floats(10, 256), st.floats(24, 200), st.floats(NAMES_SCALE, 0.71))
def test_a_name_is_readable_and_inside_the_node(name: str, width: float, height: float, scale: float) -> None:
    drawn = far_name(name, width, height, round(11 / scale), measure)
    assert readable(drawn.pixels, scale)
    assert len(drawn.lines) <= 2
    for text, x, y in drawn.lines:
        assert x >= -1e-6 and x + measure(text) * drawn.pixels <= width + 1e-6
        assert y - 0.73 * drawn.pixels >= -1e-6 and y <= height
    shown = "".join(text for text, _, _ in drawn.lines)
    assert shown == name or not shown or (shown.endswith("…") and name.startswith(shown[:-1]) and len(shown) >= 4)


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("digits", ["digits"]),
        ("cross_entropy", ["cross_", "entropy"]),
        ("trainBatches", ["train", "Batches"]),
        ("discriminator", ["discrimin", "ator"]),
        ("a_very_long_name_of_a_layer", ["a_very_lo", "ng_name_…"]),
    ],
)
def test_long_names_are_broken_into_two_lines(name: str, lines: list[str]) -> None:
    assert [text for text, _, _ in far_name(name, 110, 48, 24, measure).lines] == lines


def test_a_name_without_space_for_a_few_characters_is_not_drawn() -> None:
    assert far_name("generator_hidden", 20, 48, 24, measure).lines == ()


@pytest.mark.parametrize("template", templates(), ids=lambda template: template.key)
@pytest.mark.parametrize("scale", [NAMES_SCALE, 0.55, 0.7])
def test_names_of_templates_are_not_elided(template: Template, scale: float, make_view: MakeView) -> None:
    view = make_view(template.document)
    view.camera.zoom_to(scale, animated=False)
    assert view.canvas_scene.paint_context.zoom.detail is LevelOfDetail.NAME
    measure_name = view.canvas_scene.paint_context.style.measure
    for name, item in view.canvas_scene.nodes.items():
        drawn = far_name(
            name,
            item.layout.width - 12,
            item.layout.height,
            round(11 / scale),
            lambda text: measure_name(text, "name") / 13,
        )
        assert "".join(text for text, _, _ in drawn.lines) == name
