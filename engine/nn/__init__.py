"""Modules, layers and losses, with PyTorch's names, arguments and initialization."""

from engine.graph import RemovableHandle as RemovableHandle
from engine.nn import attention as attention
from engine.nn import functional as functional
from engine.nn import init as init
from engine.nn import optimized_module as optimized_module
from engine.nn import utils as utils
from engine.nn.containers.module_dict import ModuleDict as ModuleDict
from engine.nn.containers.module_list import ModuleList as ModuleList
from engine.nn.containers.parameter_list import ParameterDict as ParameterDict
from engine.nn.containers.parameter_list import ParameterList as ParameterList
from engine.nn.containers.sequential import Sequential as Sequential
from engine.nn.layers.adaptive_pool import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from engine.nn.layers.adaptive_pool import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from engine.nn.layers.adaptive_pool import AdaptiveAvgPool3d as AdaptiveAvgPool3d
from engine.nn.layers.adaptive_pool import AdaptiveMaxPool1d as AdaptiveMaxPool1d
from engine.nn.layers.adaptive_pool import AdaptiveMaxPool2d as AdaptiveMaxPool2d
from engine.nn.layers.adaptive_pool import AdaptiveMaxPool3d as AdaptiveMaxPool3d
from engine.nn.layers.attention_heads import MergeHeads as MergeHeads
from engine.nn.layers.attention_heads import SplitHeads as SplitHeads
from engine.nn.layers.avg_pool import AvgPool1d as AvgPool1d
from engine.nn.layers.avg_pool import AvgPool2d as AvgPool2d
from engine.nn.layers.avg_pool import AvgPool3d as AvgPool3d
from engine.nn.layers.batch_norm import BatchNorm1d as BatchNorm1d
from engine.nn.layers.batch_norm import BatchNorm2d as BatchNorm2d
from engine.nn.layers.batch_norm import BatchNorm3d as BatchNorm3d
from engine.nn.layers.bilinear import Bilinear as Bilinear
from engine.nn.layers.carried_state import CarriedState as CarriedState
from engine.nn.layers.constant_tensors import ConstantTensor as ConstantTensor
from engine.nn.layers.constant_tensors import IdentityMatrix as IdentityMatrix
from engine.nn.layers.constant_tensors import LinspaceTensor as LinspaceTensor
from engine.nn.layers.constant_tensors import RangeTensor as RangeTensor
from engine.nn.layers.conv import Conv1d as Conv1d
from engine.nn.layers.conv import Conv2d as Conv2d
from engine.nn.layers.conv import Conv3d as Conv3d
from engine.nn.layers.conv_transpose import ConvTranspose1d as ConvTranspose1d
from engine.nn.layers.conv_transpose import ConvTranspose2d as ConvTranspose2d
from engine.nn.layers.conv_transpose import ConvTranspose3d as ConvTranspose3d
from engine.nn.layers.distance import CosineSimilarity as CosineSimilarity
from engine.nn.layers.distance import PairwiseDistance as PairwiseDistance
from engine.nn.layers.dropout import AlphaDropout as AlphaDropout
from engine.nn.layers.dropout import Dropout as Dropout
from engine.nn.layers.dropout import Dropout1d as Dropout1d
from engine.nn.layers.dropout import Dropout2d as Dropout2d
from engine.nn.layers.dropout import Dropout3d as Dropout3d
from engine.nn.layers.dropout import FeatureAlphaDropout as FeatureAlphaDropout
from engine.nn.layers.embedding import Embedding as Embedding
from engine.nn.layers.embedding_bag import EmbeddingBag as EmbeddingBag
from engine.nn.layers.fill import Fill as Fill
from engine.nn.layers.flatten import Flatten as Flatten
from engine.nn.layers.flatten import Unflatten as Unflatten
from engine.nn.layers.fold import Fold as Fold
from engine.nn.layers.fold import Unfold as Unfold
from engine.nn.layers.fractional_max_pool import FractionalMaxPool2d as FractionalMaxPool2d
from engine.nn.layers.fractional_max_pool import FractionalMaxPool3d as FractionalMaxPool3d
from engine.nn.layers.group_norm import GroupNorm as GroupNorm
from engine.nn.layers.gru import GRU as GRU
from engine.nn.layers.halves import Halves as Halves
from engine.nn.layers.hard_activations import Hardshrink as Hardshrink
from engine.nn.layers.hard_activations import Hardsigmoid as Hardsigmoid
from engine.nn.layers.hard_activations import Hardswish as Hardswish
from engine.nn.layers.hard_activations import Hardtanh as Hardtanh
from engine.nn.layers.hard_activations import Softshrink as Softshrink
from engine.nn.layers.identity import Identity as Identity
from engine.nn.layers.instance_norm import InstanceNorm1d as InstanceNorm1d
from engine.nn.layers.instance_norm import InstanceNorm2d as InstanceNorm2d
from engine.nn.layers.instance_norm import InstanceNorm3d as InstanceNorm3d
from engine.nn.layers.layer_norm import LayerNorm as LayerNorm
from engine.nn.layers.lazy import LazyBatchNorm1d as LazyBatchNorm1d
from engine.nn.layers.lazy import LazyBatchNorm2d as LazyBatchNorm2d
from engine.nn.layers.lazy import LazyBatchNorm3d as LazyBatchNorm3d
from engine.nn.layers.lazy import LazyConv1d as LazyConv1d
from engine.nn.layers.lazy import LazyConv2d as LazyConv2d
from engine.nn.layers.lazy import LazyConv3d as LazyConv3d
from engine.nn.layers.lazy import LazyConvTranspose1d as LazyConvTranspose1d
from engine.nn.layers.lazy import LazyConvTranspose2d as LazyConvTranspose2d
from engine.nn.layers.lazy import LazyConvTranspose3d as LazyConvTranspose3d
from engine.nn.layers.lazy import LazyInstanceNorm1d as LazyInstanceNorm1d
from engine.nn.layers.lazy import LazyInstanceNorm2d as LazyInstanceNorm2d
from engine.nn.layers.lazy import LazyInstanceNorm3d as LazyInstanceNorm3d
from engine.nn.layers.lazy import LazyLinear as LazyLinear
from engine.nn.layers.learned_tensors import LearnedTensor as LearnedTensor
from engine.nn.layers.linear import Linear as Linear
from engine.nn.layers.local_response_norm import LocalResponseNorm as LocalResponseNorm
from engine.nn.layers.lp_pool import LPPool1d as LPPool1d
from engine.nn.layers.lp_pool import LPPool2d as LPPool2d
from engine.nn.layers.lp_pool import LPPool3d as LPPool3d
from engine.nn.layers.lstm import LSTM as LSTM
from engine.nn.layers.max_pool import MaxPool1d as MaxPool1d
from engine.nn.layers.max_pool import MaxPool2d as MaxPool2d
from engine.nn.layers.max_pool import MaxPool3d as MaxPool3d
from engine.nn.layers.max_unpool import MaxUnpool1d as MaxUnpool1d
from engine.nn.layers.max_unpool import MaxUnpool2d as MaxUnpool2d
from engine.nn.layers.max_unpool import MaxUnpool3d as MaxUnpool3d
from engine.nn.layers.multihead_attention import MultiheadAttention as MultiheadAttention
from engine.nn.layers.noise import Noise as Noise
from engine.nn.layers.padding import CircularPad1d as CircularPad1d
from engine.nn.layers.padding import CircularPad2d as CircularPad2d
from engine.nn.layers.padding import CircularPad3d as CircularPad3d
from engine.nn.layers.padding import ConstantPad1d as ConstantPad1d
from engine.nn.layers.padding import ConstantPad2d as ConstantPad2d
from engine.nn.layers.padding import ConstantPad3d as ConstantPad3d
from engine.nn.layers.padding import ReflectionPad1d as ReflectionPad1d
from engine.nn.layers.padding import ReflectionPad2d as ReflectionPad2d
from engine.nn.layers.padding import ReflectionPad3d as ReflectionPad3d
from engine.nn.layers.padding import ReplicationPad1d as ReplicationPad1d
from engine.nn.layers.padding import ReplicationPad2d as ReplicationPad2d
from engine.nn.layers.padding import ReplicationPad3d as ReplicationPad3d
from engine.nn.layers.padding import ZeroPad1d as ZeroPad1d
from engine.nn.layers.padding import ZeroPad2d as ZeroPad2d
from engine.nn.layers.padding import ZeroPad3d as ZeroPad3d
from engine.nn.layers.rectifiers import CELU as CELU
from engine.nn.layers.rectifiers import ELU as ELU
from engine.nn.layers.rectifiers import SELU as SELU
from engine.nn.layers.rectifiers import LeakyReLU as LeakyReLU
from engine.nn.layers.rectifiers import PReLU as PReLU
from engine.nn.layers.rectifiers import ReLU as ReLU
from engine.nn.layers.rectifiers import ReLU6 as ReLU6
from engine.nn.layers.rectifiers import RReLU as RReLU
from engine.nn.layers.rectifiers import Threshold as Threshold
from engine.nn.layers.recurrent_cells import GRUCell as GRUCell
from engine.nn.layers.recurrent_cells import LSTMCell as LSTMCell
from engine.nn.layers.recurrent_cells import RNNCell as RNNCell
from engine.nn.layers.recurrent_cells import RNNCellBase as RNNCellBase
from engine.nn.layers.rms_norm import RMSNorm as RMSNorm
from engine.nn.layers.rnn import RNN as RNN
from engine.nn.layers.rnn_base import RNNBase as RNNBase
from engine.nn.layers.running_average import RunningAverage as RunningAverage
from engine.nn.layers.sequence_positions import CausalMask as CausalMask
from engine.nn.layers.sequence_positions import Positions as Positions
from engine.nn.layers.sequence_steps import LastStep as LastStep
from engine.nn.layers.sequence_steps import PaddingMask as PaddingMask
from engine.nn.layers.shuffle import ChannelShuffle as ChannelShuffle
from engine.nn.layers.shuffle import PixelShuffle as PixelShuffle
from engine.nn.layers.shuffle import PixelUnshuffle as PixelUnshuffle
from engine.nn.layers.smooth_activations import GELU as GELU
from engine.nn.layers.smooth_activations import GLU as GLU
from engine.nn.layers.smooth_activations import LogSigmoid as LogSigmoid
from engine.nn.layers.smooth_activations import Mish as Mish
from engine.nn.layers.smooth_activations import Sigmoid as Sigmoid
from engine.nn.layers.smooth_activations import SiLU as SiLU
from engine.nn.layers.smooth_activations import Softplus as Softplus
from engine.nn.layers.smooth_activations import Softsign as Softsign
from engine.nn.layers.smooth_activations import Tanh as Tanh
from engine.nn.layers.smooth_activations import Tanhshrink as Tanhshrink
from engine.nn.layers.softmax import LogSoftmax as LogSoftmax
from engine.nn.layers.softmax import Softmax as Softmax
from engine.nn.layers.softmax import Softmax2d as Softmax2d
from engine.nn.layers.softmax import Softmin as Softmin
from engine.nn.layers.sync_batch_norm import SyncBatchNorm as SyncBatchNorm
from engine.nn.layers.tokens import ClassToken as ClassToken
from engine.nn.layers.tokens import LearnedPositions as LearnedPositions
from engine.nn.layers.tokens import SinusoidalPositions as SinusoidalPositions
from engine.nn.layers.transformer import Transformer as Transformer
from engine.nn.layers.transformer import TransformerDecoder as TransformerDecoder
from engine.nn.layers.transformer import TransformerEncoder as TransformerEncoder
from engine.nn.layers.transformer_layers import TransformerDecoderLayer as TransformerDecoderLayer
from engine.nn.layers.transformer_layers import TransformerEncoderLayer as TransformerEncoderLayer
from engine.nn.layers.upsample import Upsample as Upsample
from engine.nn.layers.upsample import UpsamplingBilinear2d as UpsamplingBilinear2d
from engine.nn.layers.upsample import UpsamplingNearest2d as UpsamplingNearest2d
from engine.nn.losses.adaptive import AdaptiveLogSoftmaxWithLoss as AdaptiveLogSoftmaxWithLoss
from engine.nn.losses.binary import BCELoss as BCELoss
from engine.nn.losses.binary import BCEWithLogitsLoss as BCEWithLogitsLoss
from engine.nn.losses.binary import MultiLabelSoftMarginLoss as MultiLabelSoftMarginLoss
from engine.nn.losses.binary import SoftMarginLoss as SoftMarginLoss
from engine.nn.losses.classification import CrossEntropyLoss as CrossEntropyLoss
from engine.nn.losses.classification import CTCLoss as CTCLoss
from engine.nn.losses.classification import MultiLabelMarginLoss as MultiLabelMarginLoss
from engine.nn.losses.classification import MultiMarginLoss as MultiMarginLoss
from engine.nn.losses.classification import NLLLoss as NLLLoss
from engine.nn.losses.classification import NLLLoss2d as NLLLoss2d
from engine.nn.losses.linear_cross_entropy import LinearCrossEntropyLoss as LinearCrossEntropyLoss
from engine.nn.losses.linear_cross_entropy import LinearCrossEntropyOptions as LinearCrossEntropyOptions
from engine.nn.losses.margin import CosineEmbeddingLoss as CosineEmbeddingLoss
from engine.nn.losses.margin import HingeEmbeddingLoss as HingeEmbeddingLoss
from engine.nn.losses.margin import MarginRankingLoss as MarginRankingLoss
from engine.nn.losses.margin import TripletMarginLoss as TripletMarginLoss
from engine.nn.losses.margin import TripletMarginWithDistanceLoss as TripletMarginWithDistanceLoss
from engine.nn.losses.regression import GaussianNLLLoss as GaussianNLLLoss
from engine.nn.losses.regression import HuberLoss as HuberLoss
from engine.nn.losses.regression import KLDivLoss as KLDivLoss
from engine.nn.losses.regression import L1Loss as L1Loss
from engine.nn.losses.regression import MSELoss as MSELoss
from engine.nn.losses.regression import PoissonNLLLoss as PoissonNLLLoss
from engine.nn.losses.regression import SmoothL1Loss as SmoothL1Loss
from engine.nn.module import Module as Module
from engine.nn.parallel import DataParallel as DataParallel
from engine.nn.parameter import Buffer as Buffer
from engine.nn.parameter import Parameter as Parameter
from engine.nn.parameter import UninitializedBuffer as UninitializedBuffer
from engine.nn.parameter import UninitializedParameter as UninitializedParameter

