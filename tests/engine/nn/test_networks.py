"""Networks as PyTorch's tutorials write them, by the same lines in both libraries: results, gradients, buffers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine

torch: Any = pytest.importorskip("torch")


def residual(library: Any) -> Any:
    nn, relu = library.nn, library.nn.functional.relu

    class Block(nn.Module):
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(outputs)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(outputs)
            self.shortcut = nn.Sequential()
            if stride > 1:
                self.shortcut = nn.Sequential(
                    nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
                )

        def forward(self, x: Any) -> Any:
            return relu(self.bn2(self.conv2(relu(self.bn1(self.conv1(x))))) + self.shortcut(x))

    return nn.Sequential(
        nn.Conv2d(3, 8, 7, 2, 3), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1),
        Block(8, 8, 1), Block(8, 16, 2), nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(), nn.Linear(16, 5),
    )  # fmt: skip


def unet(library: Any) -> Any:
    nn = library.nn

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down1 = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.SiLU())
            self.down2 = nn.Sequential(
                nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1, padding_mode="reflect"),
                nn.InstanceNorm2d(16, affine=True), nn.LeakyReLU(0.2),
            )  # fmt: skip
            self.up1 = nn.ConvTranspose2d(16, 8, 2, 2)
            self.up2 = nn.Sequential(
                nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), nn.Conv2d(16, 8, 1)
            )
            self.last = nn.Sequential(nn.Conv2d(24, 4, 1), nn.PixelShuffle(2))

        def forward(self, x: Any) -> Any:
            first = self.down1(x)
            second = self.down2(first)
            return self.last(library.cat([first, self.up1(second), self.up2(second)], 1))

    return UNet()


def generator(library: Any) -> Any:
    nn = library.nn
    return nn.Sequential(
        nn.ConvTranspose2d(16, 12, 4, 1, 0, bias=False), nn.BatchNorm2d(12), nn.ReLU(True),
        nn.ConvTranspose2d(12, 8, 4, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU(True),
        nn.ConvTranspose2d(8, 3, 4, 2, 1), nn.Tanh(),
    )  # fmt: skip


def spatial_transformer(library: Any) -> Any:
    nn, F = library.nn, library.nn.functional

    class Transformer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.localization = nn.Sequential(
                nn.Conv2d(1, 8, 7), nn.MaxPool2d(2, stride=2), nn.ReLU(True),
                nn.Conv2d(8, 10, 5), nn.MaxPool2d(2, stride=2), nn.ReLU(True),
            )  # fmt: skip
            self.fc_loc = nn.Sequential(nn.Linear(10 * 3 * 3, 32), nn.ReLU(True), nn.Linear(32, 3 * 2))

        def forward(self, x: Any) -> Any:
            theta = self.fc_loc(self.localization(x).view(-1, 10 * 3 * 3)).view(-1, 2, 3)
            grid = F.affine_grid(theta, x.size(), align_corners=False)
            return F.grid_sample(x, grid, align_corners=False)

    return Transformer()


def mobile(library: Any) -> Any:
    nn = library.nn
    return nn.Sequential(
        nn.Conv2d(3, 12, 3, 2, 1), nn.BatchNorm2d(12), nn.ReLU6(),
        nn.Conv2d(12, 12, 3, 1, 1, groups=12, bias=False), nn.BatchNorm2d(12), nn.ReLU6(),
        nn.Conv2d(12, 24, 1), nn.Conv2d(24, 24, 5, 2, 2, groups=24), nn.ChannelShuffle(4),
    )  # fmt: skip


def sequence(library: Any) -> Any:
    nn = library.nn
    return nn.Sequential(
        nn.Conv1d(4, 8, 5, padding="same", dilation=2), nn.ReLU(), nn.AvgPool1d(2), nn.ConvTranspose1d(8, 4, 3, 2, 1, 1)
    )


def volume(library: Any) -> Any:
    nn = library.nn
    return nn.Sequential(
        nn.Conv3d(2, 4, 3, padding=1), nn.BatchNorm3d(4), nn.MaxPool3d(2), nn.AdaptiveAvgPool3d(1), nn.Flatten()
    )


@pytest.mark.parametrize(
    ("build", "shape"),
    [
        (residual, (4, 3, 32, 32)),
        (unet, (2, 3, 16, 16)),
        (generator, (4, 16, 1, 1)),
        (spatial_transformer, (4, 1, 28, 28)),
        (mobile, (2, 3, 32, 32)),
        (sequence, (2, 4, 20)),
        (volume, (2, 2, 6, 8, 8)),
    ],
)
def test_networks_match_pytorch(build: Callable[[Any], Any], shape: tuple[int, ...]) -> None:
    ours, theirs = build(engine).double(), build(torch).double()
    ours.load_state_dict({name: engine.tensor(tensor.numpy()) for name, tensor in theirs.state_dict().items()})
    numbers = np.random.default_rng(0).standard_normal(shape)
    x, y = engine.tensor(numbers, requires_grad=True), torch.tensor(numbers, requires_grad=True)
    for _ in range(2):
        actual, expected = ours(x), theirs(y)
        (actual**2).mean().backward()
        (expected**2).mean().backward()
        close(actual, expected)
    close(x.grad, y.grad)
    others = dict(theirs.named_parameters())
    for name, parameter in ours.named_parameters():
        close(parameter.grad, others[name].grad)
    for name, tensor in theirs.state_dict().items():
        close(ours.state_dict()[name], tensor)
    close(ours.eval()(x), theirs.eval()(y))


def close(ours: Any, theirs: Any) -> None:
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore:input's size at dim=1 does not match")  # PyTorch's, before it refuses
def test_norms_without_parameters_take_any_number_of_channels() -> None:
    values = np.random.default_rng(0).standard_normal((2, 3, 4, 4))

    def facts(lib: Any) -> list[Any]:
        x = lib.from_numpy(values)
        with pytest.warns(UserWarning, match="channels|num_features"):
            result = [lib.nn.InstanceNorm2d(6)(x), lib.nn.InstanceNorm2d(6)(x[0])]
        for options in ({"affine": True}, {"track_running_stats": True}):
            with pytest.raises((ValueError, RuntimeError)):
                lib.nn.InstanceNorm2d(6, **options, dtype=lib.float64)(x)
        return [one.numpy() for one in result]

    for ours, theirs in zip(facts(engine), facts(torch), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
