"""Python's multiprocessing under PyTorch's path, with `spawn`.

Tensors that are sent to another process arrive as copies. Those of `share_memory_()` are shared with forked processes
only; sent to others, they are refused, since a copy would not see what is written.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary]

from engine.multiprocessing import tensor_sharing
from engine.multiprocessing.processes import ProcessContext as ProcessContext
from engine.multiprocessing.processes import ProcessException as ProcessException
from engine.multiprocessing.processes import ProcessExitedException as ProcessExitedException
from engine.multiprocessing.processes import ProcessRaisedException as ProcessRaisedException
from engine.multiprocessing.processes import spawn as spawn
from engine.multiprocessing.processes import start_processes as start_processes
from engine.multiprocessing.tensor_sharing import get_all_sharing_strategies as get_all_sharing_strategies
from engine.multiprocessing.tensor_sharing import get_sharing_strategy as get_sharing_strategy
from engine.multiprocessing.tensor_sharing import set_sharing_strategy as set_sharing_strategy

tensor_sharing.install()

__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]
__all__ += multiprocessing.__all__  # pyright: ignore[reportAttributeAccessIssue, reportUnsupportedDunderAll]
