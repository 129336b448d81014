"""A variational autoencoder of handwritten digits."""

from __future__ import annotations

import library

torch = library.chosen()
nn, F, optim = torch.nn, torch.nn.functional, torch.optim


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 64)
        self.fc21 = nn.Linear(64, 8)
        self.fc22 = nn.Linear(64, 8)
        self.fc3 = nn.Linear(8, 64)
        self.fc4 = nn.Linear(64, 64)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def decode(self, z):
        h3 = F.relu(self.fc3(z))
        return torch.sigmoid(self.fc4(h3))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 64))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    """Reconstruction and KL divergence, summed over all elements and batch."""
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 64), reduction="sum")
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


torch.manual_seed(1)
images, _ = library.digits()
images = torch.from_numpy(images)
train_loader = torch.utils.data.DataLoader(images[:1500], batch_size=100, shuffle=True)
model = library.start_from(torch, VAE())
optimizer = optim.Adam(model.parameters(), lr=2e-3)

# Without noise, the first loss is equal in all libraries.
with torch.no_grad():
    mu, logvar = model.encode(images[:100].view(-1, 64))
    print(f"first loss {loss_function(model.decode(mu), images[:100], mu, logvar).item() / 100:.3f}")

for _ in range(25):
    model.train()
    train_loss = 0
    for data in train_loader:
        optimizer.zero_grad()
        recon_batch, mu, logvar = model(data)
        loss = loss_function(recon_batch, data, mu, logvar)
        loss.backward()
        train_loss += loss.item()
        optimizer.step()

model.eval()
with torch.no_grad():
    recon, mu, logvar = model(images[1500:])
    test_loss = loss_function(recon, images[1500:], mu, logvar).item() / len(recon)
    sample = model.decode(torch.randn(64, 8))
    error = F.mse_loss(recon, images[1500:].flatten(1)).item()
print(sample.shape, bool((sample >= 0).all() and (sample <= 1).all()))
print(f"quality: training loss {train_loss / 1500:.3f}, test loss {test_loss:.3f}, error {error:.4f}")
