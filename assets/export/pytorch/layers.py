"""Layers of the graph that PyTorch does not have."""

import math

import torch
from torch import nn


def expand_to_batch(constant, batch):
    """(*) → (N, *), with the batch size N of another tensor."""
    return constant.expand(batch.shape[0], *constant.shape)


class LearnedTensor(nn.Module):
    """A learned tensor; expanded to the batch size if `batch` is given."""

    def __init__(self, size, initialization="normal", scale=0.02):
        super().__init__()
        size = (size,) if isinstance(size, int) else tuple(size)
        self.weight = nn.Parameter(torch.empty(size))
        if initialization in ("zeros", "ones"):
            getattr(nn.init, f"{initialization}_")(self.weight)
        elif initialization == "normal":
            nn.init.normal_(self.weight, std=scale)
        elif initialization == "uniform":
            nn.init.uniform_(self.weight, -scale, scale)
        else:
            getattr(nn.init, f"{initialization}_")(self.weight)

    def forward(self, batch=None):
        return self.weight if batch is None else expand_to_batch(self.weight, batch)


class BufferTensor(nn.Module):
    """A tensor that is not trained; expanded to the batch size if `batch` is given."""

    def forward(self, batch=None):
        return self.weight if batch is None else expand_to_batch(self.weight, batch)


class ConstantTensor(BufferTensor):
    """A constant: one value for all elements, or all values in row-major order."""

    def __init__(self, size=(1,), values=0.0, dtype="float"):
        super().__init__()
        size = (size,) if isinstance(size, int) else tuple(size)
        listed = (values,) if isinstance(values, (int, float)) else tuple(values)
        dtypes = {"float": torch.float32, "int64": torch.int64, "bool": torch.bool}
        constant = torch.tensor(listed, dtype=dtypes[dtype])
        whole = constant.expand(size) if len(listed) == 1 else constant.reshape(size)
        self.register_buffer("weight", whole.clone())


class RangeTensor(BufferTensor):
    """Numbers with a constant step, as torch.arange."""

    def __init__(self, end, start=0, step=1, dtype="int64"):
        super().__init__()
        kind = torch.float32 if dtype == "float" else torch.int64
        numbers = torch.arange(start, end, step, dtype=kind)
        self.register_buffer("weight", numbers, persistent=False)


class LinspaceTensor(BufferTensor):
    """Evenly spaced numbers from `start` to `end`, as torch.linspace."""

    def __init__(self, steps, start=0.0, end=1.0):
        super().__init__()
        numbers = torch.linspace(start, end, steps)
        self.register_buffer("weight", numbers, persistent=False)


class IdentityMatrix(BufferTensor):
    """Ones on the diagonal, as torch.eye."""

    def __init__(self, rows, columns=None):
        super().__init__()
        matrix = torch.eye(rows, rows if columns is None else columns)
        self.register_buffer("weight", matrix, persistent=False)


class Fill(nn.Module):
    """A constant in the shape of the input."""

    def __init__(self, value=1.0):
        super().__init__()
        self.value = value

    def forward(self, input):
        return torch.full_like(input.detach(), self.value)


class Halves(nn.Module):
    """The two halves of the input along a dimension."""

    def __init__(self, dim=0):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        size = input.shape[self.dim]
        if size % 2:
            raise ValueError(f"dimension {self.dim} has the odd size {size}")
        return input.chunk(2, self.dim)


class Noise(nn.Module):
    """Random numbers for each sample: (N, *) → (N, size)."""

    def __init__(self, size=64, distribution="normal"):
        super().__init__()
        self.size = (size,) if isinstance(size, int) else tuple(size)
        self.distribution = distribution

    def forward(self, input):
        shape = (input.shape[0], *self.size)
        if self.distribution == "normal":
            return torch.randn(shape, device=input.device)
        return torch.rand(shape, device=input.device) * 2 - 1


class SplitHeads(nn.Module):
    """Splits features into attention heads: (N, T, E) → (N, H, T, E / H)."""

    def __init__(self, num_heads):
        super().__init__()
        self.num_heads = num_heads

    def forward(self, input):
        return input.unflatten(2, (self.num_heads, -1)).transpose(1, 2)


class MergeHeads(nn.Module):
    """Joins attention heads into features: (N, H, T, D) → (N, T, H · D)."""

    def forward(self, input):
        return input.transpose(1, 2).flatten(2)


class Positions(nn.Module):
    """The positions 0, 1, …, T - 1 of a batch of sequences, (N, T) or (N, T, E)."""

    def forward(self, input):
        return torch.arange(input.shape[1], device=input.device)


class CausalMask(nn.Module):
    """The (T, T) attention mask that hides later positions: 0, and -inf above."""

    def forward(self, input):
        length = input.shape[1]
        dtype = input.dtype if input.is_floating_point() else torch.float32
        hidden = torch.full((length, length), -math.inf, dtype=dtype)
        return hidden.triu(1).to(input.device)


class PaddingMask(nn.Module):
    """The mask of padding in token numbers, (N, T): true where there is no token."""

    def __init__(self, padding_idx=0):
        super().__init__()
        self.padding_idx = padding_idx

    def forward(self, input):
        return input == self.padding_idx


