"""Windows of `engine.signal` and real functions of `engine.fft`, compared with PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine

torch: Any = pytest.importorskip("torch")

WINDOWS: dict[str, list[dict[str, Any]]] = {
    "bartlett": [{}],
    "blackman": [{}],
    "cosine": [{}],
    "exponential": [{}, {"tau": 3.0}],
    "gaussian": [{}, {"std": 2.5}],
    "general_cosine": [{"a": [0.5, 0.3, 0.2]}, {"a": (1.0,)}],
    "general_hamming": [{}, {"alpha": 0.7}],
    "hamming": [{}],
    "hann": [{}],
    "kaiser": [{}, {"beta": 3.5}, {"beta": 0.0}],
    "nuttall": [{}],
}


def same(found: Any, wanted: Any, rtol: float = 0.0, atol: float = 0.0) -> None:
    assert (found.dtype.name, tuple(found.shape)) == (str(wanted.dtype)[6:], tuple(wanted.shape))
    assert found.requires_grad == wanted.requires_grad
    np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), rtol=rtol, atol=atol)


def test_every_window_has_a_case() -> None:
    assert list(WINDOWS) == engine.signal.windows.__all__ == torch.signal.windows.__all__


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("sym", [True, False])
def test_windows_equal_pytorch(name: str, sym: bool) -> None:
    for options in WINDOWS[name]:
        for length in (0, 1, 2, 3, 8, 51):
            wide = {**options, "sym": sym, "dtype": "float64"}
            ours, theirs = (
                getattr(m.signal.windows, name)(length, **{**wide, "dtype": m.float64}) for m in (engine, torch)
            )
            same(ours, theirs, rtol=1e-9, atol=1e-13)
            ours, theirs = (getattr(m.signal.windows, name)(length, **options, sym=sym) for m in (engine, torch))
            same(ours, theirs, rtol=2e-4, atol=1e-6)  # PyTorch computes in float32


@pytest.mark.parametrize("library", [engine, torch], ids=["engine", "torch"])
def test_windows_refuse_invalid_arguments(library: Any) -> None:
    windows = library.signal.windows
    refused = [
        lambda: windows.hann(-1),
        lambda: windows.hann(4, dtype=library.float16),
        lambda: windows.exponential(4, tau=0.0),
        lambda: windows.exponential(4, center=1.0),
        lambda: windows.gaussian(4, std=0.0),
        lambda: windows.kaiser(4, beta=-1.0),
        lambda: windows.general_cosine(4, a=[]),
        lambda: windows.general_cosine(4, a=1.0),
    ]
    for call in refused:
        with pytest.raises((ValueError, RuntimeError, TypeError)):
            call()


def test_periodic_exponential_window_with_center() -> None:
    ours, theirs = (m.signal.windows.exponential(5, center=1.0, sym=False) for m in (engine, torch))
    same(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("n", [0, 1, 4, 7])
def test_frequencies(n: int) -> None:
    for ours, theirs in zip(*([m.fft.fftfreq(n), m.fft.fftfreq(n, d=0.5)] for m in (engine, torch)), strict=True):
        same(ours, theirs, rtol=1e-6)
    if n:
        same(engine.fft.rfftfreq(n, 2.0), torch.fft.rfftfreq(n, 2.0), rtol=1e-6)
    same(engine.fft.fftfreq(n, requires_grad=True), torch.fft.fftfreq(n, requires_grad=True), rtol=1e-6)


def test_frequencies_refuse_invalid_arguments() -> None:
    with pytest.raises(RuntimeError, match="floating-point"):
        engine.fft.fftfreq(4, dtype=engine.int64)
    with pytest.raises(ValueError, match="at least 1"):
        engine.fft.rfftfreq(0)


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
def test_shifts(name: str) -> None:
    for dim in (None, 0, -1, (0, 1), (1,)):
        ours, theirs = (getattr(m.fft, name)(m.arange(15).reshape(3, 5), dim) for m in (engine, torch))
        same(ours, theirs)
    row = engine.arange(5.0).requires_grad_()
    (getattr(engine.fft, name)(input=row) * engine.arange(5.0)).sum().backward()
    other = torch.arange(5.0).requires_grad_()
    (getattr(torch.fft, name)(input=other) * torch.arange(5.0)).sum().backward()
    assert row.grad.tolist() == other.grad.tolist()
