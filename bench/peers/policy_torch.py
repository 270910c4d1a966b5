#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Updates of learners' networks in PyTorch, as fast as PyTorch makes them.

    policy_torch.py FILE

FILE holds a network, its inputs and the actions taken (bench/speed/README.md has the
format). The program says "ready"; then for each line of standard input, a number of
threads, it makes one update and prints

    CPU seconds, wall-clock seconds, loss before the last step of the update

For the planner, input projections are made for all steps at once, samples are one batch, tanh works in
place, and the logits of all steps follow the loop. The decoder goes step by step, as a
policy must that draws each device before it sees the next step. The environment is for the
caller to set: OPENBLAS_CORETYPE, OPENBLAS_NUM_THREADS=1, and malloc's thresholds.
"""
import sys
import time
import warnings

import torch
import torch.nn.functional as F

from doppler_torch import Doppler
from go_torch import Go
from hsdag_torch import Hsdag


def read(path):
    """(network, {constant: value}, {array: tensor})"""
    with open(path, "rb") as file:
        network, *words = file.readline().decode().split()
        constants = {k: float(v) for k, v in (word.split("=") for word in words)}
        arrays = {}
        while header := file.readline().decode().split():
            name, kind, rows, cols = header[0], header[1], int(header[2]), int(header[3])
            data = bytearray(file.read(4 * rows * cols))
            dtype = torch.float32 if kind == "float" else torch.int32
            arrays[name] = torch.frombuffer(data, dtype=dtype).reshape(rows, cols)
    return network, constants, arrays


def reorder(gates):
    """The four gates in the order of torch.nn.LSTM: input, forget, candidate, output."""
    i, f, o, g = gates.chunk(4, dim=1)
    return torch.cat([i, f, g, o], dim=1)


class Planner(torch.nn.Module):
    def update(self, step):
        loss = self()
        step(loss)
        return loss.detach()


class Grouper(Planner):
    def __init__(self, a, _):
        super().__init__()
        # The image of the embedding goes through W once per type, not once per op.
        for name in ("type_embedding", "type_weight", "value_weight", "hidden_bias",
                     "out_weight", "out_bias"):
            self.register_parameter(name, torch.nn.Parameter(a[name]))
        self.type, self.value = a["type"].flatten().long(), a["value"]
        self.group = a["group"].flatten().long()
        self.weight = a["weight"].item()

    def forward(self):
        image = self.type_embedding @ self.type_weight + self.hidden_bias
        x = torch.addmm(F.embedding(self.type, image), self.value, self.value_weight)
        logits = torch.addmm(self.out_bias, x.tanh_(), self.out_weight)
        return self.weight * F.cross_entropy(logits, self.group, reduction="sum")


class Placer(Planner):
    def __init__(self, a, constants):
        super().__init__()
        inputs, hidden = a["x"].shape[1], a["attention_v"].shape[1]
        self.encoder = torch.nn.LSTM(inputs, hidden, bidirectional=True)
        with torch.no_grad():
            for name, ours in (("", "forward"), ("_reverse", "backward")):
                for part, array in (("weight_ih", "input"), ("weight_hh", "recurrent"),
                                    ("bias_ih", "bias")):
                    value = reorder(a[f"{ours}_{array}"])
                    value = value.t() if part != "bias_ih" else value.flatten()
                    getattr(self.encoder, f"{part}_l0{name}").copy_(value)
                getattr(self.encoder, f"bias_hh_l0{name}").zero_().requires_grad_(False)
        for name in ("device_embedding", "decoder_input", "decoder_recurrent",
                     "decoder_bias", "attention_memory", "attention_query",
                     "attention_v", "out"):
            self.register_parameter(name, torch.nn.Parameter(a[name]))
        self.x = a["x"]
        self.device = a["device"].long()
        self.weight = a["weight"]
        devices = self.device_embedding.shape[0] - 1
        first = torch.full((self.device.shape[0], 1), devices)
        self.before = torch.cat([first, self.device[:, :-1]], dim=1)
        self.T, self.C = constants["temperature"], constants["tanh_constant"]

    def forward(self):
        states, (_, cells) = self.encoder(self.x.unsqueeze(1))
        states = states.squeeze(1)
        memory = states @ self.attention_memory
        samples, half = self.device.shape[0], states.shape[1] // 2
        v = self.attention_v.flatten()
        hidden = states[0, half:].expand(samples, half)
        cell = cells[1].expand(samples, half)
        # (steps, samples, 4 hidden)
        image = self.device_embedding @ self.decoder_input + self.decoder_bias
        image = F.embedding(self.before.t(), image).unbind(0)
        outputs, contexts = [], []
        for sums in image:
            sums = torch.addmm(sums, hidden, self.decoder_recurrent)
            i, f, o = sums[:, : 3 * half].sigmoid().chunk(3, dim=1)
            cell = torch.addcmul(f * cell, i, sums[:, 3 * half :].tanh())
            hidden = o * cell.tanh()
            query = hidden @ self.attention_query
            score = (query.unsqueeze(1) + memory).tanh_() @ v
            contexts.append(score.softmax(dim=1) @ memory)
            outputs.append(hidden)
        output = torch.cat([torch.stack(outputs, 1), torch.stack(contexts, 1)], dim=2)
        logits = self.C * torch.tanh(output @ self.out / self.T)
        chosen = F.cross_entropy(logits.flatten(0, 1), self.device.flatten(), reduction="none")
        return (self.weight * chosen.reshape(samples, -1)).sum()


NETWORKS = {"grouper": Grouper, "placer": Placer, "go": Go, "hsdag": Hsdag,
            "doppler": Doppler}


def main():
    warnings.filterwarnings("ignore", message=".*beta")  # of sparse tensors and reductions
    network, constants, arrays = read(sys.argv[1])
    model = NETWORKS[network](arrays, constants)
    weights = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(weights, lr=constants["lr"], eps=constants["epsilon"])

    def step(loss):
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, constants["clip"])
        optimizer.step()

    print("ready", flush=True)
    for line in sys.stdin:
        torch.set_num_threads(int(line))
        cpu_s, wall_s = time.process_time(), time.perf_counter()
        loss = model.update(step)
        cpu_s, wall_s = time.process_time() - cpu_s, time.perf_counter() - wall_s
        print(f"{cpu_s:.9g} {wall_s:.9g} {loss.item():.9g}", flush=True)


if __name__ == "__main__":
    main()
