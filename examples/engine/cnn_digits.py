"""A convolutional network with batch norm, with equal weights and sample order in both libraries."""

from __future__ import annotations

import library

torch = library.chosen()
nn, F = torch.nn, torch.nn.functional


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, kernel_size=3, stride=1, padding="same")
        self.bn2 = nn.BatchNorm2d(16)
        self.pool = nn.MaxPool2d(2, 2)
        self.fc1 = nn.Linear(16 * 2 * 2, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.bn1(self.conv1(x))))
        x = self.pool(F.relu(self.bn2(self.conv2(x))))
        x = torch.flatten(x, 1)
        x = F.leaky_relu(self.fc1(x), 0.1)
        return F.log_softmax(self.fc2(x), dim=1)


images, labels = library.digits()
images, labels = torch.from_numpy(images), torch.from_numpy(labels)
trainset = torch.utils.data.TensorDataset(images[:1536], labels[:1536])
testset = torch.utils.data.TensorDataset(images[1536:], labels[1536:])
trainloader = torch.utils.data.DataLoader(trainset, batch_size=64, shuffle=False, num_workers=0)
testloader = torch.utils.data.DataLoader(testset, batch_size=100)

net = library.start_from(torch, Net())
print(net)
print(sum(p.numel() for p in net.parameters() if p.requires_grad), "parameters")
print({name: tuple(parameter.shape) for name, parameter in net.named_parameters()})
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)

for epoch in range(4):
    net.train()
    running_loss = 0.0
    for inputs, targets in trainloader:
        optimizer.zero_grad(set_to_none=True)
        loss = F.nll_loss(net(inputs), targets)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), max_norm=5.0)
        optimizer.step()
        running_loss += loss.item() * inputs.size(0)
    scheduler.step()
    print(f"epoch {epoch + 1}, loss {running_loss / len(trainset):.3f}, lr {scheduler.get_last_lr()[0]:g}")

net.eval()
correct = total = 0
matrix = torch.zeros(10, 10, dtype=torch.int64)
with torch.no_grad():
    for inputs, targets in testloader:
        _, predicted = torch.max(net(inputs), 1)
        total += targets.size(0)
        correct += (predicted == targets).sum().item()
        matrix.index_put_((targets, predicted), torch.ones(len(targets), dtype=torch.int64), accumulate=True)
print(f"accuracy {correct / total:.2f}, {int(matrix.diagonal().sum())} on the diagonal of {int(matrix.sum())}")
print(net.bn1.num_batches_tracked, net.bn1.running_mean.shape)
print(sorted(net.state_dict()))
