#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exports the training steps of this folder (*.json.gz): small models, one for each kind of layer. Needs PyTorch 1.13."""
import os
import sys

import torch
from torch import nn
from torch.nn import functional as F

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "../../../../../scripts/export"))
import export_torch  # noqa: E402


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        split = self.qkv(self.norm1(x)).view(batch, tokens, 3, self.heads, self.size)
        q, k, v = split.permute(2, 0, 3, 1, 4)
        seen = (q @ k.transpose(-1, -2) / self.size**0.5).softmax(-1) @ v
        x = x + self.proj(seen.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Recurrent(nn.Module):
    def __init__(self, width, units, steps):
        super().__init__()
        self.cell, self.out, self.units, self.steps = nn.LSTMCell(width, units), nn.Linear(units, 10), units, steps

    def forward(self, x):
        h = c = x.new_zeros(x.shape[0], self.units)
        for t in range(self.steps):
            h, c = self.cell(x[:, t], (h, c))
        return self.out(h)


class Tables(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag, self.table, self.out = nn.EmbeddingBag(1000, 16, mode="sum"), nn.Embedding(500, 16), nn.Linear(32, 2)

    def forward(self, bags, rows):
        return self.out(torch.cat([self.bag(bags), self.table(rows)], 1))


class Partly(nn.Module):
    """A frozen layer, one that is trained, and one that the loss does not depend on."""

    def __init__(self):
        super().__init__()
        self.frozen, self.trained, self.unused = nn.Linear(8, 16), nn.Linear(16, 10), nn.Linear(16, 4)
        self.frozen.requires_grad_(False)

    def forward(self, x):
        hidden = self.frozen(x)
        return self.trained(hidden), self.unused(hidden)


def images():
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(16, 16, 3, groups=16, padding=1), nn.Conv2d(16, 32, 1), nn.SiLU(),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))


def pictures():
    return nn.Sequential(nn.Conv2d(3, 8, 4, 2, 1), nn.GroupNorm(2, 8), nn.GELU(), nn.ConvTranspose2d(8, 3, 4, 2, 1))


torch.manual_seed(0)
label = F.cross_entropy
samples = {
    "mlp": (nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)), label, [torch.randn(32, 64)], 10),
    "conv": (images(), label, [torch.randn(8, 3, 32, 32)], 10),
    "deconv": (pictures(), F.mse_loss, [torch.randn(2, 3, 16, 16)], None),
    "transformer": (nn.Sequential(Block(64, 4), nn.Flatten(), nn.Linear(64 * 16, 10)), label, [torch.randn(4, 16, 64)], 10),
    "lstm": (Recurrent(32, 64, 6), label, [torch.randn(4, 6, 32)], 10),
    "partly": (Partly(), lambda results, target: label(results[0], target), [torch.randn(4, 8)], 10),
    "tables": (Tables(), label, [torch.randint(1000, (8, 5)), torch.randint(500, (8,))], 2),
}
for name, (model, loss, inputs, classes) in samples.items():
    target = torch.randn(2, 3, 16, 16) if classes is None else torch.randint(classes, (inputs[0].shape[0],))
    optimizer = "sgd" if name in ("lstm", "deconv") else "adam"
    export_torch.export_step(model, loss, inputs, target, os.path.join(here, name + ".json.gz"), optimizer)
