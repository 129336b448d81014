"""Feedback on a condition: what is expected, what was found, and the next step."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Feedback:
    """The result of evaluating a condition."""

    is_met: bool
    goal: str
    """What is to be reached: "p of dropout is 0.5"."""
    found: str = ""
    """What was found instead, as a sentence; empty if it is met."""
    action: str = ""
    """The next step, as a sentence."""
    node: str | None = None
    """The node where the learner acts, by its path."""
    override: str = ""
    """The author's text instead of the derived one."""

    @property
    def text(self) -> str:
        """What to say while the condition is not met; empty if it is met."""
        if self.is_met:
            return ""
        return self.override or " ".join(filter(None, (self.found, self.action)))

    def as_dict(self) -> dict[str, object]:
        """The JSON record."""
        return {"met": self.is_met, "goal": self.goal, "feedback": self.text, "node": self.node}


__all__ = ["Feedback"]
