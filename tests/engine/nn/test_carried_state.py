"""States carried from batch to batch, compared with the loop of PyTorch's word_language_model example."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine
from engine import nn, optim
from engine.amp import autocast
from engine.errors import ShapeError
from engine.nn.utils import carried_states, reset_states
from engine.utils.checkpoint import checkpoint

torch: Any = pytest.importorskip("torch")

TOKENS, WIDTH, ROWS, STEPS = 11, 12, 6, 5


def batches(count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Windows of contiguous rows, with the next tokens as targets."""
    rows = np.random.default_rng(0).integers(0, TOKENS, (ROWS, count * STEPS + 1))
    return [
        (rows[:, start : start + STEPS], rows[:, start + 1 : start + STEPS + 1])
        for start in range(0, count * STEPS, STEPS)
    ]


class Mine(nn.Module):
    def __init__(self, kind: str) -> None:
        super().__init__()
        self.tokens = nn.Embedding(TOKENS, WIDTH)
        self.recurrent = getattr(nn, kind)(WIDTH, WIDTH, 2, batch_first=True, carry_state=True)
        self.scores = nn.Linear(WIDTH, TOKENS)

    def forward(self, x: Any) -> Any:
        return self.scores(self.recurrent(self.tokens(x))[0])


class Theirs(torch.nn.Module):
    def __init__(self, kind: str) -> None:
        super().__init__()
        self.tokens = torch.nn.Embedding(TOKENS, WIDTH)
        self.recurrent = getattr(torch.nn, kind)(WIDTH, WIDTH, 2, batch_first=True)
        self.scores = torch.nn.Linear(WIDTH, TOKENS)

    def forward(self, x: Any, hidden: Any) -> Any:
        output, hidden = self.recurrent(self.tokens(x), hidden)
        return self.scores(output), hidden


def repackage_hidden(hidden: Any) -> Any:
    """As in pytorch/examples, word_language_model/main.py."""
    return hidden.detach() if isinstance(hidden, torch.Tensor) else tuple(repackage_hidden(each) for each in hidden)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("compiled", [False, True])
def test_losses_are_those_of_the_word_language_model_loop(kind: str, compiled: bool) -> None:
    mine, theirs = Mine(kind), Theirs(kind)
    theirs.load_state_dict({name: torch.tensor(value.numpy()) for name, value in mine.state_dict().items()})
    my_optimizer, their_optimizer = optim.SGD(mine.parameters(), lr=0.5), torch.optim.SGD(theirs.parameters(), lr=0.5)

    def step(x: Any, y: Any) -> Any:
        loss = nn.functional.cross_entropy(mine(x).flatten(0, 1), y.flatten())
        my_optimizer.zero_grad()
        loss.backward()
        my_optimizer.step()
        return loss

    train = engine.compile(step) if compiled else step
    hidden: Any = None
    stateless = Mine(kind)
    stateless.load_state_dict(mine.state_dict())
    for number, (x, y) in enumerate(batches(30)):
        if number == 15:  # the next epoch
            reset_states(mine)
            hidden = None
        loss = train(engine.tensor(x), engine.tensor(y))
        scores, hidden = theirs(torch.tensor(x), hidden)
        hidden = repackage_hidden(hidden)
        expected = torch.nn.functional.cross_entropy(scores.flatten(0, 1), torch.tensor(y).flatten())
        their_optimizer.zero_grad()
        expected.backward()
        their_optimizer.step()
        assert loss.item() == pytest.approx(expected.item(), rel=2e-5), number
    assert next(path for path, _ in carried_states(mine)) == "recurrent.carried_states.0"


class Cell(nn.Module):
    """A hand-written cell that reads and keeps its state."""

    def __init__(self, *, recompute: bool = False) -> None:
        super().__init__()
        self.memory = nn.CarriedState(4)
        self.cell = nn.RNNCell(3, 4)
        self.recompute = recompute

    def body(self, x: Any) -> Any:
        return self.memory(value=self.cell(x, self.memory(x)))

    def forward(self, x: Any) -> Any:
        return checkpoint(self.body, x, use_reentrant=False) if self.recompute else self.body(x)


def grad(parameter: Any) -> np.ndarray:
    return parameter.grad.numpy()


def kept_dtypes(layer: nn.Module) -> set[Any]:
    return {None if state.kept is None else state.kept.dtype for _, state in carried_states(layer)}


