"""Identity matrices for given matrices."""

from __future__ import annotations

from typing import Any

import numpy as np


def identity_like(x: Any, columns: Any = None) -> Any:
    """The identity for the rows of the matrices `x`, in their dtype and on their device; or some of its columns."""
    n = x.shape[-2]
    columns = n if columns is None else columns
    return x.new_empty(n, columns) if x.is_meta else x.new_tensor(np.eye(n, columns))
