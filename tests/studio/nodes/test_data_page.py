"""docs/reference/data.md tells of every source and of everything that can learn its arguments from data."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.data.transforms import Fitted
from studio.nodes.catalogue import catalogue
from studio.nodes.types import NodeType, Role

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "data.md").read_text(encoding="utf-8")


def is_told(kind: NodeType) -> bool:
    target = kind.target
    return kind.role is Role.SOURCE or (isinstance(target, type) and issubclass(target, Fitted))


@pytest.mark.parametrize("kind", [kind for kind in catalogue() if is_told(kind)], ids=lambda kind: kind.key)
def test_source_is_on_the_data_page(kind: NodeType) -> None:
    assert kind.title in PAGE
