"""Data sets, loaders, transforms, and the sources that the studio offers."""

from __future__ import annotations

from engine.data import transforms as transforms
from engine.data.batches import Batches as Batches
from engine.data.batches import JointBatches as JointBatches
from engine.data.batches import Loaders as Loaders
from engine.data.chaotic_series import MackeyGlass as MackeyGlass
from engine.data.collate import default_collate as default_collate
from engine.data.collate import default_convert as default_convert
from engine.data.collate import pad_collate as pad_collate
from engine.data.cross_validation import HoldOut as HoldOut
from engine.data.cross_validation import KFold as KFold
from engine.data.dataset import ChainDataset as ChainDataset
from engine.data.dataset import ConcatDataset as ConcatDataset
from engine.data.dataset import Dataset as Dataset
from engine.data.dataset import IterableDataset as IterableDataset
from engine.data.dataset import StackDataset as StackDataset
from engine.data.dataset import Subset as Subset
from engine.data.dataset import TensorDataset as TensorDataset
from engine.data.images.cifar import CIFAR as CIFAR
from engine.data.images.digits import Digits as Digits
from engine.data.images.idx_folder import IDX as IDX
from engine.data.images.image_folder import ImageFolder as ImageFolder
from engine.data.images.image_list import ImageList as ImageList
from engine.data.images.web_dataset import WebDataset as WebDataset
from engine.data.joint_loader import JointLoader as JointLoader
from engine.data.loader import DataLoader as DataLoader
from engine.data.numpy_files import NPY as NPY
from engine.data.random_split import random_split as random_split
from engine.data.sampler import BatchSampler as BatchSampler
from engine.data.sampler import ContiguousSampler as ContiguousSampler
from engine.data.sampler import DistributedSampler as DistributedSampler
from engine.data.sampler import RandomSampler as RandomSampler
from engine.data.sampler import Sampler as Sampler
from engine.data.sampler import SequentialSampler as SequentialSampler
from engine.data.sampler import SubsetRandomSampler as SubsetRandomSampler
from engine.data.sampler import WeightedRandomSampler as WeightedRandomSampler
from engine.data.samples import ArraySamples as ArraySamples
from engine.data.samples import JoinedSamples as JoinedSamples
from engine.data.samples import MappedSamples as MappedSamples
from engine.data.samples import PickedSamples as PickedSamples
from engine.data.samples import Samples as Samples
from engine.data.shakespeare import Shakespeare as Shakespeare
from engine.data.splits import ArraySplits as ArraySplits
from engine.data.splits import Splits as Splits
from engine.data.synthetic import Blobs as Blobs
from engine.data.synthetic import Circles as Circles
from engine.data.synthetic import Moons as Moons
from engine.data.synthetic import Regression as Regression
from engine.data.synthetic import Sequences as Sequences
from engine.data.synthetic import Spirals as Spirals
from engine.data.tables.csv_table import CSV as CSV
from engine.data.tables.json_lines_table import JSONLines as JSONLines
from engine.data.tables.parquet_table import Parquet as Parquet
from engine.data.tables.penguins import Penguins as Penguins
from engine.data.text_file import Text as Text
from engine.data.workers import get_worker_info as get_worker_info

__all__ = [
    "MackeyGlass",
    "Shakespeare",
    "CIFAR",
    "CSV",
    "IDX",
    "NPY",
    "ArraySamples",
    "ArraySplits",
    "BatchSampler",
    "Batches",
    "JointBatches",
    "JointLoader",
    "Blobs",
    "ChainDataset",
    "Circles",
    "ConcatDataset",
    "ContiguousSampler",
    "DataLoader",
    "Dataset",
    "Digits",
    "DistributedSampler",
    "HoldOut",
    "ImageFolder",
    "ImageList",
    "IterableDataset",
    "JoinedSamples",
    "KFold",
    "Loaders",
    "MappedSamples",
    "Moons",
    "JSONLines",
    "Parquet",
    "Penguins",
    "PickedSamples",
    "RandomSampler",
    "Regression",
    "Sampler",
    "Samples",
    "Sequences",
    "SequentialSampler",
    "Spirals",
    "Splits",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "Text",
    "WebDataset",
    "WeightedRandomSampler",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "pad_collate",
    "random_split",
    "transforms",
]
