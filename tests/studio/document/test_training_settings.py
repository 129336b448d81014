"""Training settings are declared once, in the document model."""

from __future__ import annotations

import pytest

from studio.document.files.project_schema import schema
from studio.document.model import MAX_INT, MAX_SEED, TrainingSettings
from studio.document.training_settings import TRAINING_SETTINGS


@pytest.mark.parametrize("name", TrainingSettings.__struct_fields__)
def test_a_setting_has_its_default_label_and_help(name: str) -> None:
    setting = TRAINING_SETTINGS[name]
    default = getattr(TrainingSettings(), name)
    assert setting.parameter.default == default
    assert setting.parameter.problem(default) is None
    declared = schema()["$defs"]["TrainingSettings"]["properties"][name]
    assert (setting.title, setting.parameter.help) == (declared["title"], declared["description"])


def test_bounds_are_those_of_the_file_format() -> None:
    assert TRAINING_SETTINGS["epochs"].allowed == f"a whole number ≥ 1 and ≤ {MAX_INT:,}"
    assert TRAINING_SETTINGS["seed"].parameter.problem(MAX_SEED) is None
    assert TRAINING_SETTINGS["clip_norm"].parameter.problem(0.0) == "must be > 0 and ≤ 1e+30, not 0.0"
    assert TRAINING_SETTINGS["patience"].allowed == f"a whole number ≥ 0 and ≤ {MAX_INT:,} or none"
    assert TRAINING_SETTINGS["device"].parameter.choices == ("auto", "cpu", "cuda")
