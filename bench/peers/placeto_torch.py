# SPDX-License-Identifier: GPL-3.0-or-later
"""Placeto's network in PyTorch, for policy_torch.py: an update is an episode without its scores."""
import torch

PASS, POOL, HEAD = 3, 11, 23  # first maps of parts, as in policy/placeto/net.h


class Placeto(torch.nn.Module):
    """policy/placeto/net.h has the formulas. The passes that devices are drawn in come one after
    another, as each sees the devices before; those that are learned from are one batch."""

    def __init__(self, a, constants):
        super().__init__()
        self.passes, self.devices = int(constants["passes"]), int(constants["devices"])
        self.entropy = constants["entropy"]
        self.map = torch.nn.ParameterList(
            torch.nn.Parameter(a[f"p{i}"]) for i in range(sum(name[1:].isdigit() for name in a)))
        self.start, self.action = a["start"].flatten().long(), a["action"].flatten().long()
        self.weight = a["weight"].flatten()
        self.reads = a["reads"].float()
        count = len(self.start)
        before = torch.zeros(count, count)
        for v in range(count):  # groups are in topological order
            readers = self.reads[v].bool()
            before[v] = torch.clamp(self.reads[v] + before[readers].sum(dim=0), max=1)
        self.relations = [before, before.t().contiguous(),
                          1 - before - before.t() - torch.eye(count)]
        self.constant = self.constants_of(a, count)

    def constants_of(self, a, count):
        """The features that no device changes, (steps, groups, 5)"""
        order = torch.arange(count)
        late = a["time"] - a["time"].diagonal().unsqueeze(1)
        late = late / late.abs().amax(dim=1, keepdim=True).clamp(min=1e-30)
        return torch.stack([a["cost"].expand(count, -1), a["bytes"].expand(count, -1),
                            (order < order.unsqueeze(1)).float(),
                            (order == order.unsqueeze(1)).float(), late], dim=2)

    def affine(self, x, layer):
        weight, bias = self.map[2 * layer], self.map[2 * layer + 1]
        return torch.addmm(bias, x.flatten(0, -2), weight).reshape(*x.shape[:-1], -1)

    def aggregate(self, y, layer, mix):
        inner = self.affine(self.affine(y, layer).relu_(), layer + 1).relu_()
        return self.affine(self.affine(mix(inner), layer + 2).relu_(), layer + 3).relu_()

    def logits(self, x, steps):
        """Of a batch of states x, each for the group that its step places."""
        z = self.affine(self.affine(self.affine(x, 0).relu_(), 1).relu_(), 2)
        halves = []
        for direction, edges in enumerate((self.reads, self.reads.t())):
            hears = (edges.sum(dim=1, keepdim=True) > 0).float()
            y = z
            for _ in range(self.passes):
                y = z + hears * self.aggregate(y, PASS + 4 * direction, lambda m: edges @ m)
            halves.append(y)
        e = torch.cat(halves, dim=2)
        parts = []
        for i, relation in enumerate(self.relations):
            chosen = relation[steps].unsqueeze(1)
            parts.append(self.aggregate(e, POOL + 4 * i, lambda m: (chosen @ m).squeeze(1)))
        parts.append(e[torch.arange(len(steps)), steps])
        u = torch.cat(parts, dim=1)
        hidden = self.affine(self.affine(u, HEAD).relu_(), HEAD + 1).relu_()
        return self.affine(hidden, HEAD + 2)

    def states(self):
        """One-hot devices before each step, (steps, groups, devices)"""
        count = len(self.start)
        placed = torch.arange(count) < torch.arange(count).unsqueeze(1)
        device = torch.where(placed, self.action, self.start)
        return torch.nn.functional.one_hot(device, self.devices).float()

    def look(self):
        device = torch.nn.functional.one_hot(self.start, self.devices).float()
        for t in range(len(self.start)):
            x = torch.cat([self.constant[t], device], dim=1).unsqueeze(0)
            self.logits(x, torch.tensor([t])).softmax(dim=1)
            device[t] = 0
            device[t, self.action[t]] = 1

    def update(self, step):
        with torch.no_grad():
            self.look()
        x = torch.cat([self.constant, self.states()], dim=2)
        odds = self.logits(x, torch.arange(len(self.start))).log_softmax(dim=1)
        chosen = odds.gather(1, self.action.unsqueeze(1)).squeeze(1)
        loss = -(self.weight * chosen).sum() + self.entropy * (odds.exp() * odds).sum()
        step(loss)
        return loss.detach()
