"""Copies images to padded planes that tiles read. Imports numba."""

from __future__ import annotations

from typing import Any

from numba import njit

from engine.compiler.kernels.register_tiles import copy_padded

compiled: Any = njit(nogil=True, error_model="numpy")


@compiled
def copy_planes(settings, x, image, planes, start, end):
    """Copies the lines that outputs from `start` to `end` read, of all channels, with zeros between and around them.

    Channels follow each other. With strides `down` and `across`, each channel becomes a plane per phase. `settings` are
    those of `PlaneLayout.settings`.
    """
    inner, height, width = settings[1], settings[3], settings[4]
    down, across, pitch, length, low = settings[5], settings[6], settings[7], settings[8], settings[9]
    high, margin = settings[10], settings[11]
    for channel in range(inner):
        whole = x + (image + channel) * height * width
        for phase in range(down * across):
            above, before = phase // across, phase % across
            here = planes + (channel * down * across + phase) * length
            lines = (height - above + down - 1) // down
            size = (width - before + across - 1) // across
            for i in range(margin):
                here[i] = 0.0
            at = margin
            for line in range(start + low, end + high):
                filled = 0
                if 0 <= line < lines:
                    filled = size
                    source = (line * down + above) * width + before
                    if across == 1:
                        copy_padded(here, at, whole, source, size)
                    elif across == 2:  # a constant step can be vectorized
                        for i in range(size):
                            here[at + i] = whole[source + 2 * i]
                    else:
                        for i in range(size):
                            here[at + i] = whole[source + i * across]
                for i in range(filled, pitch):
                    here[at + i] = 0.0
                at += pitch
            for i in range(at, length):
                here[i] = 0.0
