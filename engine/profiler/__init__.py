"""torch.profiler: times of ops and of named ranges."""

from engine.profiler.averages import EventList as EventList
from engine.profiler.profile import ProfilerAction as ProfilerAction
from engine.profiler.profile import ProfilerActivity as ProfilerActivity
from engine.profiler.profile import kineto_available as kineto_available
from engine.profiler.profile import profile as profile
from engine.profiler.profile import schedule as schedule
from engine.profiler.profile import supported_activities as supported_activities
from engine.profiler.profile import tensorboard_trace_handler as tensorboard_trace_handler
from engine.profiler.recorder import record_function as record_function

__all__ = [
    "EventList",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]
