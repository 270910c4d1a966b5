# SPDX-License-Identifier: GPL-3.0-or-later
"""Ten small modules, each with inputs, as people write them today."""

import torch
import torch.nn.functional as F
from torch import nn


class Convolutional(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(32)
        self.depthwise = nn.Conv2d(32, 32, 3, padding=1, groups=32)
        self.point = nn.Conv2d(32, 64, 1, bias=False)
        self.up = nn.ConvTranspose2d(64, 16, 2, stride=2)
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        x = F.relu(self.norm(self.stem(x)))
        x = self.up(F.silu(self.point(self.depthwise(x))))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(32, 48, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(96, 8)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


class Attention(nn.Module):
    """Queries in four heads, keys and values in one; causal."""

    def __init__(self):
        super().__init__()
        self.q = nn.Linear(64, 64)
        self.kv = nn.Linear(64, 32)
        self.o = nn.Linear(64, 64)

    def forward(self, x):
        batch, length, _ = x.shape
        q = self.q(x).view(batch, length, 4, 16).transpose(1, 2)
        k, v = self.kv(x).view(batch, length, 1, 32).transpose(1, 2).chunk(2, -1)
        y = F.scaled_dot_product_attention(q, k.expand_as(q), v.expand_as(q), is_causal=True)
        return self.o(y.transpose(1, 2).reshape(batch, length, 64))


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(32, 4, bias=False)
        self.up = nn.Parameter(torch.randn(4, 32, 64) * 0.1)
        self.down = nn.Parameter(torch.randn(4, 64, 32) * 0.1)

    def forward(self, x):
        odds = self.gate(x).softmax(-1)
        best, chosen = odds.topk(2)
        mask = torch.zeros_like(odds).scatter(1, chosen, best)
        y = torch.einsum("etf,efd->etd", F.gelu(torch.einsum("td,edf->etf", x, self.up)), self.down)
        return torch.einsum("etd,te->td", y, mask)


class Diffusion(nn.Module):
    """A residual block with an embedding of time, and attention over pixels."""

    def __init__(self):
        super().__init__()
        self.first_norm, self.second_norm, self.attention_norm = nn.GroupNorm(4, 16), nn.GroupNorm(4, 32), nn.GroupNorm(4, 32)
        self.first, self.second = nn.Conv2d(16, 32, 3, padding=1), nn.Conv2d(32, 32, 3, padding=1)
        self.skip, self.time = nn.Conv2d(16, 32, 1), nn.Linear(64, 32)
        self.attention = nn.MultiheadAttention(32, 4, batch_first=True)
        self.up = nn.Upsample(scale_factor=2)
        self.last = nn.Conv2d(32, 4, 3, padding=1)

    def forward(self, x, time):
        waves = torch.exp(torch.arange(32) * -0.3) * time[:, None]
        h = self.first(F.silu(self.first_norm(x))) + self.time(F.silu(torch.cat([waves.sin(), waves.cos()], 1)))[:, :, None, None]
        h = self.second(F.silu(self.second_norm(h))) + self.skip(x)
        pixels = self.attention_norm(h).flatten(2).transpose(1, 2)
        h = h + self.attention(pixels, pixels, pixels, need_weights=False)[0].transpose(1, 2).reshape(h.shape)
        return self.last(self.up(h))


class StateSpace(nn.Module):
    def __init__(self):
        super().__init__()
        self.expand, self.select, self.out = nn.Linear(32, 128), nn.Linear(64, 17), nn.Linear(64, 32)
        self.short = nn.Conv1d(64, 64, 4, groups=64, padding=3)
        self.decay = nn.Parameter(-torch.rand(64, 8))

    def forward(self, x):
        u, z = self.expand(x).chunk(2, -1)
        u = F.silu(self.short(u.transpose(1, 2))[..., : x.shape[1]].transpose(1, 2))
        dt, into, out_of = self.select(u).split([1, 8, 8], -1)
        dt = F.softplus(dt)
        h, ys = torch.zeros(x.shape[0], 64, 8), []
        for t in range(x.shape[1]):
            h = torch.exp(dt[:, t, :, None] * self.decay) * h + (dt[:, t] * u[:, t])[:, :, None] * into[:, t, None, :]
            ys.append((h * out_of[:, t, None, :]).sum(-1))
        return self.out(torch.stack(ys, 1) * F.silu(z))


class Norms(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.rms, self.batch = nn.LayerNorm(64), nn.RMSNorm(64), nn.BatchNorm1d(64)
        self.group, self.instance = nn.GroupNorm(8, 64), nn.InstanceNorm1d(64, affine=True)
        self.mix, self.drop = nn.Linear(64, 64), nn.Dropout(0.1)

    def forward(self, x):
        x = self.rms(self.drop(self.mix(self.layer(x)))).transpose(1, 2)
        return self.instance(self.group(self.batch(x))).transpose(1, 2)


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag, self.single = nn.EmbeddingBag(500, 32, mode="mean"), nn.Embedding(50, 32, padding_idx=0)
        self.deep = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, items, user):
        return torch.sigmoid(self.deep(torch.cat([self.bag(items), self.single(user)], 1)))


class Dynamic(nn.Module):
    """A transformer whose batch and length may change; the head is the embedding's weight."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(100, 32)
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.0, norm_first=True)
        self.head = nn.Linear(32, 100, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens):
        return self.head(self.layer(self.embed(tokens)))


class Control(nn.Module):
    """A branch that depends on data."""

    def __init__(self):
        super().__init__()
        self.first, self.small, self.wide = nn.Linear(32, 32), nn.Linear(32, 32), nn.Linear(32, 128)
        self.narrow = nn.Linear(128, 32)

    def larger(self, x):
        return self.narrow(F.gelu(self.wide(x)))

    def forward(self, x):
        x = self.first(x)
        return torch.cond(x.sum() > 0, self.larger, lambda x: self.small(x).relu(), (x,))


MODULES = {
    "convolutional": (Convolutional, lambda: (torch.randn(4, 3, 32, 32),)),
    "recurrent": (Recurrent, lambda: (torch.randn(4, 7, 32),)),
    "attention": (Attention, lambda: (torch.randn(2, 24, 64),)),
    "experts": (Experts, lambda: (torch.randn(24, 32),)),
    "diffusion": (Diffusion, lambda: (torch.randn(2, 16, 8, 8), torch.rand(2) * 1000)),
    "state space": (StateSpace, lambda: (torch.randn(2, 6, 32),)),
    "norms": (Norms, lambda: (torch.randn(4, 12, 64),)),
    "embedding bag": (Bag, lambda: (torch.randint(0, 500, (16, 5)), torch.randint(1, 50, (16,)))),
    "dynamic": (Dynamic, lambda: (torch.randint(0, 100, (4, 9)),)),
    "control flow": (Control, lambda: (torch.randn(8, 32),)),
}
