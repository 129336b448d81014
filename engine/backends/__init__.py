"""Switches of the libraries that PyTorch computes with. They can be set, and change nothing here."""

from __future__ import annotations

from engine.backends import cuda as cuda
from engine.backends import cudnn as cudnn
from engine.backends import mkl as mkl
from engine.backends import mkldnn as mkldnn
from engine.backends import mps as mps
from engine.backends import openmp as openmp
from engine.backends import opt_einsum as opt_einsum

__all__ = ["cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"]
