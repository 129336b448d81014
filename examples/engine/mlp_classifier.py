"""Quickstart with handwritten digits: data set, loaders, model, training loop, saving and loading."""

from __future__ import annotations

import tempfile
from pathlib import Path

import library

torch = library.chosen()
nn, DataLoader, Dataset = torch.nn, torch.utils.data.DataLoader, torch.utils.data.Dataset
device = "cuda" if torch.cuda.is_available() else "cpu"


class Digits(Dataset):
    def __init__(self, images, labels, transform=None):
        self.images, self.labels, self.transform = images, labels, transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        image = torch.from_numpy(self.images[index])
        return self.transform(image) if self.transform else image, int(self.labels[index])


class NeuralNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.linear_relu_stack = nn.Sequential(
            nn.Linear(8 * 8, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)
        )

    def forward(self, x):
        return self.linear_relu_stack(self.flatten(x))


def train(dataloader, model, loss_fn, optimizer):
    model.train()
    for batch, (X, y) in enumerate(dataloader):
        X, y = X.to(device), y.to(device)
        loss = loss_fn(model(X), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if batch % 20 == 0:
            print(f"loss: {loss.item():>7f}  [{(batch + 1) * len(X):>5d}/{len(dataloader.dataset):>5d}]")


def test(dataloader, model, loss_fn):
    model.eval()
    test_loss, correct = 0, 0
    with torch.no_grad():
        for X, y in dataloader:
            X, y = X.to(device), y.to(device)
            pred = model(X)
            test_loss += loss_fn(pred, y).item()
            correct += (pred.argmax(1) == y).type(torch.float).sum().item()
    test_loss /= len(dataloader)
    correct /= len(dataloader.dataset)
    print(f"Test Error: \n Accuracy: {100 * correct:>0.1f}%, Avg loss: {test_loss:>8f} \n")
    return correct


torch.manual_seed(0)
images, labels = library.digits()
dataset = Digits(images, labels, transform=lambda image: image * 2 - 1)
training_data, test_data = torch.utils.data.random_split(dataset, [1500, len(dataset) - 1500])
train_dataloader = DataLoader(training_data, batch_size=64, shuffle=True)
test_dataloader = DataLoader(test_data, batch_size=64)
for X, y in test_dataloader:
    print(f"Shape of X [N, C, H, W]: {X.shape}")
    print(f"Shape of y: {y.shape} {y.dtype}")
    break

model = NeuralNetwork().to(device)
print(model)
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(10):
    print(f"Epoch {epoch + 1}\n-------------------------------")
    train(train_dataloader, model, loss_fn, optimizer)
    accuracy = test(test_dataloader, model, loss_fn)

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.pth"
    torch.save(model.state_dict(), path)
    model = NeuralNetwork().to(device)
    print(model.load_state_dict(torch.load(path, weights_only=True)))
same = test(test_dataloader, model, loss_fn)
print(f"accuracy {same:.3f}, the same after loading: {same == accuracy}")
