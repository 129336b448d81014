"""Padded and packed sequences of different lengths."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from engine.dtypes import int64
from engine.errors import ShapeError
from engine.functions import cat, stack
from engine.shape import format_shape
from engine.tensors import Tensor
from engine.tensors.creation import tensor


class PackedSequence(NamedTuple):
    """Packed sequences, ordered by time step, longest sequence first; see `pack_padded_sequence`."""

    data: Tensor
    batch_sizes: Tensor
    """Number of sequences at each time step."""
    sorted_indices: Tensor | None = None
    """Permutation that sorts the sequences by length."""
    unsorted_indices: Tensor | None = None
    """Inverse permutation."""

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Copy with the data on another device or with another dtype."""
        return self._replace(data=self.data.to(*args, **kwargs))

    def cpu(self) -> PackedSequence:
        """Copy with the data on the CPU."""
        return self.to("cpu")

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a GPU."""
        return self.data.is_cuda


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Inverse of a permutation."""
    if permutation is None:
        return None
    order = permutation.tolist()
    inverse = [0] * len(order)
    for position, index in enumerate(order):
        inverse[index] = position
    return tensor(inverse, dtype=int64, device=permutation.device)


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack padded sequences ``(T, N, *)`` or ``(N, T, *)`` with the given `lengths`.

    Args:
        input: padded sequences
        lengths: length of each sequence
        batch_first: the first dimension is the batch
        enforce_sorted: require descending lengths, instead of sorting the sequences
    """
    sizes = [int(size) for size in (lengths.tolist() if isinstance(lengths, Tensor) else lengths)]
    padded = input.transpose(0, 1) if batch_first else input
    if len(sizes) != padded.shape[1]:
        raise ShapeError(
            f"pack_padded_sequence: lengths has {len(sizes)} items, but the input {format_shape(input.shape)} "
            f"contains {padded.shape[1]} sequences (batch_first={batch_first})"
        )
    if not sizes or min(sizes) < 1 or max(sizes) > padded.shape[0]:
        raise ShapeError(
            f"pack_padded_sequence: lengths must be between 1 and the padded length {padded.shape[0]}, not {sizes}"
        )
    order = None
    if enforce_sorted:
        if sizes != sorted(sizes, reverse=True):
            raise ShapeError(
                f"pack_padded_sequence: the lengths {sizes} are not in descending order.",
                in_code="Sort them, or pass enforce_sorted=False.",
            )
    else:
        ranks = sorted(range(len(sizes)), key=lambda i: -sizes[i])
        order = tensor(ranks, dtype=int64, device=input.device)
        sizes = [sizes[i] for i in ranks]
        padded = padded.index_select(1, order)
    counts = [sum(size > t for size in sizes) for t in range(sizes[0])]
    batch = len(sizes)
    rows = [t * batch + i for t, count in enumerate(counts) for i in range(count)]
    data = padded.flatten(0, 1).index_select(0, tensor(rows, dtype=int64, device=input.device))
    return PackedSequence(data, tensor(counts, dtype=int64), order, invert_permutation(order))


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """Pad packed sequences, to `total_length` if given. Returns the padded tensor and the lengths."""
    counts = [int(count) for count in sequence.batch_sizes.tolist()]
    length = len(counts) if total_length is None else total_length
    if length < len(counts):
        raise ShapeError(
            f"pad_packed_sequence: total_length={total_length} is less than the longest sequence of {len(counts)} steps"
        )
    data, batch = sequence.data, counts[0]
    padding_row, rows_of_steps, start = data.shape[0], [], 0
    for t in range(length):
        count = counts[t] if t < len(counts) else 0
        rows_of_steps += [*range(start, start + count), *[padding_row] * (batch - count)]
        start += count
    rows = cat([data, data.new_full((1, *data.shape[1:]), padding_value)])
    padded = rows.index_select(0, tensor(rows_of_steps, dtype=int64, device=data.device)).unflatten(0, (length, batch))
    lengths = tensor([sum(count > i for count in counts) for i in range(batch)], dtype=int64)
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(1, sequence.unsorted_indices)
        lengths = lengths.index_select(0, sequence.unsorted_indices.cpu())
    return padded.transpose(0, 1) if batch_first else padded, lengths


def pad_sequence(
    sequences: Iterable[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Pad sequences ``(L, *)`` of different lengths to one tensor ``(T, N, *)`` or ``(N, T, *)``."""
    if padding_side not in ("left", "right"):
        raise ValueError(f'pad_sequence: padding_side must be "left" or "right", not {padding_side!r}')
    tensors = list(sequences)
    if not tensors:
        raise ValueError("pad_sequence: the list of sequences is empty")
    length = max(sequence.shape[0] for sequence in tensors)
    rows: list[Tensor] = []
    for sequence in tensors:
        if tuple(sequence.shape[1:]) != tuple(tensors[0].shape[1:]):
            raise ShapeError(
                f"pad_sequence: {format_shape(tensors[0].shape)} and {format_shape(sequence.shape)} may differ only in "
                "the first dimension"
            )
        padding = sequence.new_full((length - sequence.shape[0], *sequence.shape[1:]), padding_value)
        rows.append(cat([padding, sequence] if padding_side == "left" else [sequence, padding]))
    return stack(rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """Split a padded tensor into sequences of the given lengths."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [rows[i][: int(length)] for i, length in enumerate(lengths.tolist())]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences ``(L, *)`` of different lengths."""
    lengths = [int(sequence.shape[0]) for sequence in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Split packed sequences into a list of sequences."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
    "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip
