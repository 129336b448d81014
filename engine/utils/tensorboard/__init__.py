"""Files for TensorBoard. Importing this needs its package: `pip install "gradwire[tensorboard]"`."""

from engine.utils.tensorboard.writer import SummaryWriter as SummaryWriter

__all__ = ["SummaryWriter"]
