"""A character-level language model: an LSTM memorizes a rhyme and generates it."""

from __future__ import annotations

import library

torch = library.chosen()
nn, F = torch.nn, torch.nn.functional

TEXT = (
    "the wheels on the bus go round and round, round and round, round and round. "
    "the wipers on the bus go swish swish swish, swish swish swish, swish swish swish. "
    "the horn on the bus goes beep beep beep, beep beep beep, beep beep beep. "
)
chars = sorted(set(TEXT))
stoi = {char: i for i, char in enumerate(chars)}
encoded = torch.tensor([stoi[char] for char in TEXT], dtype=torch.long)


class CharLSTM(nn.Module):
    def __init__(self, vocabulary, embedding=16, hidden=48, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, embedding)
        self.lstm = nn.LSTM(embedding, hidden, num_layers=layers, batch_first=True)
        self.head = nn.Linear(hidden, vocabulary)

    def forward(self, x, state=None):
        output, state = self.lstm(self.embedding(x), state)
        return self.head(output), state


def windows(length):
    """Return all windows of the text, and the same windows one character later."""
    starts = range(0, len(encoded) - length - 1, 3)
    x = torch.stack([encoded[i : i + length] for i in starts])
    y = torch.stack([encoded[i + 1 : i + length + 1] for i in starts])
    return x, y


@torch.no_grad()
def generate(model, start, count):
    model.eval()
    out, state = list(start), None
    x = torch.tensor([[stoi[char] for char in start]])
    for _ in range(count):
        logits, state = model(x, state)
        probabilities = F.softmax(logits[0, -1], dim=-1)
        following = int(torch.argmax(probabilities))
        out.append(chars[following])
        x = torch.tensor([[following]])
    return "".join(out)


model = library.start_from(torch, CharLSTM(len(chars)))
print(model)
print({name: tuple(value.shape) for name, value in model.state_dict().items()})
x, y = windows(24)
print(x.shape, y.dtype, f"first loss {F.cross_entropy(model(x)[0].flatten(0, 1), y.flatten()).item():.4f}")

# One long sequence and two halves with the state passed on give the same result.
full_output, _ = model(x[:4])
first, state = model(x[:4, :10])
second, (h, c) = model(x[:4, 10:], state)
print("state carries over", torch.allclose(full_output, torch.cat([first, second], dim=1), atol=1e-6), h.shape, c.shape)

optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for epoch in range(61):
    model.train()
    logits, _ = model(x)
    loss = F.cross_entropy(logits.transpose(1, 2), y)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if epoch < 3:
        print(f"step {epoch}, loss {loss.item():.3f}")

print(generate(model, "the wheels on", 40))
accuracy = (model(x)[0].argmax(-1) == y).float().mean().item()
print(f"quality: loss {loss.item():.3f}, accuracy {accuracy:.3f}")

# Sequences of different lengths in one batch.
lines = [encoded[:n] for n in (9, 5, 7)]
padded = nn.utils.rnn.pad_sequence(lines, batch_first=True)
packed = nn.utils.rnn.pack_padded_sequence(
    model.embedding(padded), torch.tensor([9, 5, 7]), batch_first=True, enforce_sorted=False
)
output, (h, _) = model.lstm(packed)
unpacked, lengths = nn.utils.rnn.pad_packed_sequence(output, batch_first=True)
alone, _ = model.lstm(model.embedding(lines[1]).unsqueeze(0))
print(unpacked.shape, lengths, torch.allclose(unpacked[1, :5], alone[0], atol=1e-5), h.shape)
