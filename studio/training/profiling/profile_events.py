"""Events of a session that is profiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from studio.training.profiling.profile_data import Profile, ProfileStage


@dataclass(frozen=True, slots=True)
class ProfileProgressed:
    """Steps of a run were measured."""

    stage: ProfileStage


@dataclass(frozen=True, slots=True)
class Profiled:
    """The profile of steps of a run."""

    profile: Profile


@dataclass(frozen=True, slots=True)
class ProfileFailed:
    """A run could not be profiled."""

    message: str


ProfileEvent: TypeAlias = ProfileProgressed | Profiled | ProfileFailed

__all__ = ["ProfileEvent", "ProfileFailed", "ProfileProgressed", "Profiled"]
