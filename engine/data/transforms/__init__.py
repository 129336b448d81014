"""Transforms of samples: scaling, labels, geometry and augmentation."""

from __future__ import annotations

from engine.data.transforms.affine import RandomAffine as RandomAffine
from engine.data.transforms.channels_first import ChannelsFirst as ChannelsFirst
from engine.data.transforms.color import ColorJitter as ColorJitter
from engine.data.transforms.color import Grayscale as Grayscale
from engine.data.transforms.color import RandomErasing as RandomErasing
from engine.data.transforms.compose import Compose as Compose
from engine.data.transforms.compose import Lambda as Lambda
from engine.data.transforms.crop import CenterCrop as CenterCrop
from engine.data.transforms.crop import CropOrPad as CropOrPad
from engine.data.transforms.crop import RandomCrop as RandomCrop
from engine.data.transforms.crop import RandomResizedCrop as RandomResizedCrop
from engine.data.transforms.flip import RandomHorizontalFlip as RandomHorizontalFlip
from engine.data.transforms.flip import RandomVerticalFlip as RandomVerticalFlip
from engine.data.transforms.labels import LabelEncode as LabelEncode
from engine.data.transforms.labels import OneHot as OneHot
from engine.data.transforms.resize import Resize as Resize
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
    "CenterCrop",
    "ChannelsFirst",
    "Clip",
    "ColorJitter",
    "Compose",
    "CropOrPad",
    "FillMissing",
    "Fitted",
    "Grayscale",
    "Invertible",
    "LabelEncode",
    "Lambda",
    "LogScale",
    "MinMaxScale",
    "Normalize",
    "OneHot",
    "RandomAffine",
    "RandomCrop",
    "RandomErasing",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomVerticalFlip",
    "Resize",
    "ToFloat",
    "Transform",
]
