"""What is done to samples on their way to a batch."""

from __future__ import annotations

from engine.data.transforms.compose import Compose as Compose
from engine.data.transforms.compose import Lambda as Lambda
from engine.data.transforms.scaling import Clip as Clip
from engine.data.transforms.scaling import FillMissing as FillMissing
from engine.data.transforms.scaling import LogScale as LogScale
from engine.data.transforms.scaling import MinMaxScale as MinMaxScale
from engine.data.transforms.scaling import Normalize as Normalize
from engine.data.transforms.scaling import ToFloat as ToFloat
from engine.data.transforms.transform import Augmentation as Augmentation
from engine.data.transforms.transform import Fitted as Fitted
from engine.data.transforms.transform import Invertible as Invertible
from engine.data.transforms.transform import Transform as Transform

__all__ = [
    "Augmentation",
    "Clip",
    "Compose",
    "FillMissing",
    "Fitted",
    "Invertible",
    "Lambda",
    "LogScale",
    "MinMaxScale",
    "Normalize",
    "ToFloat",
    "Transform",
]
