#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two updates of the hierarchical planner, in PyTorch and from the method's description.

Writes a small random problem (ops, initial weights, actions, step times) and what two
REINFORCE updates make of the weights. The C implementation reads the file and must agree
(tests/policy/hdp/hdp_update.c). Nothing here knows how the C code works: gradients come from
autograd, the optimizer from torch.optim, everything is float64.

    scripts/oracle/hdp_update.py > tests/policy/hdp/hdp_update.txt
    scripts/oracle/hdp_update.py literal > tests/policy/hdp/hdp_literal.txt

With "literal" it does as the code that the method's authors released (TensorFlow,
tensorflow/python/grappler/hierarchical_controller.py, 2018): TensorFlow's Adam, a baseline
of all rewards, all groups in the order of their numbers.

Needs Debian's python3-torch. Format: "name rows cols", then rows lines of numbers.
"""
import math
import sys

import torch

OPS, TYPES, EDGES, GROUPS, DEVICES, SAMPLES = 40, 5, 70, 8, 3, 4
HIDDEN, GROUPER_HIDDEN, TYPE_WIDTH = 6, 7, 3
VALUES, SIZES = 36, 16
TEMPERATURE, TANH_CONSTANT = 10.0, 5.0
LEARNING_RATE, CLIP, FAILURE, DECAY = 0.1, 1.0, 10.0, 0.9
EPSILON = 1e-4  # well above float32 noise in the smallest gradients
FAILURES_COUNT_IN_UPDATES = 1
IS_LITERAL = sys.argv[1:] == ["literal"]
if sys.argv[1:] and not IS_LITERAL:
    sys.exit(f"{sys.argv[0]}: give nothing or literal, not {' '.join(sys.argv[1:])}")

torch.set_default_dtype(torch.float64)
torch.manual_seed(20180430)


def emit(name, tensor):
    tensor = torch.as_tensor(tensor)
    if tensor.dim() < 2:
        tensor = tensor.reshape(1, -1)
    print(name, *tensor.shape)
    whole = not tensor.is_floating_point()
    for row in tensor.tolist():
        print(*(str(v) if whole else f"{v:.9g}" for v in row))


def stored(tensor):
    """The tensor as a reader of the file will see it."""
    return torch.tensor([float(f"{v:.9g}") for v in tensor.flatten().tolist()]).reshape(
        tensor.shape
    )


def glorot(rows, cols, gain=1.0):
    limit = gain * math.sqrt(6.0 / (rows + cols))
    return stored((2 * torch.rand(rows, cols) - 1) * limit)


# ---- the problem --------------------------------------------------------------------

op_type = torch.randint(TYPES, (OPS,))
op_type[:TYPES] = torch.arange(TYPES)
op_value = stored(torch.randn(OPS, VALUES) * 0.5)
op_size = torch.randint(0, 2000, (OPS, SIZES)) * (torch.rand(OPS, SIZES) < 0.5)
op_position = stored(torch.randperm(OPS) / OPS)
edge_from = torch.randint(OPS, (EDGES,))
edge_to = (edge_from + 1 + torch.randint(OPS - 1, (EDGES,))) % OPS

inputs = TYPES + SIZES + GROUPS
grouper = {
    "type_embedding": glorot(TYPES, TYPE_WIDTH),
    "type_weight": glorot(TYPE_WIDTH, GROUPER_HIDDEN),
    "value_weight": glorot(VALUES, GROUPER_HIDDEN),
    "hidden_bias": stored(0.1 * torch.randn(1, GROUPER_HIDDEN)),
    "out_weight": glorot(GROUPER_HIDDEN, GROUPS),
    "out_bias": stored(0.1 * torch.randn(1, GROUPS)),
}
placer = {
    "forward_input": glorot(inputs, 4 * HIDDEN),
    "forward_recurrent": glorot(HIDDEN, 4 * HIDDEN),
    "forward_bias": stored(torch.randn(1, 4 * HIDDEN)),
    "backward_input": glorot(inputs, 4 * HIDDEN),
    "backward_recurrent": glorot(HIDDEN, 4 * HIDDEN),
    "backward_bias": stored(torch.randn(1, 4 * HIDDEN)),
    "device_embedding": glorot(DEVICES + 1, HIDDEN),
    "decoder_input": glorot(HIDDEN, 4 * HIDDEN),
    "decoder_recurrent": glorot(HIDDEN, 4 * HIDDEN),
    "decoder_bias": stored(torch.randn(1, 4 * HIDDEN)),
    # Larger than usual: tiny gradients would leave Adam's first step, which is all but
    # their sign, to the rounding of float32.
    "attention_memory": glorot(2 * HIDDEN, HIDDEN, 2.0),
    "attention_query": glorot(HIDDEN, HIDDEN, 3.0),
    "attention_v": glorot(1, HIDDEN, 3.0),
    "out": glorot(2 * HIDDEN, DEVICES),
}

# ---- the method ---------------------------------------------------------------------


def group_order(group_of_op):
    """Groups that have members, by the mean position of their ops, ties by number; or all
    by number."""
    if IS_LITERAL:
        return list(range(GROUPS))
    used = sorted(set(group_of_op.tolist()))
    return sorted(used, key=lambda g: (op_position[group_of_op == g].mean().item(), g))


def group_features(group_of_op, order):
    rows = []
    for group in order:
        member = group_of_op == group
        counts = torch.stack([(member & (op_type == t)).sum() for t in range(TYPES)])
        sums = op_size[member].sum(dim=0)
        shared = torch.zeros(GROUPS)
        for a, b in zip(group_of_op[edge_from].tolist(), group_of_op[edge_to].tolist()):
            if a != b and group in (a, b):
                shared[a + b - group] = 1
        scaled = torch.log1p(torch.cat([counts, sums]).double())
        rows.append(torch.cat([scaled, shared]))
    return torch.stack(rows)


def lstm_cell(sums, cell):
    i, f, o, g = sums.split(HIDDEN)
    cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(cell), cell


def encode(x, name):
    hidden = cell = torch.zeros(HIDDEN)
    states = []
    for row in x:
        sums = row @ placer[name + "_input"] + hidden @ placer[name + "_recurrent"]
        hidden, cell = lstm_cell(sums + placer[name + "_bias"][0], cell)
        states.append(hidden)
    return states, cell


def grouping_log_prob(group_of_op):
    x = grouper["type_embedding"][op_type] @ grouper["type_weight"]
    hidden = torch.tanh(x + op_value @ grouper["value_weight"] + grouper["hidden_bias"])
    logits = hidden @ grouper["out_weight"] + grouper["out_bias"]
    return torch.log_softmax(logits, dim=1)[torch.arange(OPS), group_of_op].sum()


def placement_log_prob(x, devices):
    """devices[i] is that of the i-th group in order."""
    ahead, _ = encode(x, "forward")
    back, cell = encode(x.flip(0), "backward")
    back.reverse()
    memory = torch.stack([torch.cat(pair) for pair in zip(ahead, back)])
    memory = memory @ placer["attention_memory"]
    hidden, total, before = back[0], 0.0, DEVICES
    for device in devices:
        sums = placer["device_embedding"][before] @ placer["decoder_input"]
        sums = sums + hidden @ placer["decoder_recurrent"] + placer["decoder_bias"][0]
        hidden, cell = lstm_cell(sums, cell)
        score = torch.tanh(hidden @ placer["attention_query"] + memory)
        weight = torch.softmax(score @ placer["attention_v"][0], dim=0)
        logits = torch.cat([hidden, weight @ memory]) @ placer["out"]
        logits = TANH_CONSTANT * torch.tanh(logits / TEMPERATURE)
        total = total + torch.log_softmax(logits, dim=0)[device]
        before = device
    return total


class TensorFlowAdam:
    """tf.train.AdamOptimizer(learning_rate), from its documentation: lr_t = lr sqrt(1 - b2^t)
    / (1 - b1^t), x -= lr_t m / (sqrt(v) + epsilon)."""

    def __init__(self, tensors, lr, beta1=0.9, beta2=0.999, epsilon=1e-8):
        self.tensors = list(tensors)
        self.lr, self.beta1, self.beta2, self.epsilon = lr, beta1, beta2, epsilon
        self.m = [torch.zeros_like(t) for t in self.tensors]
        self.v = [torch.zeros_like(t) for t in self.tensors]
        self.t = 0

    def zero_grad(self):
        for tensor in self.tensors:
            tensor.grad = None

    def step(self):
        self.t += 1
        rate = self.lr * math.sqrt(1 - self.beta2**self.t) / (1 - self.beta1**self.t)
        for i, tensor in enumerate(self.tensors):
            g = tensor.grad
            self.m[i] = self.beta1 * self.m[i] + (1 - self.beta1) * g
            self.v[i] = self.beta2 * self.v[i] + (1 - self.beta2) * g * g
            with torch.no_grad():
                tensor -= rate * self.m[i] / (self.v[i].sqrt() + self.epsilon)


def next_baseline(baseline, reward, feasible, update):
    """The mean over placements that ran; or, while failures take part, over all."""
    ran = [r.item() for r, f in zip(reward, feasible) if f > 0]
    if IS_LITERAL and update < FAILURES_COUNT_IN_UPDATES:
        ran = reward.tolist()
    return DECAY * baseline + (1 - DECAY) * sum(ran) / len(ran) if ran else baseline


def main():
    emit("op_type", op_type)
    emit("op_value", op_value)
    emit("op_size", op_size)
    emit("op_position", op_position)
    emit("edge_from", edge_from)
    emit("edge_to", edge_to)
    networks = {"grouper": grouper, "placer": placer}
    optimizer = {}
    for kind, network in networks.items():
        for name, tensor in network.items():
            emit(f"{kind}/{name}/before", tensor)
            tensor.requires_grad_(True)
        if IS_LITERAL:
            optimizer[kind] = TensorFlowAdam(network.values(), lr=LEARNING_RATE)
        else:
            optimizer[kind] = torch.optim.Adam(
                network.values(), lr=LEARNING_RATE, eps=EPSILON
            )

    baseline = -FAILURE
    for update in range(2):
        group_of_op = torch.randint(GROUPS - 1, (OPS,))  # the last group stays empty
        device_of_group = torch.randint(DEVICES, (SAMPLES, GROUPS))
        step_time = stored(0.5 + torch.rand(SAMPLES))
        feasible = torch.tensor([1, 1, 0, 1])
        emit(f"groups{update}", group_of_op)
        emit(f"devices{update}", device_of_group)
        emit(f"times{update}", step_time)
        emit(f"feasible{update}", feasible)

        reward = torch.where(feasible > 0, -step_time.sqrt(), torch.tensor(-FAILURE))
        part = list(range(SAMPLES))
        if update >= FAILURES_COUNT_IN_UPDATES:
            part = [k for k in part if feasible[k] > 0]
        order = group_order(group_of_op)
        x = group_features(group_of_op, order)
        log_prob_of_groups = grouping_log_prob(group_of_op)
        loss = 0.0
        for k in part:
            devices = device_of_group[k][order].tolist()
            log_prob = placement_log_prob(x, devices) + log_prob_of_groups
            loss = loss - (reward[k] - baseline) * log_prob / len(part)
        baseline = next_baseline(baseline, reward, feasible, update)

        for kind, network in networks.items():
            optimizer[kind].zero_grad()
        loss.backward()
        for kind, network in networks.items():
            norm = math.sqrt(sum(t.grad.square().sum().item() for t in network.values()))
            for tensor in network.values():
                tensor.grad *= min(1.0, CLIP / norm)
            optimizer[kind].step()
            for name, tensor in network.items():
                if update == 0:
                    emit(f"{kind}/{name}/gradient", tensor.grad)
                emit(f"{kind}/{name}/after{update}", tensor.detach())
        emit(f"loss{update}", loss.detach())
        emit(f"baseline{update}", float(baseline))


if __name__ == "__main__":
    sys.exit(main())
