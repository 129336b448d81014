"""Augmentations that destroy the label, measured with the nearest class mean of small images."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.data.transforms.transform import Augmentation
from engine.random import Generator
from studio.lowering.analysis.data_nodes import split_transform_arguments
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.training.data.data_chain import ChainLink
from studio.training.data.findings.data_context import DataContext
from studio.training.data.findings.data_fixes import remove_transform
from studio.training.data.findings.sample_reading import inputs_at, measured, targets_at

MIN_ACCURACY = 0.6
"""Accuracy of the nearest class mean from which a measurement says anything."""
MAX_KEPT = 0.7
"""Ratio of the accuracies with and without the augmentation below which it destroys the label."""
SMALL_ROTATION = 10.0
"""Degrees that a fix sets."""
MIN_ROTATION = 60.0
"""Degrees from which a rotation is measured; smaller ones keep the class."""
MIN_SAMPLES, MOST = 100, 2000
_SIDE = 16
MEASURED = frozenset(
    {
        "transforms.RandomHorizontalFlip",
        "transforms.RandomVerticalFlip",
        "transforms.RandomAffine",
        "transforms.RandomErasing",
    }
)
"""Augmentations that can remove what distinguishes the classes."""
SMALL_AREA = (0.02, 0.33)
"""Fractions of an image that a fix lets be erased."""


def augmentation_problems(data: DataContext) -> Iterator[Problem]:
    if data.loader is None or data.found.kind != "images" or not data.found.classes or data.found.classes < 3:
        return
    for index, link in data.transforms():
        degrees = link.values.get("degrees")
        is_rotation = isinstance(degrees, (int, float))
        if link.key not in MEASURED or not index or (is_rotation and degrees < MIN_ROTATION):
            continue
        found = measured(data.preview, ("augmented", index), lambda index=index, link=link: _measure(data, index, link))
        if found is None:
            continue
        before, after = found
        if before < MIN_ACCURACY or after > MAX_KEPT * before:
            continue
        what, change = _described(link)
        removal = remove_transform(link)
        remedy = f"Remove {link.name}" if change is None else change.title
        message = (
            f"{link.name} {what}, which changes their class: the nearest class mean is right for {before:.0%} of the "
            f"images and for {after:.0%} of the changed ones. {remedy}."
        )
        fixes = [removal] if change is None else [change, removal]
        evidence = {"accuracy": before, "accuracy_of_augmented": after}
        yield Problem(
            "warning",
            "label-changed",
            message,
            node=link.name,
            fix=fixes[0],
            others=tuple(fixes[1:]),
            evidence=evidence,
        )


def _described(link: ChainLink) -> tuple[str, Fix | None]:
    """What an augmentation does, as a verb phrase, and the fix that makes it weaker."""
    if link.key == "transforms.RandomErasing":
        _, most = link.values["scale"]
        smaller = quick_fixes.assign(link.name, "scale", list(SMALL_AREA))
        return f"erases up to {most:.0%} of an image", smaller.because("Small areas keep the class, and add variety.")
    degrees = link.values.get("degrees")
    if isinstance(degrees, (int, float)):
        weaker = quick_fixes.assign(link.name, "degrees", SMALL_ROTATION)
        weaker = weaker.because("Small rotations keep the class, and add variety.")
        return f"rotates images by up to {degrees:g} degrees", weaker
    return "flips images", None


def _measure(data: DataContext, index: int, link: ChainLink) -> tuple[float, float] | None:
    """Accuracy of the nearest class mean for images before and after an augmentation that changes them."""
    images, targets = inputs_at(data, index - 1, most=MOST), targets_at(data, index - 1, most=MOST)
    if images is None or targets is None or targets.ndim != 1 or len(images) < MIN_SAMPLES:
        return None
    arguments = split_transform_arguments(link.values)[0]
    target: Any = link.type.target
    measured_params = ("p", "scale", "ratio", "value") if link.key.endswith("Erasing") else ("p", "degrees")
    only = {name: arguments[name] for name in measured_params if name in arguments}  # without shifts and zooms
    transform = target(**only)
    if not isinstance(transform, Augmentation):
        return None
    numbers = Generator(0).fork("augmentation").uniform_rows(np.arange(len(images)), transform.numbers)
    changed = transform.augment(images, numbers)
    if changed.shape != images.shape:
        return None
    fitted, tested = np.arange(len(images)) % 2 == 0, np.arange(len(images)) % 2 == 1
    small, others = _small(images), _small(changed)
    tested &= (small != others).any(1)
    if tested.sum() < MIN_SAMPLES // 4:
        return None
    classes = np.unique(targets[fitted])
    means = np.stack([small[fitted & (targets == number)].mean(0) for number in classes])
    return _accuracy(small, targets, means, classes, tested), _accuracy(others, targets, means, classes, tested)


def _small(images: NDArray[Any]) -> NDArray[np.float32]:
    """Gray images of at most 16×16 as vectors."""
    gray = images.astype(np.float32)
    if gray.ndim == 4:
        gray = gray.mean(1 if gray.shape[1] <= gray.shape[3] else 3)
    steps = [max(size // _SIDE, 1) for size in gray.shape[1:]]
    height, width = (size // step * step for size, step in zip(gray.shape[1:], steps, strict=True))
    blocks = gray[:, :height, :width].reshape(len(gray), height // steps[0], steps[0], width // steps[1], steps[1])
    return blocks.mean((2, 4)).reshape(len(gray), -1)


def _accuracy(
    images: NDArray[np.float32],
    targets: NDArray[Any],
    means: NDArray[np.float32],
    classes: NDArray[Any],
    tested: NDArray[np.bool_],
) -> float:
    distances = (means**2).sum(1) - 2 * images[tested] @ means.T
    return float((classes[distances.argmin(1)] == targets[tested]).mean())


__all__ = ["augmentation_problems"]