__all__ = [
    "Positions",
    "CausalMask",
    "SplitHeads",
    "MergeHeads",
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "GRU",
    "LSTM",
    "RNN",
    "RunningAverage",
    "SELU",
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveLogSoftmaxWithLoss",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AlphaDropout",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "Bilinear",
    "Buffer",
    "CTCLoss",
    "ChannelShuffle",
    "CarriedState",
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "CosineEmbeddingLoss",
    "CosineSimilarity",
    "CrossEntropyLoss",
    "DataParallel",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "Embedding",
    "EmbeddingBag",
    "FeatureAlphaDropout",
    "Fill",
    "Flatten",
    "Fold",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "GRUCell",
    "GaussianNLLLoss",
    "GroupNorm",
    "Halves",
    "SinusoidalPositions",
    "LearnedPositions",
    "ClassToken",
    "LearnedTensor",
    "ConstantTensor",
    "RangeTensor",
    "LinspaceTensor",
    "IdentityMatrix",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "Identity",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "KLDivLoss",
    "L1Loss",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "LSTMCell",
    "LastStep",
    "LayerNorm",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "LazyLinear",
    "LeakyReLU",
    "Linear",
    "LinearCrossEntropyLoss",
    "LinearCrossEntropyOptions",
    "LocalResponseNorm",
    "LogSigmoid",
    "LogSoftmax",
    "MSELoss",
    "MarginRankingLoss",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
    "Mish",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "MultiheadAttention",
    "NLLLoss",
    "NLLLoss2d",
    "Noise",
    "PReLU",
    "PaddingMask",
    "PairwiseDistance",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "PixelShuffle",
    "PixelUnshuffle",
    "PoissonNLLLoss",
    "RMSNorm",
    "RNNBase",
    "RNNCell",
    "RNNCellBase",
    "RReLU",
    "ReLU",
    "ReLU6",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "RemovableHandle",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "SyncBatchNorm",
    "Tanh",
    "Tanhshrink",
    "Threshold",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
    "Unflatten",
    "Unfold",
    "UninitializedBuffer",
    "UninitializedParameter",
    "Upsample",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
    "attention",
    "functional",
    "init",
    "utils",
]
