"""The overfit-one-batch check: can the network learn at all?"""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtWidgets import QWidget

from engine import fit
from studio.training.learning_checks import LEARNS_BELOW, OVERFIT_STEPS, overfit_batch
from studio.ui.project.project_store import ProjectStore
from studio.ui.trials.trial_dialog import TrialDialog
from studio.ui.trials.trial_plot import TrialPlot

_ABOUT = (
    "Trains a copy of the network repeatedly on one batch. A correctly wired network memorizes it: the loss "
    "approaches zero."
)


class OverfitDialog(TrialDialog):
    def __init__(self, store: ProjectStore, parent: QWidget) -> None:
        self.plot = TrialPlot("Training steps on one batch", 0, OVERFIT_STEPS)
        items = overfit_batch(store.request_report(), name=store.name)
        self._trained: list[fit.OverfitStep] = []
        super().__init__(store, items, self.plot, "Overfit one batch", _ABOUT, OVERFIT_STEPS, parent)

    def show_item(self, item: object) -> None:
        if isinstance(item, fit.OverfitStep):
            self._trained.append(item)
            self.progress.setValue(item.step)
            self.verdict.setText(f"Step {item.step}, loss {item.loss:.3g}")
            self.plot.show_values([float(t.step) for t in self._trained], [t.loss for t in self._trained])

    def show_result(self) -> None:
        self.plot.fit()
        if not self._trained:
            return
        last = self._trained[-1]
        if last.share < LEARNS_BELOW:
            self.show_message(f"The network can learn: {last.share:.1%} of the initial loss at step {last.step}.", "ok")
            return
        loss = f"still {last.share:.0%} of its initial value" if last.share == last.share else "NaN"
        message = f"After {last.step} steps on one batch the loss is {loss}. Possible causes:"
        self.show_message("\n".join([message, *(f"• {hint}" for hint in self._hints())]), "warning")
        self.add_button("Find a learning rate", self._search_instead)

    def _hints(self) -> Iterator[str]:
        document, report = self.document, self.store.report
        if report.problems:
            yield f"Problems: {report.problems[0].message}"
        if len(report.trained) > 1:
            yield "Adversarial losses, as in a GAN, do not approach zero together."
        frozen = [name for name, node in document.nodes.items() if node.frozen]
        if frozen:
            yield f"Frozen layers are not trained: {', '.join(frozen[:5])}."
        rates = {name: info.arguments["lr"] for name, info in report.nodes.items() if "lr" in info.arguments}
        if rates:
            rates_text = ", ".join(f"{rate:g} ({name})" for name, rate in rates.items() if isinstance(rate, float))
            yield f"The learning rate may be too low or too high: {rates_text}."
        dropouts = [name for name, node in document.nodes.items() if "Dropout" in node.type and not node.muted]
        if dropouts:
            yield f"Dropout prevents memorizing. Mute {', '.join(dropouts[:5])} and try again."
        yield "Check that the loss matches the targets and that every layer is connected to the loss."

    def _search_instead(self) -> None:
        self.other_trial_requested.emit("run.find-rate")
        self.close()
