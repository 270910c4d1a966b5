# SPDX-License-Identifier: GPL-3.0-or-later
"""HSDAG's network in PyTorch, for policy_torch.py: an update is an episode without its scores."""
import torch
import torch.nn.functional as F

# First slices of maps and of layer norms, as in policy/hsdag/parsing_net.c.
(INPUT_1, INPUT_2, CONVOLVE_1, CONVOLVE_2, SINGLE, EDGE, SCORE, MEMBER, POOL, CODE_1, CODE_2,
 DEVICE_1, DEVICE_2) = range(0, 26, 2)
(INPUT_1_NORM, INPUT_2_NORM, G_NORM, Q_NORM, EDGE_NORM, MEMBER_NORM,
 POOL_NORM) = range(26, 40, 2)


class Graph:
    """Undirected, each edge from both ends, in the order of the ends that edges leave."""

    def __init__(self, count, start, end):
        self.count, self.start, self.end = count, start, end
        degree = torch.bincount(start, minlength=count) + 1.0
        self.own = (1 / degree).unsqueeze(1)
        weight = (degree[start] * degree[end]).rsqrt()
        first = torch.cat([torch.zeros(1, dtype=torch.long), degree.long().sub(1).cumsum(0)])
        self.mix = torch.sparse_csr_tensor(first, end, weight, (count, count))
        self.first, self.edges = first[:-1], len(start)

    def convolve(self, x):
        return torch.addmm(self.own * x, self.mix, x)

    def join(self, score):
        """Groups of nodes: each joins the other end of its best edge, of equals the first."""
        node = torch.arange(self.count)
        best = torch.full((self.count,), -1.0).scatter_reduce(0, self.start, score, "amax")
        at = torch.where(score == best[self.start], torch.arange(self.edges), self.edges)
        at = torch.full((self.count,), self.edges).scatter_reduce(0, self.start, at, "amin")
        leader = torch.where(at < self.edges, F.pad(self.end, (0, 1))[at], node)
        is_root = (leader[leader] == node) & (node <= leader)
        leader = torch.where(is_root, node, leader)
        while True:
            further = leader[leader]
            if torch.equal(further, leader):
                break
            leader = further
        lowest = torch.full_like(node, self.count).scatter_reduce(0, leader, node, "amin")
        return torch.unique(lowest[leader], return_inverse=True)

    def contract(self, group, count):
        start, end = group[self.start], group[self.end]
        code = torch.unique((start * count + end)[start != end])
        return Graph(count, code // count, code % count)


class Hsdag(torch.nn.Module):
    """policy/hsdag/hsdag.h has the formulas. The steps of an episode follow one another, as
    in a run each begins with the codes of the one before. A step is kept for the update."""

    def __init__(self, a, constants):
        super().__init__()
        self.entropy = constants["entropy"]
        self.levels, self.min_groups = int(constants["levels"]), int(constants["min_groups"])
        self.weights = torch.nn.ParameterList(
            torch.nn.Parameter(a[f"p{i}"]) for i in range(sum(name[1:].isdigit() for name in a)))
        self.action, self.weight = a["action"].long(), a["weight"].flatten()
        steps, sets = self.action.shape
        self.x = a["x"].reshape(steps, sets, -1)
        self.graph = Graph(sets, a["edge_from"].flatten().long(),
                           a["edge_to"].flatten().long())

    def affine(self, x, at):
        return torch.addmm(self.weights[at + 1], x, self.weights[at])

    def normal(self, x, at):
        return F.layer_norm(x, x.shape[1:], self.weights[at].flatten(),
                            self.weights[at + 1].flatten())

    def score(self, h, mixed, graph):
        hidden = self.affine(mixed, CONVOLVE_1).relu_()
        convolved = self.affine(graph.convolve(hidden), CONVOLVE_2).relu_()
        g = self.normal(h + convolved, G_NORM)
        edge = self.affine(g[graph.start] * g[graph.end], EDGE)
        edge = self.normal(edge, EDGE_NORM).relu_()
        return self.affine(edge, SCORE).sigmoid().squeeze(1)

    def pool(self, h, mixed, graph, score, group, count):
        q = self.normal(h + self.affine(mixed, SINGLE).relu_(), Q_NORM)
        member = self.normal(q + self.affine(q, MEMBER), MEMBER_NORM)
        total = torch.zeros(count, h.shape[1]).index_add(0, group, member)
        start = group[graph.start]
        inside = score * (start == group[graph.end])
        factor = torch.zeros(count).index_add(0, start, inside)
        factor = torch.where(factor > 0, factor, 1.0)
        return factor.unsqueeze(1) * self.normal(total + self.affine(total, POOL), POOL_NORM)

    def look(self, x):
        """ln p of the devices of each group, and the group of each set."""
        h = self.normal(self.affine(x, INPUT_1), INPUT_1_NORM).relu_()
        h = self.normal(self.affine(h, INPUT_2), INPUT_2_NORM).relu_()
        graph, group_of_set = self.graph, torch.arange(len(x))
        for _ in range(self.levels):
            mixed = graph.convolve(h)
            score = self.score(h, mixed, graph)
            roots, group = graph.join(score.detach())
            count = len(roots)
            if count == graph.count or count < self.min_groups:
                break
            h = self.pool(h, mixed, graph, score, group, count)
            graph = graph.contract(group, count)
            group_of_set = group[group_of_set]
        code = self.affine(self.affine(h, CODE_1).relu_(), CODE_2).relu_()
        logits = self.affine(self.affine(code, DEVICE_1).relu_(), DEVICE_2)
        return logits.log_softmax(dim=1), group_of_set

    def update(self, step):
        chosen, entropy, sets = [], [], torch.arange(self.graph.count)
        for x, action in zip(self.x, self.action):
            odds, group_of_set = self.look(x)
            lowest = torch.full((len(odds),), len(sets)).scatter_reduce(
                0, group_of_set, sets, "amin")
            chosen.append(odds.gather(1, action[lowest].unsqueeze(1)).sum())
            entropy.append(-(odds.exp() * odds).sum())
        loss = -(self.weight * torch.stack(chosen)).sum()
        step(loss - self.entropy * torch.stack(entropy).mean())
        return loss.detach()
