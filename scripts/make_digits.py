"""Create `assets/data/digits/` from scikit-learn's copy of the UCI digits.

    python scripts/make_digits.py SITE_PACKAGES/sklearn/datasets/data/digits.csv.gz

The output is MNIST's IDX format, gzipped without a time stamp, so that the same input gives the same bytes.
"""

from __future__ import annotations

import gzip
import struct
import sys
from pathlib import Path

import numpy as np

TARGET = Path(__file__).resolve().parent.parent / "assets" / "data" / "digits"
UBYTE = 0x08


def main(source: Path) -> None:
    """Read rows of 64 pixels from 0 to 16 and a digit."""
    table = np.loadtxt(source, delimiter=",")
    rows = table.astype(np.uint8)
    pixels, labels = rows[:, :64], rows[:, 64]
    if table.shape != (1797, 65) or (rows != table).any() or pixels.max() > 16 or labels.max() > 9:
        sys.exit(f"{source} is not the UCI digits: expected 1797 rows of 64 pixels up to 16 and a label up to 9")
    TARGET.mkdir(parents=True, exist_ok=True)
    (TARGET / "images-idx3-ubyte.gz").write_bytes(idx(pixels.reshape(-1, 8, 8)))
    (TARGET / "labels-idx1-ubyte.gz").write_bytes(idx(labels))
    print(f"{TARGET}: {len(labels)} digits, by class {np.bincount(labels).tolist()}")


def idx(array: np.ndarray) -> bytes:
    """Encode an array of bytes as a gzipped IDX file: magic, sizes as big-endian uint32, then values."""
    header = struct.pack(f">4B{array.ndim}I", 0, 0, UBYTE, array.ndim, *array.shape)
    return gzip.compress(header + array.tobytes(), compresslevel=9, mtime=0)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
