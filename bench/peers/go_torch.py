# SPDX-License-Identifier: GPL-3.0-or-later
"""GO's network in PyTorch, for policy_torch.py: an update is some epochs of PPO."""
import torch
import torch.nn.functional as F


class Go(torch.nn.Module):
    """policy/go/net.h has the formulas. Parameters come in the order of its slices."""

    def __init__(self, a, constants):
        super().__init__()
        self.constants = constants
        self.graph_layers, self.layers = int(constants["graph_layers"]), int(constants["layers"])
        self.heads, self.segment = int(constants["heads"]), int(constants["segment"])
        self.epochs, self.clip_ratio = int(constants["epochs"]), constants["clip_ratio"]
        self.weights = torch.nn.ParameterList(
            torch.nn.Parameter(a[f"p{i}"]) for i in range(sum(name[1:].isdigit() for name in a)))
        self.value, self.type = a["value"], a["type"].flatten().long()
        self.neighbor = a["neighbor"].long()
        choice, advantage = a["choice"].long().t().contiguous(), a["advantage"].flatten()
        self.samples = choice.shape[1]
        self.choice, self.advantage = choice, advantage

    def attend(self, query, key, value):
        """(segments, heads, rows, size) each"""
        odds = (query @ key.transpose(-1, -2)).mul_(query.shape[-1] ** -0.5).softmax(dim=-1)
        return odds @ value

    def attention(self, x, qkv_weight):
        """Segments also see the one before, through a constant copy of their input."""
        rows, width = x.shape
        size, whole = self.segment, rows // self.segment
        query, own = (x @ qkv_weight).split([width, 2 * width], dim=1)
        memory = x.detach() @ qkv_weight[:, width:]

        def cut(t, segments):
            """(segments, heads, rows, size of a head)"""
            return t.reshape(segments, -1, self.heads, width // self.heads).transpose(1, 2)

        def join(out):
            return out.transpose(1, 2).reshape(-1, width)

        first = min(size, rows)
        key, value = own[:first].chunk(2, dim=1)
        parts = [join(self.attend(cut(query[:first], 1), cut(key, 1), cut(value, 1)))]
        if whole > 1:
            seen = torch.cat([memory[: (whole - 1) * size].reshape(whole - 1, size, -1),
                              own[size : whole * size].reshape(whole - 1, size, -1)], dim=1)
            key, value = seen.chunk(2, dim=2)
            parts.append(join(self.attend(cut(query[size : whole * size], whole - 1),
                                          cut(key, whole - 1), cut(value, whole - 1))))
        if rows % size and whole > 0:
            seen = torch.cat([memory[(whole - 1) * size : whole * size], own[whole * size :]])
            key, value = seen.chunk(2, dim=1)
            parts.append(join(self.attend(cut(query[whole * size :], 1), cut(key, 1), cut(value, 1))))
        return torch.cat(parts)

    def layer(self, x, w):
        qkv, mix, mix_bias, gain1, bias1, widen, widen_bias, narrow, narrow_bias, gain2, bias2 = w
        width = (x.shape[1],)
        a = x + torch.addmm(mix_bias, self.attention(x, qkv), mix)
        a = F.layer_norm(a, width, gain1.flatten(), bias1.flatten())
        hidden = torch.addmm(widen_bias, a, widen).relu_()
        out = a + torch.addmm(narrow_bias, hidden, narrow)
        return F.layer_norm(out, width, gain2.flatten(), bias2.flatten())

    def odds(self):
        """ln p of each device, (nodes, devices)"""
        w = iter(self.weights)
        types, type_map, inputs, input_bias, head, head_bias = (next(w) for _ in range(6))
        h = torch.addmm(input_bias, self.value, inputs) + F.embedding(self.type, types @ type_map)
        h = h.relu_()
        for _ in range(self.graph_layers):
            pool, pool_bias, own, most, own_bias = (next(w) for _ in range(5))
            pooled = F.pad(torch.addmm(pool_bias, h, pool).sigmoid(), (0, 0, 0, 1))
            heard = pooled[self.neighbor].max(dim=1).values
            h = (torch.addmm(own_bias, h, own) + heard @ most).relu_()
        gates = [next(w) for _ in range(self.layers)]
        reader = self.layer(h, [next(w) for _ in range(11)])
        z = h
        for gate in gates:
            z = self.layer(2 * (reader @ gate).sigmoid() * z, [next(w) for _ in range(11)])
        return torch.addmm(head_bias, z, head).log_softmax(dim=1)

    def gather(self, odds):
        """Advantages of all samples with a choice, above 0 and under it."""
        above, below = torch.zeros_like(odds), torch.zeros_like(odds)
        above.scatter_add_(1, self.choice, self.advantage.clamp(min=0).expand_as(self.choice))
        below.scatter_add_(1, self.choice, self.advantage.clamp(max=0).expand_as(self.choice))
        return above, below

    def update(self, step):
        """Makes the steps of an update; step(loss) descends."""
        c = self.clip_ratio
        for epoch in range(self.epochs):
            odds = self.odds()
            if epoch == 0:
                before = odds.detach()
                above, below = self.gather(before)
            ratio = (odds - before).exp()
            gain = above * ratio.clamp(max=1 + c) + below * ratio.clamp(min=1 - c)
            entropy = -(odds.exp() * odds).sum(dim=1).mean()
            loss = -gain.sum() / (self.samples * odds.shape[0])
            step(loss - self.constants["entropy"] * entropy)
        return -odds.detach().gather(1, self.choice).mean()
