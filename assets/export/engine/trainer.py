"""The training loop of a package for the engine."""

import argparse
import json
from pathlib import Path

import engine
from engine import fit
from engine.io import load_file, save_file

HERE = Path(__file__).resolve().parent
CHECKPOINTS = HERE / "checkpoints"


def train(task, epochs, steps):
    """Train, print each epoch, and save the best and the last weights."""
    history = []
    CHECKPOINTS.mkdir(exist_ok=True)
    if HAS_EARLY_STOPPING:
        stopping = fit.EarlyStopping(PATIENCE, MIN_CHANGE)
    else:
        stopping = None
    events = fit.fit(
        task,
        epochs=epochs,
        steps=steps,
        validate_epochs=VALIDATE_EPOCHS,
        validate_steps=VALIDATE_STEPS,
        follow=FOLLOW,
        early_stopping=stopping,
        compile=COMPILE,
    )
    for event in events:
        if isinstance(event, (fit.Epoch, fit.Validated)) and event.best:
            save_file(task.model.state_dict(), CHECKPOINTS / "best.safetensors")
        if isinstance(event, fit.Epoch):
            record = record_of(event)
            history.append(record)
            print(", ".join(f"{name} {value:.4g}" for name, value in record.items()))
    save_file(task.model.state_dict(), CHECKPOINTS / "last.safetensors")
    text = json.dumps(history, indent=1)
    (CHECKPOINTS / "history.json").write_text(text, encoding="utf-8")
    return history


def record_of(event):
    """Losses and metrics of an epoch by name."""
    record = {"epoch": event.epoch, "train_loss": event.train_loss}
    record |= {f"train_{name}": value for name, value in event.train_metrics.items()}
    if event.val_loss is not None:
        record["val_loss"] = event.val_loss
    return record | {f"val_{name}": value for name, value in event.val_metrics.items()}


def default_device():
    """CUDA if it is available, otherwise the CPU."""
    return "cuda" if engine.cuda.is_available() else "cpu"


def main():
    """Train with the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="number of epochs")
    parser.add_argument("--steps", type=int, default=STEPS, help="most batches")
    parser.add_argument("--device", default=default_device(), help="cpu or cuda")
    parser.add_argument("--seed", type=int, default=SEED, help="random seed")
    parser.add_argument("--weights", default=HERE / "weights.safetensors")
    options = parser.parse_args()
    task = Task(device=options.device, seed=options.seed)
    task.setup()
    task.model.load_state_dict(load_file(options.weights))
    train(task, options.epochs, options.steps)


if __name__ == "__main__":
    main()
