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


netG, netD = Generator(), Discriminator()
netG.apply(weights_init)
netD.apply(weights_init)
criterion = nn.BCELoss()
optimizerD = optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=1e-3, betas=(0.5, 0.999))
real_label, fake_label, batch = 1.0, 0.0, 128

for step in range(600):
    # (1) The discriminator: maximize log(D(x)) + log(1 - D(G(z))).
    netD.zero_grad()
    label = torch.full((batch,), real_label, dtype=torch.float)
    errD_real = criterion(netD(ring(batch)), label)
    errD_real.backward()
    noise = torch.randn(batch, 4)
    fake = netG(noise)
    label.fill_(fake_label)
    errD_fake = criterion(netD(fake.detach()), label)
    errD_fake.backward()
    optimizerD.step()

    # (2) The generator: maximize log(D(G(z))).
    netG.zero_grad()
    label.fill_(real_label)
    errG = criterion(netD(fake), label)
    errG.backward()
    optimizerG.step()

with torch.no_grad():
    radius = netG(torch.randn(1000, 4)).norm(dim=1)
print(f"quality: radius {radius.mean().item():.3f}, spread {radius.std().item():.3f}")
