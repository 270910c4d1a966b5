# SPDX-License-Identifier: GPL-3.0-or-later
"""DOPPLER's networks in PyTorch, for policy_torch.py: an update of episodes without scores."""
import torch
import torch.nn.functional as F

FEATURES = 5
EQUAL, FLOOR = 1e-5, 1e-6  # as in policy/doppler/net.c
# Slices of the network of messages, as in policy/doppler/mpnn.c; the head's are the last six.
(NODE_W, NODE_B, GRU_X_W, GRU_X_B, GRU_H_W, GRU_H_B, SUM_B, EDGE_W, EDGE_B, MATRIX_W, MATRIX_B,
 LATENT_W, LATENT_B) = range(13)
HEAD = 6


def scale(x, is_there=None):
    """Columns to mean 0 and deviation 1 over the rows that are there."""
    count = x.shape[-2] if is_there is None else is_there.sum(dim=-2, keepdim=True)
    total = x if is_there is None else x * is_there
    off = x - total.sum(dim=-2, keepdim=True) / count
    off = off if is_there is None else off * is_there
    variance = off.square().sum(dim=-2, keepdim=True) / count
    is_equal = variance <= EQUAL * EQUAL
    deviation = variance.masked_fill(is_equal, 1.0).sqrt()
    return (off / (deviation + FLOOR)).masked_fill(is_equal, 0.0)


class Choices:
    """The choices at each step: (episodes, steps, choices)."""

    def __init__(self, items, feature, choice):
        episodes, steps = choice.shape
        items = items.long().reshape(episodes, steps, -1)
        self.is_there = (items >= 0).unsqueeze(3).float()
        self.items = items.clamp(min=0)
        self.feature = feature.reshape(*items.shape, FEATURES)
        self.choice = choice.long()
        self.chosen = self.items.gather(2, self.choice.unsqueeze(2)).squeeze(2)


