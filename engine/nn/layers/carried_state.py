"""State that a network carries from one batch to the next, for truncated backpropagation through time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from engine.dtypes import DType, get_default_dtype, promote_types
from engine.errors import ShapeError
from engine.modes import MODES, no_grad
from engine.nn.layers.learned_tensors import GROUP
from engine.nn.module import Module
from engine.registry import LAYERS, Range, Size
from engine.shape import format_shape
from engine.tensors import Tensor
from engine.tensors.creation import zeros


@LAYERS.register(
    category=GROUP,
    title="Carried state",
    tags=("stateful", "memory", "BPTT", "hidden state", "recurrence", "delay", "buffer"),
)
class CarriedState(Module):
    """The state that the previous batch left: ``(N, *) → (N, size)``. Row i continues row i of the previous batch.

    With `batch`, it outputs the state for the rows of a batch: zeros at first. With `value`, it outputs that value and
    keeps it for the next batch without its gradient (truncated backpropagation through time). On the canvas, one node
    reads the state, and a second one, which shares the weights of the first, keeps the new value.

    The state is zero at the start of each epoch and of each validation; training continues with its state after a
    validation. A smaller batch continues the first rows. Checkpoints contain the state, weights files do not.
    Source: Williams and Peng, 1990.

    Args:
        size: shape of the state of one sample
        dim: dimension of the batch in the state; 1 for the state of a recurrent layer, whose dimension 0 are the layers
    """

    def __init__(
        self,
        size: Size | tuple[Size, ...],
        dim: Annotated[int, Range(ge=0)] = 0,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.size = (size,) if isinstance(size, int) else tuple(size)
        if not 0 <= dim <= len(self.size):
            raise ValueError(f"dim must be at most {len(self.size)} for the size {self.size}, not {dim}")
        self.dim = dim
        self.dtype = get_default_dtype() if dtype is None else dtype
        self.current: Tensor | None = None
        """The state that this batch started with. A recomputed forward pass reads it again."""
        self.kept: Tensor | None = None
        """The state for the next batch."""

    def forward(self, batch: Tensor | None = None, value: Tensor | None = None) -> Tensor:
        """The state, or the value that is kept.

        Args:
            batch: a tensor with the samples of the batch in dimension 0
            value: the state to keep for the next batch
        """
        if value is not None:
            self.keep(value)
            return value
        if batch is None:
            raise ShapeError("CarriedState has no input. Connect batch to read the state, or value to keep it.")
        return self.read(batch.shape[0], batch)

    def read(self, rows: int, like: Tensor) -> Tensor:
        """The state of the first rows, on the device of another tensor."""
        with no_grad():
            if like.device.type == "meta":
                return zeros(self._shape(rows), dtype=self.dtype, device=like.device)
            self._reserve(rows, like, promote_types(self.dtype, like.dtype) if like.is_floating_point() else self.dtype)
            assert self.current is not None
            assert self.kept is not None
            if not MODES.recomputation:
                self.current.copy_(self.kept)
            return self.current.narrow(self.dim, 0, rows).clone()

    def keep(self, value: Tensor) -> None:
        """Keep a value for the next batch, detached."""
        if not self.fits(value):
            expected = format_shape((*self.size[: self.dim], "N", *self.size[self.dim :]))
            raise ShapeError(
                f"CarriedState: the value to keep must be {expected}, not {format_shape(value.shape)}. "
                "Set size to the size of one sample, without the batch."
            )
        rows = value.shape[self.dim]
        if MODES.recomputation or value.device.type == "meta":
            return
        with no_grad():
            self._reserve(rows, value, self.dtype if self.kept is None else self.kept.dtype)
            assert self.kept is not None
            self.kept.narrow(self.dim, 0, rows).copy_(value.detach())

    def reset(self) -> None:
        """Set the state to zero."""
        with no_grad():
            for tensor in (self.current, self.kept):
                if tensor is not None:
                    tensor.zero_()

    def rewind(self) -> None:
        """Return to the state at the start of the last batch, to compute that batch again."""
        if self.current is not None and self.kept is not None:
            with no_grad():
                self.kept.copy_(self.current)

    def fits(self, value: Tensor) -> bool:
        """Whether a tensor has the shape of this state for some batch size."""
        return value.ndim > self.dim and tuple(value.shape) == self._shape(value.shape[self.dim])

    def load(self, value: Tensor | None) -> None:
        """Replace the state by a saved one; None is the state before the first batch."""
        if value is None:
            self.reset()
            return
        fits = self.kept is not None and self.kept.shape == value.shape
        with no_grad():
            if not fits or self.kept is None or self.current is None:
                self.current, self.kept = value.clone(), value.clone()
            else:
                self.kept.copy_(value.to(self.kept.device))

    def _reserve(self, rows: int, like: Tensor, dtype: DType) -> None:
        """Make room for the rows of a batch; new rows start at zero."""
        old = self.kept
        if old is not None and old.device == like.device and old.dtype == dtype and old.shape[self.dim] >= rows:
            return
        count = 0 if old is None else old.shape[self.dim]
        made = [zeros(self._shape(max(rows, count)), dtype=dtype, device=like.device) for _ in range(2)]
        if old is not None:
            made[1].narrow(self.dim, 0, count).copy_(old.to(like.device))
        self.current, self.kept = made

    def _shape(self, rows: int) -> tuple[int, ...]:
        return (*self.size[: self.dim], rows, *self.size[self.dim :])

    def extra_repr(self) -> str:
        return f"size={self.size}" if self.dim == 0 else f"size={self.size}, dim={self.dim}"


def carried_states(module: Module) -> Iterator[tuple[str, CarriedState]]:
    """The carried states in a module, with their paths."""
    return ((name, each) for name, each in module.named_modules() if isinstance(each, CarriedState))


def reset_states(module: Module) -> None:
    """Set all carried states of a module to zero, for data that do not continue the previous batch."""
    for _, state in carried_states(module):
        state.reset()


__all__ = ["CarriedState", "carried_states", "reset_states"]
