"""The check whether a network can learn at all."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtWidgets import QWidget

from engine import fit
from studio.training.learning_checks import LEARNS_BELOW, OVERFIT_STEPS, overfit_batch
from studio.ui.project.project_store import ProjectStore
from studio.ui.trials.trial_dialog import TrialDialog
from studio.ui.trials.trial_plot import TrialPlot

_ABOUT = (
    "One batch is trained again and again, on a copy of the network. A network that is wired up as it is meant learns "
    "it by heart: its loss gets close to nothing."
)


class OverfitDialog(TrialDialog):
    def __init__(self, store: ProjectStore, parent: QWidget) -> None:
        plot = TrialPlot("Steps with the one batch", 0, OVERFIT_STEPS)
        items = overfit_batch(store.document, store.catalogue, base=store.base, name=store.name)
        self._trained: list[fit.BatchTrained] = []
        super().__init__(store, items, plot, "Overfit one batch", _ABOUT, OVERFIT_STEPS, parent)

    def take(self, item: object) -> None:
        if isinstance(item, fit.BatchTrained):
            self._trained.append(item)
            self.progress.setValue(item.step)
            self.verdict.setText(f"Step {item.step}, loss {item.loss:.3g}")
            self.plot.show_values([float(t.step) for t in self._trained], [t.loss for t in self._trained])

    def conclude(self) -> None:
        if not self._trained:
            return
        last = self._trained[-1]
        if last.share < LEARNS_BELOW:
            self.say(f"It learns: after {last.step} steps the loss is {last.share:.1%} of what it was.", "ok", "ok")
            return
        share = f"{last.share:.0%}" if last.share == last.share else "not a number instead"
        message = f"After {last.step} steps with one batch the loss is still {share} of what it was. What to look at:"
        self.say("\n".join([message, *(f"• {hint}" for hint in self._hints())]), "warning", "warning")
        self.offer("Find a learning rate", self._search_instead)

    def _hints(self) -> Iterator[str]:
        document, report = self.document, self.store.report
        if report.problems:
            yield f"Problems: {report.problems[0].message}"
        if len(report.trained) > 1:
            yield "Losses that work against each other, as in a GAN, do not get close to nothing together."
        frozen = [name for name, node in document.nodes.items() if node.frozen]
        if frozen:
            yield f"Frozen layers do not learn: {', '.join(frozen[:5])}."
        rates = {name: info.arguments["lr"] for name, info in report.nodes.items() if "lr" in info.arguments}
        if rates:
            told = ", ".join(f"{rate:g} of {name}" for name, rate in rates.items() if isinstance(rate, float))
            yield f"The learning rate may be far too low or too high: {told}."
        dropping = [name for name, node in document.nodes.items() if "Dropout" in node.type and not node.muted]
        if dropping:
            yield f"Much dropout keeps it from learning by heart: mute {', '.join(dropping[:5])} and try again."
        yield "The loss has to fit the targets, and every layer has to lie on the way to the loss."

    def _search_instead(self) -> None:
        self.other_wanted.emit("run.find-rate")
        self.close()
