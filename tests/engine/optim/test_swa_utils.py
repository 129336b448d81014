"""Averaged models, their schedule and their batch norm against PyTorch's."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import engine
from engine import nn

torch = pytest.importorskip("torch")


def model(library: Any) -> Any:
    n = library.nn
    built = n.Sequential(n.Linear(3, 4), n.BatchNorm1d(4), n.Linear(4, 2)).double()
    random = np.random.default_rng(0)
    with library.no_grad():
        for parameter in built.parameters():
            parameter.copy_(library.tensor(random.standard_normal(tuple(parameter.shape))))
    return built


@pytest.mark.parametrize(
    "options",
    [
        lambda swa: {},
        lambda swa: {"use_buffers": True},
        lambda swa: {"avg_fn": swa.get_ema_avg_fn(0.9)},
        lambda swa: {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.8), "use_buffers": True},
        lambda swa: {"multi_avg_fn": swa.get_swa_multi_avg_fn()},
        lambda swa: {"avg_fn": lambda average, value, count: value * 2},
    ],
)
def test_averages_match_pytorch(options: Any) -> None:
    result = []
    for library in (engine, torch):
        random = np.random.default_rng(1)
        trained = model(library)
        averaged = library.optim.swa_utils.AveragedModel(trained, **options(library.optim.swa_utils))
        for _ in range(4):
            with library.no_grad():
                for tensor in (*trained.parameters(), trained[1].running_mean):
                    tensor.add_(library.tensor(random.standard_normal(tuple(tensor.shape))))
            averaged.update_parameters(trained)
        result.append(averaged)
    ours, theirs = result
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for name, value in theirs.state_dict().items():
        np.testing.assert_allclose(
            ours.state_dict()[name].numpy(), value.numpy(), rtol=1e-6
        )  # PyTorch counts in single precision
    x = np.ones((2, 3))
    np.testing.assert_allclose(
        ours.eval()(engine.tensor(x)).detach().numpy(), theirs.eval()(torch.tensor(x)).detach().numpy(), rtol=1e-5
    )


def test_batch_norm_statistics_are_computed_again() -> None:
    batches = np.random.default_rng(0).standard_normal((5, 8, 3))
    result = []
    for library in (engine, torch):
        built = model(library).eval()
        library.optim.swa_utils.update_bn([(library.tensor(x), 0) for x in batches], built)
        assert not built.training
        assert built[1].momentum == 0.1
        result.append(built.state_dict())
    for name, value in result[1].items():
        np.testing.assert_allclose(result[0][name].numpy(), value.numpy(), rtol=1e-10)
    plain = nn.Linear(1, 1)
    engine.optim.swa_utils.update_bn([engine.ones(1, 1)], plain)


@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("epochs", [0, 1, 4])
def test_schedule(strategy: Any, epochs: int) -> None:
    result = []
    for library in (engine, torch):
        weights = [library.nn.Parameter(library.zeros(1)) for _ in range(2)]
        optimizer = library.optim.SGD([{"params": [weights[0]]}, {"params": [weights[1]], "lr": 1.0}], lr=0.2)
        schedule = library.optim.swa_utils.SWALR(optimizer, [0.05, 0.1], epochs, strategy)
        seen = []
        for step in range(7):
            optimizer.step()
            schedule.step()
            seen.append([group["lr"] for group in optimizer.param_groups])
            if step == 3:
                state = copy.deepcopy(schedule.state_dict())
                schedule.load_state_dict(state)
        result.append(seen)
    np.testing.assert_allclose(*result, rtol=1e-10)


def test_refused_arguments() -> None:
    swa = engine.optim.swa_utils
    optimizer = engine.optim.SGD([nn.Parameter(engine.zeros(1))])
    with pytest.raises(ValueError, match="not both"):
        swa.AveragedModel(nn.Linear(1, 1), avg_fn=swa.get_ema_avg_fn(), multi_avg_fn=swa.get_ema_multi_avg_fn())
    with pytest.raises(ValueError, match="between 0 and 1"):
        swa.get_ema_avg_fn(1.5)
    with pytest.raises(ValueError, match="anneal_strategy"):
        swa.SWALR(optimizer, 0.1, anneal_strategy="up")
    with pytest.raises(ValueError, match="anneal_epochs"):
        swa.SWALR(optimizer, 0.1, anneal_epochs=-1)
