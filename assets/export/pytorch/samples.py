"""Data sets, transforms and loaders."""

import math
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, RandomSampler, Sampler

FOLDER = Path(__file__).resolve().parent / "data"


class Samples(Dataset):
    """Pairs of input and target with their transforms."""

    if HAS_AUGMENTATION:
        training = False
        """Whether augmentations vary the samples at random."""

    def __init__(self, inputs, targets, on_inputs=(), on_targets=()):
        self.inputs = torch.from_numpy(inputs)
        self.targets = torch.from_numpy(targets)
        self.on_inputs = on_inputs
        self.on_targets = on_targets

    def __len__(self):
        return len(self.inputs)

    def __getitem__(self, index):
        sample = self.transformed(self.inputs[index], self.on_inputs)
        return sample, self.transformed(self.targets[index], self.on_targets)

    def transformed(self, sample, transforms):
        for transform in transforms:
            if HAS_AUGMENTATION:
                if self.training and isinstance(transform, Augmentation):
                    sample = transform.augment(sample)
                else:
                    sample = transform(sample)
            else:
                sample = transform(sample)
        return sample


class Windows(Dataset):
    """Windows of a sequence of tokens; targets are the windows shifted by one."""

    def __init__(self, tokens, length, stride):
        self.tokens = torch.from_numpy(tokens.astype(np.int64))
        self.length = length
        self.stride = stride

    def __len__(self):
        return (len(self.tokens) - self.length - 1) // self.stride + 1

    def __getitem__(self, index):
        if not 0 <= index < len(self):
            raise IndexError(index)
        window = self.tokens[index * self.stride :][: self.length + 1]
        return window[:-1], window[1:]

    def arrays(self):
        """All inputs and all targets."""
        inputs, targets = zip(*self)
        return torch.stack(inputs).numpy(), torch.stack(targets).numpy()


def along_channels(numbers, sample):
    """One number, or one per channel, which is the first dimension of a sample."""
    values = torch.as_tensor(numbers, dtype=torch.float32).reshape(-1)
    if len(values) == 1:
        return values.reshape(())
    return values.reshape(-1, *[1] * (sample.ndim - 1))


class Normalize:
    """(x - mean) / std, as float32; one number, or one per channel."""

    def __init__(self, mean=0.0, std=1.0):
        self.mean = mean
        self.std = std

    def __call__(self, sample):
        mean = along_channels(self.mean, sample)
        return (sample.float() - mean) / along_channels(self.std, sample)


class MinMaxScale:
    """(x - low) / (high - low), as float32; one number, or one per channel."""

    def __init__(self, low=0.0, high=1.0):
        self.low = low
        self.high = high

    def __call__(self, sample):
        low = along_channels(self.low, sample)
        return (sample.float() - low) / (along_channels(self.high, sample) - low)


class LogScale:
    """Natural logarithm of x + offset, as float32."""

    def __init__(self, offset=1.0):
        self.offset = offset

    def __call__(self, sample):
        return (sample.double() + self.offset).log().float()


class Clip:
    """Values limited to the range from low to high."""

    def __init__(self, low=0.0, high=1.0):
        self.low = low
        self.high = high

    def __call__(self, sample):
        if sample.is_floating_point():
            return sample.clamp(self.low, self.high)
        limits = torch.iinfo(sample.dtype)
        low = min(max(math.ceil(self.low), limits.min), limits.max)
        high = min(max(math.floor(self.high), limits.min), limits.max)
        return sample.clamp(low, high)


class FillMissing:
    """Missing values (NaN) replaced by a number, or by one per channel."""

    def __init__(self, value=0.0, strategy="mean", channels=None):
        self.value = value
        self.channels = channels

    def __call__(self, sample):
        missing = sample.isnan()
        if self.channels is not None:
            chosen = torch.zeros(max(sample.shape[:1], default=1), dtype=torch.bool)
            chosen[list(self.channels)] = True
            missing &= chosen.reshape(-1, *[1] * (sample.ndim - 1))
        value = along_channels(self.value, sample).to(sample.dtype)
        return torch.where(missing, value, sample)


class ToFloat:
    """8-bit and 16-bit integers as float32 from 0 to 1; other numbers as float32."""

    def __call__(self, sample):
        if sample.is_floating_point() or sample.dtype.itemsize > 2:
            return sample.float()
        return sample.float() * torch.tensor(1 / torch.iinfo(sample.dtype).max)


