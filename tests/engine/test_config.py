from __future__ import annotations

import pytest

import engine


def test_threads_are_set_and_reported() -> None:
    before = engine.get_num_threads()
    try:
        engine.set_num_threads(1)
        assert engine.get_num_threads() == 1
    finally:
        engine.set_num_threads(before)
    assert engine.get_num_threads() == before


@pytest.mark.parametrize("n", [0, -1, 1.0, True, "2"])
def test_number_of_threads_must_be_a_positive_integer(n: object) -> None:
    with pytest.raises(ValueError, match="above 0"):
        engine.set_num_threads(n)  # type: ignore[arg-type]


def test_show_names_the_libraries(capsys: pytest.CaptureFixture[str]) -> None:
    engine.show_config()
    shown = capsys.readouterr().out
    assert "NumPy" in shown and "CuPy" in shown and "BLAS" in shown
    assert "OMP_WAIT_POLICY" in shown and "OPENBLAS_CORETYPE" in shown
    assert f"{engine.get_num_threads()} threads" in shown