class Doppler(torch.nn.Module):
    """policy/doppler/net.h has the formulas. Episodes are a batch. The passes in which nodes and
    devices are drawn come one after another; the steps that are learned from are one batch."""

    def __init__(self, a, constants):
        super().__init__()
        self.rounds, self.entropy = int(constants["rounds"]), constants["entropy"]
        count, first = sum(name[1:].isdigit() for name in a), int(constants["selector_parameters"])
        self.selector = torch.nn.ParameterList(
            torch.nn.Parameter(a[f"p{i}"]) for i in range(first))
        self.placer = torch.nn.ParameterList(
            torch.nn.Parameter(a[f"p{i}"]) for i in range(first, count))
        self.feature, self.neighbors = a["feature"], a["neighbors"].float()
        self.sort(a)
        nodes = len(self.feature)
        self.below, self.above = (self.path(a[name].flatten(), nodes)
                                  for name in ("below", "above"))
        self.nodes = Choices(a["ready"], a["ready_feature"], a["node_choice"])
        self.devices = Choices(a["candidate"], a["candidate_feature"], a["device_choice"])
        self.remember(nodes)
        steps = self.nodes.choice.shape[1]
        discount = constants["gamma"] ** torch.arange(steps - 1, -1, -1)
        self.weight = a["weight"] * discount

    def sort(self, a):
        """Senders of a class share a matrix: (classes, most of a class)"""
        first, node = a["class_first"].flatten().long(), a["class_node"].flatten().long()
        self.message = a["class_message"]
        size = first[1:] - first[:-1]
        rank = torch.arange(int(size.max()))
        at = (first[:-1].unsqueeze(1) + rank).clamp(max=len(node) - 1)
        self.sender = torch.where(rank < size.unsqueeze(1), node[at], len(node))
        self.place = torch.empty(len(node), dtype=torch.long)
        is_one = self.sender.flatten() < len(node)
        self.place[self.sender.flatten()[is_one]] = is_one.nonzero().flatten()

    def path(self, next_node, nodes):
        """(nodes, nodes) 1 for those on the row's path"""
        on, at = torch.zeros(nodes, nodes + 1), torch.arange(nodes)
        for _ in range(nodes):
            on[torch.arange(nodes), at] = 1
            at = F.pad(next_node, (0, 1), value=-1)[at].long()
            at = torch.where(at < 0, nodes, at)
        return on[:, :nodes].contiguous()

    def remember(self, nodes):
        """Which nodes each device has before a step: (episodes, steps, devices, nodes)"""
        devices = int(self.devices.items.max()) + 1
        to = F.one_hot(self.devices.chosen, devices).float().unsqueeze(3)
        node = F.one_hot(self.nodes.chosen, nodes).float().unsqueeze(2)
        given = to * node
        self.given = (given.cumsum(dim=1) - given)
        self.device_count = devices

    def embed(self, w):
        h = torch.addmm(w[NODE_B], self.feature, w[NODE_W]).relu_()
        width = h.shape[1]
        hidden = torch.addmm(w[EDGE_B], self.message, w[EDGE_W]).relu_()
        matrix = torch.addmm(w[MATRIX_B], hidden, w[MATRIX_W]).reshape(-1, width, width)
        for _ in range(self.rounds):
            sent = torch.bmm(F.pad(h, (0, 0, 0, 1))[self.sender], matrix)
            sent = sent.flatten(0, 1)[self.place]
            m = torch.addmm(w[SUM_B], self.neighbors, sent).relu_()
            a, u = torch.addmm(w[GRU_X_B], m, w[GRU_X_W]), torch.addmm(w[GRU_H_B], h, w[GRU_H_W])
            r, z = (a[:, : 2 * width] + u[:, : 2 * width]).sigmoid().chunk(2, dim=1)
            n = torch.tanh(a[:, 2 * width :] + r * u[:, 2 * width :])
            h = n + z * (h - n)
        return F.leaky_relu(h, 0.1)

    def embeddings(self):
        x = self.embed(self.selector)
        placer_x = self.embed(self.placer)
        latent = F.leaky_relu(
            torch.addmm(self.placer[LATENT_B], self.feature, self.placer[LATENT_W]), 0.1)
        return x, scale(self.below @ x), scale(self.above @ x), placer_x, latent

    def head(self, w, blocks, choices, step):
        feature_w, feature_b, row_w, row_b, out_w, out_b = w[len(w) - HEAD :]
        feature = choices.feature[:, step]
        first = F.leaky_relu(
            torch.addmm(feature_b, feature.flatten(0, -2), feature_w), 0.1)
        row = torch.cat([first, *(b.flatten(0, -2) for b in blocks)], dim=1)
        hidden = F.leaky_relu(torch.addmm(row_b, row, row_w), 0.1)
        logits = torch.addmm(out_b, hidden, out_w).reshape(feature.shape[:-1])
        is_there = choices.is_there[:, step].squeeze(-1)
        return logits.masked_fill(is_there == 0, -1e30).log_softmax(dim=-1)

    def select(self, embeddings, step):
        x, below, above = embeddings[:3]
        node, is_there = self.nodes.items[:, step], self.nodes.is_there[:, step]
        blocks = [x[node], scale(below[node], is_there), scale(above[node], is_there)]
        return self.head(self.selector, blocks, self.nodes, step)

    def put(self, embeddings, loads, step):
        """loads: sums over the nodes of each device, (..., devices, width)"""
        x, latent = embeddings[3:]
        device, is_there = self.devices.items[:, step], self.devices.is_there[:, step]
        node = self.nodes.chosen[:, step].unsqueeze(-1).expand_as(device)
        width = x.shape[1]
        loads = loads.gather(-2, device.unsqueeze(-1).expand(*device.shape, width))
        blocks = [latent[node], x[node], scale(loads, is_there)]
        return self.head(self.placer, blocks, self.devices, step)

    def look(self, embeddings):
        x = embeddings[3]
        episodes, steps = self.nodes.choice.shape
        loads = torch.zeros(episodes, self.device_count, x.shape[1])
        for step in range(steps):
            self.select(embeddings, step)
            self.put(embeddings, loads, step)
            to = self.devices.chosen[:, step].reshape(-1, 1, 1).expand(-1, -1, x.shape[1])
            loads.scatter_add_(1, to, x[self.nodes.chosen[:, step]].unsqueeze(1))

    def update(self, step):
        embeddings = self.embeddings()
        with torch.no_grad():
            self.look(embeddings)
        every = slice(None)
        loads = self.given @ embeddings[3]
        loss, entropy = 0.0, 0.0
        for odds, choices in ((self.select(embeddings, every), self.nodes),
                              (self.put(embeddings, loads, every), self.devices)):
            chosen = odds.gather(2, choices.choice.unsqueeze(2)).squeeze(2)
            loss = loss - (self.weight * chosen).sum()
            entropy = entropy - (odds.exp() * odds).sum() / len(odds)
        step(loss - self.entropy * entropy)
        return loss.detach()
