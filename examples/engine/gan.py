"""A generative adversarial network learns the shape of a ring of points."""

from __future__ import annotations

import math

import library

torch = library.chosen()
nn, optim = torch.nn, torch.optim
torch.manual_seed(999)


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Linear") != -1:
        nn.init.xavier_uniform_(m.weight, gain=nn.init.calculate_gain("leaky_relu", 0.2))
        nn.init.zeros_(m.bias)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(4, 32), nn.ReLU(True), nn.Linear(32, 32), nn.ReLU(True), nn.Linear(32, 2))

    def forward(self, input):
        return self.main(input)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(2, 32), nn.LeakyReLU(0.2, inplace=True), nn.Linear(32, 32), nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(32, 1), nn.Sigmoid(),
        )  # fmt: skip

    def forward(self, input):
        return self.main(input).view(-1)


def ring(count):
    angle = 2 * math.pi * torch.rand(count)
    return torch.stack((angle.cos(), angle.sin()), dim=1) + 0.02 * torch.randn(count, 2)


generator, discriminator = Generator(), Discriminator()
generator.apply(weights_init)
discriminator.apply(weights_init)
criterion = nn.BCELoss()
optimizer_d = optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.5, 0.999))
optimizer_g = optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
real_label, fake_label, batch = 1.0, 0.0, 128

for _ in range(600):
    # (1) The discriminator: maximize log(D(x)) + log(1 - D(G(z))).
    discriminator.zero_grad()
    label = torch.full((batch,), real_label, dtype=torch.float)
    error_real = criterion(discriminator(ring(batch)), label)
    error_real.backward()
    noise = torch.randn(batch, 4)
    fake = generator(noise)
    label.fill_(fake_label)
    error_fake = criterion(discriminator(fake.detach()), label)
    error_fake.backward()
    optimizer_d.step()

    # (2) The generator: maximize log(D(G(z))).
    generator.zero_grad()
    label.fill_(real_label)
    error_generator = criterion(discriminator(fake), label)
    error_generator.backward()
    optimizer_g.step()

with torch.no_grad():
    radius = generator(torch.randn(1000, 4)).norm(dim=1)
print(f"quality: radius {radius.mean().item():.3f}, spread {radius.std().item():.3f}")
