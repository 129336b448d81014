"""Layers and losses as functions: everything they need is an argument."""

from engine.nn.functional.activation import elu as elu
from engine.nn.functional.activation import gelu as gelu
from engine.nn.functional.activation import hardtanh as hardtanh
from engine.nn.functional.activation import leaky_relu as leaky_relu
from engine.nn.functional.activation import log_softmax as log_softmax
from engine.nn.functional.activation import logsigmoid as logsigmoid
from engine.nn.functional.activation import relu as relu
from engine.nn.functional.activation import relu6 as relu6
from engine.nn.functional.activation import sigmoid as sigmoid
from engine.nn.functional.activation import silu as silu
from engine.nn.functional.activation import softmax as softmax
from engine.nn.functional.activation import softplus as softplus
from engine.nn.functional.activation import tanh as tanh
from engine.nn.functional.binary import binary_cross_entropy as binary_cross_entropy
from engine.nn.functional.binary import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from engine.nn.functional.classification import cross_entropy as cross_entropy
from engine.nn.functional.classification import nll_loss as nll_loss
from engine.nn.functional.convolution import conv2d as conv2d
from engine.nn.functional.dropout import dropout as dropout
from engine.nn.functional.linear import embedding as embedding
from engine.nn.functional.linear import linear as linear
from engine.nn.functional.normalization import batch_norm as batch_norm
from engine.nn.functional.normalization import layer_norm as layer_norm
from engine.nn.functional.padding import pad as pad
from engine.nn.functional.regression import huber_loss as huber_loss
from engine.nn.functional.regression import l1_loss as l1_loss
from engine.nn.functional.regression import mse_loss as mse_loss
from engine.nn.functional.regression import smooth_l1_loss as smooth_l1_loss
from engine.ops.index import one_hot as one_hot
from engine.ops.pool import adaptive_avg_pool2d as adaptive_avg_pool2d
from engine.ops.pool import avg_pool2d as avg_pool2d
from engine.ops.pool import max_pool2d as max_pool2d

__all__ = [
    "adaptive_avg_pool2d",
    "avg_pool2d",
    "batch_norm",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "conv2d",
    "cross_entropy",
    "dropout",
    "elu",
    "embedding",
    "gelu",
    "hardtanh",
    "huber_loss",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_softmax",
    "logsigmoid",
    "max_pool2d",
    "mse_loss",
    "nll_loss",
    "one_hot",
    "pad",
    "relu",
    "relu6",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "softmax",
    "softplus",
    "tanh",
]
