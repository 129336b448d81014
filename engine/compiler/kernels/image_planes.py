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
        image_channel = x + (image + channel) * height * width
        for phase in range(down * across):
            above, before = phase // across, phase % across
            plane = planes + (channel * down * across + phase) * length
            lines = (height - above + down - 1) // down
            size = (width - before + across - 1) // across
            for i in range(margin):
                plane[i] = 0.0
            at = margin
            for line in range(start + low, end + high):
                filled = 0
                if 0 <= line < lines:
                    filled = size
                    source = (line * down + above) * width + before
                    if across == 1:
                        copy_padded(plane, at, image_channel, source, size)
                    elif across == 2:  # a constant step can be vectorized
                        for i in range(size):
                            plane[at + i] = image_channel[source + 2 * i]
                    else:
                        for i in range(size):
                            plane[at + i] = image_channel[source + i * across]
                for i in range(filled, pitch):
                    plane[at + i] = 0.0
                at += pitch
            for i in range(at, length):
                plane[i] = 0.0