def test_a_cell_continues_its_rows_without_gradient() -> None:
    cell = Cell()
    xs = [engine.randn(5, 3) for _ in range(3)]
    h = found = engine.zeros(5, 4)
    for x in xs:
        h = cell.cell(x, h.detach())
        found = cell(x)
        assert np.array_equal(found.detach().numpy(), h.detach().numpy())
    found.sum().backward()
    gradient = grad(cell.cell.weight_hh).copy()
    cell.zero_grad()
    h.sum().backward()
    assert np.array_equal(grad(cell.cell.weight_hh), gradient)
    reset_states(cell)
    assert not cell.memory(xs[0]).any()


def test_a_smaller_batch_continues_the_first_rows_and_a_larger_one_adds_zeros() -> None:
    state = nn.CarriedState((2,), dim=0)
    state.keep(engine.ones(3, 2))
    assert state.read(2, engine.zeros(2)).tolist() == [[1, 1], [1, 1]]
    state.keep(engine.full((2, 2), 2.0))
    assert state.read(4, engine.zeros(4)).tolist() == [[2, 2], [2, 2], [1, 1], [0, 0]]


def test_a_recomputed_pass_starts_from_the_same_state() -> None:
    plain, recomputed = Cell(), Cell(recompute=True)
    recomputed.load_state_dict(plain.state_dict())
    for _ in range(3):
        x = engine.randn(5, 3)
        for each in (plain, recomputed):
            each.zero_grad()
            each(x).square().sum().backward()
        for one, other in zip(plain.parameters(), recomputed.parameters(), strict=True):
            assert np.array_equal(grad(one), grad(other))


def test_rewinding_computes_a_batch_again() -> None:
    cell, x = Cell(), engine.randn(5, 3)
    cell(x)
    first = cell(x).detach().numpy()
    cell.memory.rewind()
    assert np.array_equal(cell(x).detach().numpy(), first)
    assert not np.array_equal(cell(x).detach().numpy(), first)


@pytest.mark.parametrize("dtype", [engine.float16, engine.bfloat16])
def test_autocast_keeps_the_state_in_float32(dtype: Any) -> None:
    layer = nn.LSTM(3, 4, batch_first=True, carry_state=True)
    with autocast("cpu", dtype):
        first = layer(engine.ones(2, 3, 3))[0]
        second = layer(engine.ones(2, 3, 3))[0]
    assert not np.array_equal(first.detach().float().numpy(), second.detach().float().numpy())
    assert kept_dtypes(layer) == {engine.float32}


def test_double_precision_layers_carry_double_precision() -> None:
    layer = nn.GRU(3, 4, carry_state=True).double()
    layer(engine.ones(2, 3, 3, dtype=engine.float64))
    layer(engine.ones(2, 3, 3, dtype=engine.float64))
    assert kept_dtypes(layer) == {engine.float64}


def test_weights_files_and_copies_do_not_contain_the_state() -> None:
    assert list(nn.LSTM(3, 4, carry_state=True).state_dict()) == list(nn.LSTM(3, 4).state_dict())
    assert "carry_state" in repr(nn.LSTM(3, 4, carry_state=True))
    assert "carry" not in repr(nn.LSTM(3, 4))


def test_unbatched_and_packed_sequences() -> None:
    layer = nn.LSTM(3, 4, carry_state=True)
    first, second = layer(engine.ones(5, 3))[0], layer(engine.ones(5, 3))[0]
    whole = nn.LSTM(3, 4)
    whole.load_state_dict(layer.state_dict())
    expected = whole(engine.ones(10, 3))[0].detach().numpy()
    assert np.allclose(np.concatenate([first.detach().numpy(), second.detach().numpy()]), expected, atol=1e-6)
    reset_states(layer)
    packed = nn.utils.rnn.pack_sequence([engine.ones(2, 3), engine.ones(4, 3)], enforce_sorted=False)
    layer(packed)
    _, (h, _) = layer(packed)
    longer = nn.utils.rnn.pack_sequence([engine.ones(4, 3), engine.ones(8, 3)], enforce_sorted=False)
    assert np.allclose(h.detach().numpy(), whole(longer)[1][0].detach().numpy(), atol=1e-6)


def test_errors_name_the_sizes_and_the_next_step() -> None:
    with pytest.raises(ValueError, match="Turn carry_state off"):
        nn.GRU(3, 4, bidirectional=True, carry_state=True)
    with pytest.raises(ShapeError, match=r"must be N×4, not 5×3\. Set size"):
        nn.CarriedState(4)(value=engine.zeros(5, 3))
    with pytest.raises(ShapeError, match="Connect batch"):
        nn.CarriedState(4)()
    with pytest.raises(ValueError, match="dim must be at most 1"):
        nn.CarriedState(4, dim=2)
