"""Where NaN and infinity arise: a trace of the ops that produce them, and the first one that matters."""

from engine.nonfinite.finite_check import ValueRange as ValueRange
from engine.nonfinite.finite_check import value_range as value_range
from engine.nonfinite.nonfinite_origin import NonfiniteOrigin as NonfiniteOrigin
from engine.nonfinite.nonfinite_origin import find_nonfinite_origin as find_nonfinite_origin
from engine.nonfinite.nonfinite_trace import CallSite as CallSite
from engine.nonfinite.nonfinite_trace import NonfiniteTrace as NonfiniteTrace

__all__ = [
    "CallSite",
    "NonfiniteOrigin",
    "NonfiniteTrace",
    "ValueRange",
    "find_nonfinite_origin",
    "value_range",
]
