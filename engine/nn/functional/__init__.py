"""Functional interface of layers and losses, without parameters or state."""

from engine.nn.functional import recurrent as recurrent
from engine.nn.functional.activation import celu as celu
from engine.nn.functional.activation import celu_ as celu_
from engine.nn.functional.activation import elu as elu
from engine.nn.functional.activation import elu_ as elu_
from engine.nn.functional.activation import gelu as gelu
from engine.nn.functional.activation import glu as glu
from engine.nn.functional.activation import hardshrink as hardshrink
from engine.nn.functional.activation import hardsigmoid as hardsigmoid
from engine.nn.functional.activation import hardswish as hardswish
from engine.nn.functional.activation import hardtanh as hardtanh
from engine.nn.functional.activation import hardtanh_ as hardtanh_
from engine.nn.functional.activation import leaky_relu as leaky_relu
from engine.nn.functional.activation import leaky_relu_ as leaky_relu_
from engine.nn.functional.activation import logsigmoid as logsigmoid
from engine.nn.functional.activation import mish as mish
from engine.nn.functional.activation import prelu as prelu
from engine.nn.functional.activation import relu as relu
from engine.nn.functional.activation import relu6 as relu6
from engine.nn.functional.activation import relu_ as relu_
from engine.nn.functional.activation import rrelu as rrelu
from engine.nn.functional.activation import rrelu_ as rrelu_
from engine.nn.functional.activation import selu as selu
from engine.nn.functional.activation import selu_ as selu_
from engine.nn.functional.activation import sigmoid as sigmoid
from engine.nn.functional.activation import silu as silu
from engine.nn.functional.activation import softplus as softplus
from engine.nn.functional.activation import softshrink as softshrink
from engine.nn.functional.activation import softsign as softsign
from engine.nn.functional.activation import tanh as tanh
from engine.nn.functional.activation import tanhshrink as tanhshrink
from engine.nn.functional.activation import threshold as threshold
from engine.nn.functional.activation import threshold_ as threshold_
from engine.nn.functional.adaptive_pooling import adaptive_avg_pool1d as adaptive_avg_pool1d
from engine.nn.functional.adaptive_pooling import adaptive_avg_pool2d as adaptive_avg_pool2d
from engine.nn.functional.adaptive_pooling import adaptive_avg_pool3d as adaptive_avg_pool3d
from engine.nn.functional.adaptive_pooling import adaptive_max_pool1d as adaptive_max_pool1d
from engine.nn.functional.adaptive_pooling import adaptive_max_pool2d as adaptive_max_pool2d
from engine.nn.functional.adaptive_pooling import adaptive_max_pool3d as adaptive_max_pool3d
from engine.nn.functional.binary_losses import binary_cross_entropy as binary_cross_entropy
from engine.nn.functional.binary_losses import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from engine.nn.functional.binary_losses import multilabel_soft_margin_loss as multilabel_soft_margin_loss
from engine.nn.functional.binary_losses import soft_margin_loss as soft_margin_loss
from engine.nn.functional.channel_norm import group_norm as group_norm
from engine.nn.functional.channel_norm import instance_norm as instance_norm
from engine.nn.functional.channel_norm import local_response_norm as local_response_norm
from engine.nn.functional.classification_losses import cross_entropy as cross_entropy
from engine.nn.functional.classification_losses import nll_loss as nll_loss
from engine.nn.functional.convolution import conv1d as conv1d
from engine.nn.functional.convolution import conv2d as conv2d
from engine.nn.functional.convolution import conv3d as conv3d
from engine.nn.functional.convolution import conv_transpose1d as conv_transpose1d
from engine.nn.functional.convolution import conv_transpose2d as conv_transpose2d
from engine.nn.functional.convolution import conv_transpose3d as conv_transpose3d
from engine.nn.functional.ctc import ctc_loss as ctc_loss
from engine.nn.functional.distance import cosine_similarity as cosine_similarity
from engine.nn.functional.distance import pairwise_distance as pairwise_distance
from engine.nn.functional.dropout import alpha_dropout as alpha_dropout
from engine.nn.functional.dropout import dropout as dropout
from engine.nn.functional.dropout import dropout1d as dropout1d
from engine.nn.functional.dropout import dropout2d as dropout2d
from engine.nn.functional.dropout import dropout3d as dropout3d
from engine.nn.functional.dropout import feature_alpha_dropout as feature_alpha_dropout
from engine.nn.functional.embedding import embedding as embedding
from engine.nn.functional.embedding import embedding_bag as embedding_bag
from engine.nn.functional.folding import fold as fold
from engine.nn.functional.folding import unfold as unfold
from engine.nn.functional.fractional_pooling import fractional_max_pool2d as fractional_max_pool2d
from engine.nn.functional.fractional_pooling import fractional_max_pool3d as fractional_max_pool3d
from engine.nn.functional.grid_sampling import affine_grid as affine_grid
from engine.nn.functional.grid_sampling import grid_sample as grid_sample
from engine.nn.functional.interpolation import interpolate as interpolate
from engine.nn.functional.interpolation import upsample as upsample
from engine.nn.functional.interpolation import upsample_bilinear as upsample_bilinear
from engine.nn.functional.interpolation import upsample_nearest as upsample_nearest
from engine.nn.functional.kl_divergence import kl_div as kl_div
from engine.nn.functional.linear import bilinear as bilinear
from engine.nn.functional.linear import linear as linear
from engine.nn.functional.linear_cross_entropy import linear_cross_entropy as linear_cross_entropy
from engine.nn.functional.margin_losses import cosine_embedding_loss as cosine_embedding_loss
from engine.nn.functional.margin_losses import hinge_embedding_loss as hinge_embedding_loss
from engine.nn.functional.margin_losses import margin_ranking_loss as margin_ranking_loss
from engine.nn.functional.margin_losses import multi_margin_loss as multi_margin_loss
from engine.nn.functional.margin_losses import multilabel_margin_loss as multilabel_margin_loss
from engine.nn.functional.margin_losses import triplet_margin_loss as triplet_margin_loss
from engine.nn.functional.margin_losses import triplet_margin_with_distance_loss as triplet_margin_with_distance_loss
from engine.nn.functional.multi_head_attention import multi_head_attention_forward as multi_head_attention_forward
from engine.nn.functional.multi_head_attention import scaled_dot_product_attention as scaled_dot_product_attention
from engine.nn.functional.normalization import batch_norm as batch_norm
from engine.nn.functional.normalization import layer_norm as layer_norm
from engine.nn.functional.normalization import normalize as normalize
from engine.nn.functional.normalization import rms_norm as rms_norm
from engine.nn.functional.padding import pad as pad
from engine.nn.functional.pooling import avg_pool1d as avg_pool1d
from engine.nn.functional.pooling import avg_pool2d as avg_pool2d
from engine.nn.functional.pooling import avg_pool3d as avg_pool3d
from engine.nn.functional.pooling import lp_pool1d as lp_pool1d
from engine.nn.functional.pooling import lp_pool2d as lp_pool2d
from engine.nn.functional.pooling import lp_pool3d as lp_pool3d
from engine.nn.functional.pooling import max_pool1d as max_pool1d
from engine.nn.functional.pooling import max_pool2d as max_pool2d
from engine.nn.functional.pooling import max_pool3d as max_pool3d
from engine.nn.functional.pooling import max_unpool1d as max_unpool1d
from engine.nn.functional.pooling import max_unpool2d as max_unpool2d
from engine.nn.functional.pooling import max_unpool3d as max_unpool3d
from engine.nn.functional.regression_losses import gaussian_nll_loss as gaussian_nll_loss
from engine.nn.functional.regression_losses import huber_loss as huber_loss
from engine.nn.functional.regression_losses import l1_loss as l1_loss
from engine.nn.functional.regression_losses import mse_loss as mse_loss
from engine.nn.functional.regression_losses import poisson_nll_loss as poisson_nll_loss
from engine.nn.functional.regression_losses import smooth_l1_loss as smooth_l1_loss
from engine.nn.functional.shuffling import channel_shuffle as channel_shuffle
from engine.nn.functional.shuffling import native_channel_shuffle as native_channel_shuffle
from engine.nn.functional.shuffling import pixel_shuffle as pixel_shuffle
from engine.nn.functional.shuffling import pixel_unshuffle as pixel_unshuffle
from engine.nn.functional.softmax import gumbel_softmax as gumbel_softmax
from engine.nn.functional.softmax import log_softmax as log_softmax
from engine.nn.functional.softmax import softmax as softmax
from engine.nn.functional.softmax import softmin as softmin
from engine.ops.indexing.gather import one_hot as one_hot
from engine.ops.linalg.distances import pdist as pdist

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "affine_grid",
    "alpha_dropout",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "celu_",
    "channel_shuffle",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "ctc_loss",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "elu",
    "elu_",
    "embedding",
    "embedding_bag",
    "feature_alpha_dropout",
    "fold",
    "fractional_max_pool2d",
    "fractional_max_pool3d",
    "gaussian_nll_loss",
    "gelu",
    "glu",
    "grid_sample",
    "group_norm",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "interpolate",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "leaky_relu_",
    "linear",
    "linear_cross_entropy",
    "local_response_norm",
    "log_softmax",
    "logsigmoid",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "mish",
    "mse_loss",
    "multi_head_attention_forward",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "native_channel_shuffle",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "pairwise_distance",
    "pdist",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "rms_norm",
    "rrelu",
    "rrelu_",
    "scaled_dot_product_attention",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
    "unfold",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]
