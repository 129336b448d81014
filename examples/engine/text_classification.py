"""Text classification with an embedding bag: is the sentence about the sea, the kitchen, or the sky?"""

from __future__ import annotations

import library

torch = library.chosen()
nn = torch.nn

SENTENCES = [
    (0, "the waves rolled over the old ship"), (0, "a sailor pulled the net from the deep water"),
    (0, "fish and whales swim below the boat"), (0, "the captain saw an island beyond the waves"),
    (0, "salt water filled the harbour at high tide"), (0, "the tide carried the little boat away"),
    (1, "she stirred the soup in a large pot"), (1, "bread and butter lay on the table"),
    (1, "he chopped onions with a sharp knife"), (1, "the oven was hot and the cake was done"),
    (1, "a pinch of salt makes the soup better"), (1, "the cook tasted the sauce with a spoon"),
    (2, "clouds drifted under the pale moon"), (2, "the pilot flew above the clouds at dawn"),
    (2, "stars and planets shone all night"), (2, "an eagle circled high in the wind"),
    (2, "the sun set behind gray clouds"), (2, "a kite rose in the strong wind"),
]  # fmt: skip
HELD_OUT = [
    (0, "the ship sailed on the tide"),
    (1, "the cook made soup and bread"),
    (2, "the eagle flew to the moon and stars"),
]
words = sorted({word for _, text in SENTENCES for word in text.split()})
vocabulary = {word: i + 1 for i, word in enumerate(words)}  # 0 is for unknown words


def pipeline(text):
    return [vocabulary.get(word, 0) for word in text.split()]


def collate_batch(batch):
    label_list, text_list, offsets = [], [], [0]
    for label, text in batch:
        label_list.append(label)
        processed_text = torch.tensor(pipeline(text), dtype=torch.int64)
        text_list.append(processed_text)
        offsets.append(processed_text.size(0))
    return torch.tensor(label_list), torch.cat(text_list), torch.tensor(offsets[:-1]).cumsum(dim=0)


class TextClassificationModel(nn.Module):
    def __init__(self, vocab_size, embed_dim, num_class):
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocab_size, embed_dim, mode="mean", sparse=False)
        self.fc = nn.Linear(embed_dim, num_class)

    def forward(self, text, offsets):
        return self.fc(self.embedding(text, offsets))


model = library.start_from(torch, TextClassificationModel(len(vocabulary) + 1, 12, 3))
print(model)
dataloader = torch.utils.data.DataLoader(SENTENCES, batch_size=6, shuffle=False, collate_fn=collate_batch)
criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
optimizer = torch.optim.SGD(model.parameters(), lr=2.0)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.98)

for epoch in range(40):
    total_acc, total_loss = 0, 0.0
    for label, text, offsets in dataloader:
        optimizer.zero_grad()
        predicted_label = model(text, offsets)
        loss = criterion(predicted_label, label)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        total_acc += (predicted_label.argmax(1) == label).sum().item()
        total_loss += loss.item()
    scheduler.step()
    if epoch % 8 == 0:
        print(f"epoch {epoch:3d}  loss {total_loss / len(dataloader):.3f}  accuracy {total_acc / len(SENTENCES):.2f}")

label, text, offsets = collate_batch(HELD_OUT)
model.eval()
with torch.no_grad():
    probabilities = torch.softmax(model(text, offsets), dim=1)
print(probabilities)
print(probabilities.argmax(1).tolist(), label.tolist())

# Embeddings of related words are close.
weights = model.embedding.weight.detach()
closeness = nn.functional.cosine_similarity(weights[vocabulary["waves"]], weights[vocabulary["boat"]], dim=0)
distance = nn.functional.pairwise_distance(weights[vocabulary["waves"]], weights[vocabulary["soup"]])
print(f"waves and boat {closeness.item():.3f}, waves and soup {distance.item():.3f} apart")