class LastStep(nn.Module):
    """The last step of each sequence, or the last that is not masked."""

    def forward(self, input, mask=None):
        if mask is None:
            return input[:, -1]
        steps = torch.arange(input.shape[1], device=input.device)
        last = (steps * ~mask).amax(1)
        return input[torch.arange(len(input), device=input.device), last]


class ClassToken(nn.Module):
    """Prepends learned tokens to sequences: (N, L, E) → (N, tokens + L, E)."""

    def __init__(self, features, tokens=1, std=0.02):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(tokens, features))
        nn.init.normal_(self.weight, std=std)

    def forward(self, input):
        return torch.cat([expand_to_batch(self.weight, input), input], dim=1)


class LearnedPositions(nn.Module):
    """Adds a learned vector for each position: (N, L, E) → (N, L, E)."""

    def __init__(self, length, features, std=0.02):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(length, features))
        nn.init.normal_(self.weight, std=std)

    def forward(self, input):
        return input + self.weight[: input.shape[-2]]


class SinusoidalPositions(nn.Module):
    """Adds sines and cosines of the position: (N, L, E) → (N, L, E)."""

    def __init__(self, length, features):
        super().__init__()
        steps = torch.arange(0, features, 2, dtype=torch.float64)
        rates = torch.exp(steps * (-math.log(10_000.0) / features))
        angles = torch.arange(length, dtype=torch.float64)[:, None] * rates
        table = torch.zeros(length, features)
        table[:, 0::2] = torch.sin(angles)
        table[:, 1::2] = torch.cos(angles[:, : features // 2])
        self.register_buffer("weight", table)

    def forward(self, input):
        return input + self.weight[: input.shape[-2]]


class RunningAverage(nn.Module):
    """The running average of each feature over all batches, in the shape of the input.

    Training updates it; the first 1 / momentum batches have equal weights.
    """

    def __init__(self, num_features, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("average", torch.zeros(num_features))
        self.register_buffer("num_batches_tracked", torch.tensor(0))

    @torch.no_grad()
    def forward(self, input):
        if self.training:
            mean = input.to(self.average.dtype).reshape(-1, input.shape[-1]).mean(0)
            self.num_batches_tracked += 1
            weight = (1.0 / self.num_batches_tracked).clamp(min=self.momentum)
            self.average += (mean - self.average) * weight
        return self.average.clone().expand(input.shape)


class CarriedState(nn.Module):
    """The state that the previous batch left: (N, *) → (N, size), zeros at first.

    With `batch`, it returns the state for the rows of the batch. With `value`, it keeps
    the value for the next batch, without its gradient. `dim` is the batch dimension of
    the state.
    """

    def __init__(self, size, dim=0):
        super().__init__()
        self.size = (size,) if isinstance(size, int) else tuple(size)
        self.dim = dim
        self.kept = None

    def forward(self, batch=None, value=None):
        if value is not None:
            self.reserve(value.shape[self.dim], value)
            rows = value.shape[self.dim]
            self.kept.narrow(self.dim, 0, rows).copy_(value.detach())
            return value
        self.reserve(batch.shape[0], batch)
        return self.kept.narrow(self.dim, 0, batch.shape[0]).clone()

    def reserve(self, rows, like):
        """Make room for the rows of a batch; new rows start at zero."""
        count = 0 if self.kept is None else self.kept.shape[self.dim]
        if count >= rows:
            return
        shape = (*self.size[: self.dim], rows, *self.size[self.dim :])
        dtype = like.dtype if like.is_floating_point() else torch.float32
        kept = torch.zeros(shape, dtype=dtype, device=like.device)
        if count:
            kept.narrow(self.dim, 0, count).copy_(self.kept)
        self.kept = kept

    def reset(self):
        """Set the state to zero."""
        self.kept = None


class CarriedRecurrence(nn.Module):
    """Base of recurrent layers whose state continues in the next batch."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        sizes = [getattr(self, "proj_size", 0) or self.hidden_size, self.hidden_size]
        count = 2 if self.mode == "LSTM" else 1
        self.carried = nn.ModuleList(
            CarriedState((self.num_layers, size), dim=1) for size in sizes[:count]
        )

    def forward(self, input, hx=None):
        if hx is None:
            rows = input if self.batch_first else input.transpose(0, 1)
            states = tuple(state(rows) for state in self.carried)
            hx = states if len(states) > 1 else states[0]
        output, last = super().forward(input, hx)
        values = last if isinstance(last, tuple) else (last,)
        for state, value in zip(self.carried, values):
            state(value=value)
        return output, last


class CarriedLSTM(CarriedRecurrence, nn.LSTM):
    """An LSTM that starts with the final state of the previous batch."""


class CarriedGRU(CarriedRecurrence, nn.GRU):
    """A GRU that starts with the final state of the previous batch."""


class CarriedRNN(CarriedRecurrence, nn.RNN):
    """An RNN that starts with the final state of the previous batch."""


def carried_states(model):
    """All carried states of a model."""
    return [each for each in model.modules() if isinstance(each, CarriedState)]
