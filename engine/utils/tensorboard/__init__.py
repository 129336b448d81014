"""Event files for TensorBoard. Requires the package: `pip install "gradwire[tensorboard]"`."""

from engine.utils.tensorboard.writer import SummaryWriter as SummaryWriter

__all__ = ["SummaryWriter"]
