# SPDX-License-Identifier: GPL-3.0-or-later
"""GiPH's network in PyTorch, for policy_torch.py: an update is an episode without its scores."""
import torch
import torch.nn.functional as F

NODE_FEATURES, EDGE_FEATURES = 5, 5
# First slices of maps, as in policy/giph/network.c.
ENCODE, ENCODE_OUT, MESSAGE, UPDATE, DIRECTION, SCORE, SCORE_OUT = 0, 2, 4, 6, 4, 12, 14


class Wave:
    """Nodes whose messages have all come in at the same time, and the links that bring them."""

    def __init__(self, pairs, links, count):
        self.pairs, self.links = pairs, links
        self.place = torch.zeros(count, dtype=torch.long)  # of a pair in the wave
        self.place[pairs] = torch.arange(len(pairs))


class Giph(torch.nn.Module):
    """policy/giph/network.h has the formulas. The passes that moves are drawn in come one after
    another, as each sees the moves before; those that are learned from are one batch."""

    def __init__(self, a, constants):
        super().__init__()
        self.weights = torch.nn.ParameterList(
            torch.nn.Parameter(a[f"p{i}"]) for i in range(sum(name[1:].isdigit() for name in a)))
        self.source, self.target = a["source"].long(), a["target"].long()
        self.moves = len(self.source)
        self.x = a["x"].reshape(self.moves, -1, NODE_FEATURES)
        self.e = a["e"].reshape(self.moves, -1, EDGE_FEATURES)
        self.pairs = self.x.shape[1]
        node = a["node_of_pair"].flatten().long()
        count = int(constants["nodes"])
        ends = node[self.source[0]], node[self.target[0]]  # nodes of links do not change
        self.ways = [(self.source, self.target, self.waves(*ends, node, count)),
                     (self.target, self.source, self.waves(*ends[::-1], node, count))]
        action = a["action"].long()
        self.is_barred = torch.ones(self.moves, self.pairs + 1, dtype=torch.bool)
        self.is_barred.scatter_(1, torch.where(action < 0, self.pairs, action), False)
        self.is_barred = self.is_barred[:, : self.pairs].contiguous()
        self.chosen = action.gather(1, a["choice"].long().t())
        self.weight = a["weight"].flatten()

    def waves(self, start, end, node, count):
        depth = torch.zeros(count, dtype=torch.long)
        while True:
            further = depth.scatter_reduce(0, end, depth[start] + 1, "amax")
            if torch.equal(further, depth):
                break
            depth = further
        return [Wave((depth[node] == d).nonzero().flatten(),
                     (depth[end] == d).nonzero().flatten(), len(node))
                for d in range(int(depth.max()) + 1)]

    def affine(self, x, at):
        w = self.weights
        return torch.addmm(w[at + 1], x.flatten(0, -2), w[at]).reshape(*x.shape[:-1], -1)

    def hear(self, y0, e, direction, moves):
        start, end, waves = self.ways[direction]
        at = MESSAGE + direction * DIRECTION
        weight, bias = self.weights[at], self.weights[at + 1]
        width, batch = y0.shape[2], len(e)
        news = torch.addmm(bias, e.flatten(0, 1), weight[width:]).reshape(batch, -1, len(bias[0]))
        y = y0
        for wave in waves:
            to = wave.place[end[moves][:, wave.links]].unsqueeze(2)
            come = start[moves][:, wave.links].unsqueeze(2).expand(-1, -1, width)
            m = (y.gather(1, come) @ weight[:width] + news[:, wave.links]).relu_()
            mean = torch.zeros(batch, len(wave.pairs), m.shape[2])
            mean = mean.scatter_add(1, to.expand_as(m), m)
            degree = torch.zeros(batch, len(wave.pairs), 1)
            degree = degree.scatter_add(1, to, torch.ones_like(to, dtype=torch.float32))
            rise = self.affine(mean / degree.clamp(min=1), at + UPDATE - MESSAGE).relu_()
            y = y.index_copy(1, wave.pairs, y0[:, wave.pairs] + rise)
        return y

    def odds(self, moves):
        """ln p of each pair, (moves, pairs)"""
        x, e = self.x[moves], self.e[moves]
        y0 = self.affine(self.affine(x, ENCODE).relu_(), ENCODE_OUT)
        both = torch.cat([self.hear(y0, e, 0, moves), self.hear(y0, e, 1, moves)], dim=2)
        score = self.affine(self.affine(both, SCORE).relu_(), SCORE_OUT).squeeze(2)
        return score.masked_fill(self.is_barred[moves], -1e30).log_softmax(dim=1)

    def update(self, step):
        with torch.no_grad():
            for move in range(self.moves):
                self.odds(slice(move, move + 1))
        chosen = self.odds(slice(0, self.moves)).gather(1, self.chosen).squeeze(1)
        loss = -(self.weight * chosen).sum()
        step(loss)
        return loss.detach()
