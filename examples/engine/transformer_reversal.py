"""A small transformer with causal attention learns to reverse a sequence of digits."""

from __future__ import annotations

import math

import library
import numpy as np

torch = library.chosen()
nn, F = torch.nn, torch.nn.functional

LENGTH, START, VOCABULARY = 6, 10, 11  # ten digits, and a separator before the answer


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.0, max_len=64):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(1, max_len, d_model)
        pe[0, :, 0::2] = torch.sin(position * div_term)
        pe[0, :, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return self.dropout(x + self.pe[:, : x.size(1)])


class CausalSelfAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.qkv, self.project, self.heads = nn.Linear(width, 3 * width), nn.Linear(width, width), heads

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (part.view(B, T, self.heads, C // self.heads).transpose(1, 2) for part in self.qkv(x).split(C, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.project(y.transpose(1, 2).contiguous().view(B, T, C))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = CausalSelfAttention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class Transformer(nn.Module):
    def __init__(self, width=48, heads=4, layers=2):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, width), PositionalEncoding(width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, VOCABULARY, bias=False)

    def forward(self, x):
        x = self.positions(self.tokens(x))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def batch(draw, count):
    digits = draw.integers(0, 10, (count, LENGTH))
    rows = np.concatenate([digits, np.full((count, 1), START), digits[:, ::-1]], axis=1)
    return torch.from_numpy(rows[:, :-1].copy()), torch.from_numpy(rows[:, 1:].copy())


torch.manual_seed(0)
draw = np.random.default_rng(0)
model = Transformer()
library.start_from(torch, model)
for module in model.modules():
    if isinstance(module, nn.LayerNorm):
        module.reset_parameters()
x, y = batch(draw, 8)
logits = model(x)
print(logits.shape, f"first loss {F.cross_entropy(logits.view(-1, VOCABULARY), y.view(-1)).item():.4f}")

# The library's layers equal those above with the same weights.
attention, mine = nn.MultiheadAttention(48, 4, batch_first=True), model.blocks[0].attention
with torch.no_grad():
    attention.in_proj_weight.copy_(mine.qkv.weight)
    attention.in_proj_bias.copy_(mine.qkv.bias)
    attention.out_proj.load_state_dict(mine.project.state_dict())
z = model.tokens(x)
mask = nn.Transformer.generate_square_subsequent_mask(z.size(1))
theirs, weights = attention(z, z, z, attn_mask=mask, need_weights=True)
print("same attention", torch.allclose(theirs, mine(z), atol=1e-5), weights.shape, mask[0, :3])
encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(48, 4, 64, dropout=0.0, batch_first=True), num_layers=2)
print(encoder(z, mask=mask, is_causal=True).shape, len(encoder.layers))

optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.98))
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=4e-3, total_steps=250)
for _ in range(250):
    x, y = batch(draw, 64)
    y[:, :LENGTH] = -100  # the loss covers only the answer
    loss = F.cross_entropy(model(x).view(-1, VOCABULARY), y.view(-1), ignore_index=-100)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()

model.eval()
x, y = batch(draw, 200)
with torch.inference_mode():
    written = x[:, : LENGTH + 1]
    for _ in range(LENGTH):
        following = model(written)[:, -1].argmax(-1, keepdim=True)
        written = torch.cat((written, following), dim=1)
accuracy = (written[:, LENGTH + 1 :] == y[:, LENGTH:]).float().mean().item()
print(f"quality: loss {loss.item():.3f}, accuracy {accuracy:.3f}")
