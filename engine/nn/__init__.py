"""Modules, layers and losses, with PyTorch's names, arguments and first values."""

from engine.nn import functional as functional
from engine.nn import init as init
from engine.nn.containers.module_dict import ModuleDict as ModuleDict
from engine.nn.containers.module_list import ModuleList as ModuleList
from engine.nn.containers.parameter_list import ParameterList as ParameterList
from engine.nn.containers.sequential import Sequential as Sequential
from engine.nn.hooks import RemovableHandle as RemovableHandle
from engine.nn.layers.activation import ELU as ELU
from engine.nn.layers.activation import GELU as GELU
from engine.nn.layers.activation import Hardtanh as Hardtanh
from engine.nn.layers.activation import LeakyReLU as LeakyReLU
from engine.nn.layers.activation import LogSigmoid as LogSigmoid
from engine.nn.layers.activation import ReLU as ReLU
from engine.nn.layers.activation import ReLU6 as ReLU6
from engine.nn.layers.activation import Sigmoid as Sigmoid
from engine.nn.layers.activation import SiLU as SiLU
from engine.nn.layers.activation import Softplus as Softplus
from engine.nn.layers.activation import Tanh as Tanh
from engine.nn.layers.adaptive_avg_pool2d import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from engine.nn.layers.avg_pool2d import AvgPool2d as AvgPool2d
from engine.nn.layers.batch_norm import BatchNorm1d as BatchNorm1d
from engine.nn.layers.batch_norm import BatchNorm2d as BatchNorm2d
from engine.nn.layers.conv2d import Conv2d as Conv2d
from engine.nn.layers.dropout import Dropout as Dropout
from engine.nn.layers.embedding import Embedding as Embedding
from engine.nn.layers.flatten import Flatten as Flatten
from engine.nn.layers.flatten import Unflatten as Unflatten
from engine.nn.layers.identity import Identity as Identity
from engine.nn.layers.layer_norm import LayerNorm as LayerNorm
from engine.nn.layers.linear import Linear as Linear
from engine.nn.layers.max_pool2d import MaxPool2d as MaxPool2d
from engine.nn.layers.softmax import LogSoftmax as LogSoftmax
from engine.nn.layers.softmax import Softmax as Softmax
from engine.nn.losses.binary import BCELoss as BCELoss
from engine.nn.losses.binary import BCEWithLogitsLoss as BCEWithLogitsLoss
from engine.nn.losses.classification import CrossEntropyLoss as CrossEntropyLoss
from engine.nn.losses.classification import NLLLoss as NLLLoss
from engine.nn.losses.regression import HuberLoss as HuberLoss
from engine.nn.losses.regression import L1Loss as L1Loss
from engine.nn.losses.regression import MSELoss as MSELoss
from engine.nn.losses.regression import SmoothL1Loss as SmoothL1Loss
from engine.nn.module import Module as Module
from engine.nn.parameter import Parameter as Parameter

__all__ = [
    "AdaptiveAvgPool2d",
    "AvgPool2d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "Conv2d",
    "CrossEntropyLoss",
    "Dropout",
    "ELU",
    "Embedding",
    "Flatten",
    "GELU",
    "Hardtanh",
    "HuberLoss",
    "Identity",
    "L1Loss",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "LogSigmoid",
    "LogSoftmax",
    "MSELoss",
    "MaxPool2d",
    "Module",
    "ModuleDict",
    "ModuleList",
    "NLLLoss",
    "Parameter",
    "ParameterList",
    "ReLU",
    "ReLU6",
    "RemovableHandle",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "SmoothL1Loss",
    "Softmax",
    "Softplus",
    "Tanh",
    "Unflatten",
    "functional",
    "init",
]