class ChannelsFirst:
    """Images from H×W×C to C×H×W; images H×W get one channel."""

    def __call__(self, sample):
        return sample[None] if sample.ndim == 2 else sample.movedim(-1, 0)


class OneHot:
    """Class numbers as vectors: 1 at the index of the class, 0 elsewhere."""

    def __init__(self, size=10):
        self.size = size

    def __call__(self, sample):
        return torch.nn.functional.one_hot(sample.long(), self.size).float()


class LabelEncode:
    """Labels as class numbers from 0: the index in the list of labels."""

    def __init__(self, labels=(0, 1)):
        self.labels = torch.tensor(labels)

    def __call__(self, sample):
        matches = sample[..., None] == self.labels
        if not matches.any(-1).all():
            raise ValueError(f"there is no label {sample.tolist()}")
        return matches.int().argmax(-1)


class Augmentation:
    """Base of random transforms of training samples; others keep the sample."""

    def __call__(self, sample):
        return sample


class RandomHorizontalFlip(Augmentation):
    """Flips training images left to right with probability p."""

    def __init__(self, p=0.5):
        self.p = p

    def augment(self, sample):
        return sample.flip(-1) if torch.rand(()) < self.p else sample


class RandomVerticalFlip(Augmentation):
    """Flips training images upside down with probability p."""

    def __init__(self, p=0.5):
        self.p = p

    def augment(self, sample):
        return sample.flip(-2) if torch.rand(()) < self.p else sample


class RandomCrop(Augmentation):
    """Crops training images at a random position, others at the center."""

    def __init__(self, size=32, padding=0):
        self.size = (size, size) if isinstance(size, int) else tuple(size)
        self.padding = padding

    def __call__(self, sample):
        height, width = self.size
        down = max(height - sample.shape[-2], 0)
        right = max(width - sample.shape[-1], 0)
        edges = (right // 2, right - right // 2, down // 2, down - down // 2)
        padded = torch.nn.functional.pad(sample, edges)
        top = round((padded.shape[-2] - height) / 2)
        left = round((padded.shape[-1] - width) / 2)
        return padded[..., top : top + height, left : left + width]

    def augment(self, sample):
        height, width = self.size
        down = self.padding + max(height - sample.shape[-2], 0)
        right = self.padding + max(width - sample.shape[-1], 0)
        padded = torch.nn.functional.pad(sample, (right, right, down, down))
        top = int(torch.randint(padded.shape[-2] - height + 1, ()))
        left = int(torch.randint(padded.shape[-1] - width + 1, ()))
        return padded[..., top : top + height, left : left + width]


class ContiguousSampler(Sampler):
    """Row i of each batch follows row i of the previous one."""

    def __init__(self, data_source, batch_size):
        self.parts = min(batch_size, len(data_source))
        self.steps = len(data_source) // self.parts

    def __len__(self):
        return self.parts * self.steps

    def __iter__(self):
        for step in range(self.steps):
            yield from (part * self.steps + step for part in range(self.parts))


class JointLoader:
    """One batch of each loader per step, joined to one list.

    An epoch is as long as the longest or the shortest loader; shorter loaders start
    again. Loaders of one batch size give batches of one size.
    """

    def __init__(self, loaders, epoch="longest"):
        self.loaders = loaders
        self.epoch = epoch

    def __len__(self):
        return (max if self.epoch == "longest" else min)(map(len, self.loaders))

    def __iter__(self):
        sources = [iter(loader) for loader in self.loaders]
        for _ in range(len(self)):
            parts = []
            for index, loader in enumerate(self.loaders):
                part = next(sources[index], None)
                if part is None:
                    sources[index] = iter(loader)
                    part = next(sources[index])
                parts.append(part)
            yield self.joined(parts)

    def joined(self, parts):
        sizes = {}
        for loader, part in zip(self.loaders, parts):
            known = sizes.get(loader.batch_size, len(part[0]))
            sizes[loader.batch_size] = min(known, len(part[0]))
        return [
            tensor[: sizes[loader.batch_size]]
            for loader, part in zip(self.loaders, parts)
            for tensor in part
        ]


class PairedSampler(RandomSampler):
    """Random order that is the same in each sampler with the same seed."""

    def __init__(self, data_source, seed=0):
        generator = torch.Generator().manual_seed(seed)
        super().__init__(data_source, generator=generator)
