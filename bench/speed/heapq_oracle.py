#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The profile `ideal` in Python with heapq: python3 heapq_oracle.py FILE RUNS

Reads a placed problem (format: bench/speed/README.md), simulates it RUNS times, and prints
a line a run: CPU seconds, step time in ns, peak bytes of each device.
"""
import sys
import time
from heapq import heappop, heappush

NEW, SHARES_INPUT, NO_BYTES = range(3)


class Problem:
    """The file, as lists."""

    def __init__(self, path):
        with open(path) as file:
            words = iter(file.read().split())

        def number():
            return int(next(words))

        def pairs():
            return [(number(), number()) for _ in range(number())]

        self.devices, self.links, ops, tensors = (number() for _ in range(4))
        self.host = [number() for _ in range(self.devices)]
        self.route = [[self._route(number, words) for _ in range(self.devices)]
                      for _ in range(self.devices)]
        self.device, self.duration, self.workspace, self.persistent = [], [], [], []
        self.first, self.outputs, self.inputs, self.followers = [], [], [], []
        for _ in range(ops):
            self.device.append(number())
            self.duration.append(number())
            self.workspace.append(number())
            self.persistent.append(number())
            self.first.append(number())
            begin = number()
            self.outputs.append(range(begin, begin + number()))
            self.inputs.append(pairs())
            self.followers.append([number() for _ in range(number())])
        self.home, self.bytes, self.copy_buffer, self.copy_bytes = [], [], [], []
        self.readers = []
        for _ in range(tensors):
            self.home.append(number())
            self.bytes.append(number())
            self.copy_buffer.append(number())
            self.copy_bytes.append(number())
            self.readers.append(pairs())

    @staticmethod
    def _route(number, words):
        latency, ns_per_byte = number(), float(next(words))
        return latency, ns_per_byte, [number() for _ in range(number())]


class Buffer:
    __slots__ = ("bytes", "memory", "holders")

    def __init__(self, size, memory):
        self.bytes, self.memory, self.holders = size, memory, 1


class Run:
    """One step."""

    def __init__(self, problem):
        p = self.p = problem
        self.now = self.sequence = 0
        self.events = []
        self.ready = [[] for _ in range(p.devices)]
        self.is_busy = [False] * p.devices
        self.used = [0] * p.devices
        self.peak = [0] * p.devices
        self.stream_free = [[0, 0, 0] for _ in range(p.devices)]
        self.link_free = [0] * p.links
        self.missing = [len(inputs) for inputs in p.inputs]
        for followers in p.followers:
            for op in followers:
                self.missing[op] += 1
        self.needed = {}  # by (tensor, memory): edges, and at home copies
        self.buffer = {}  # by (tensor, memory): a Buffer, or None
        for tensor, readers in enumerate(p.readers):
            home = p.home[tensor]
            for _, memory in readers:
                here = (tensor, memory)
                if memory != home and here not in self.needed:
                    self.needed[tensor, home] = self.needed.get((tensor, home), 0) + 1
                self.needed[here] = self.needed.get(here, 0) + 1

    def take(self, memory, size):
        self.used[memory] += size
        if self.used[memory] > self.peak[memory]:
            self.peak[memory] = self.used[memory]

    def create(self, tensor, memory, size):
        self.buffer[tensor, memory] = Buffer(size, memory) if size > 0 else None
        self.take(memory, size)

    def drop(self, here):
        buffer = self.buffer[here]
        if buffer is None:
            return
        buffer.holders -= 1
        if buffer.holders == 0:
            self.used[buffer.memory] -= buffer.bytes

    def release(self, here):
        self.needed[here] -= 1
        if self.needed[here] == 0:
            self.drop(here)

    def share_input(self, op, output):
        p, home = self.p, self.p.home[output]
        if p.first[op] == NO_BYTES:
            self.buffer[output, home] = None
            return True
        if p.first[op] == NEW or p.inputs[op][0][1] != home:
            return False
        buffer = self.buffer[output, home] = self.buffer[p.inputs[op][0][0], home]
        if buffer is not None:
            buffer.holders += 1
        return True

    def start_next(self, device):
        if self.is_busy[device] or not self.ready[device]:
            return
        p, op = self.p, heappop(self.ready[device])[2]
        self.is_busy[device] = True
        for tensor in p.outputs[op]:
            if tensor != p.outputs[op][0] or not self.share_input(op, tensor):
                self.create(tensor, p.home[tensor], p.bytes[tensor])
        self.take(device, p.workspace[op])
        self.schedule(self.now + p.duration[op], device, op, -1)

    def schedule(self, at, rank, number, memory):
        self.sequence += 1
        heappush(self.events, (at, rank, self.sequence, number, memory))

    def arrive(self, op):
        self.missing[op] -= 1
        if self.missing[op] == 0:
            self.be_ready(op)

    def be_ready(self, op):
        device = self.p.device[op]
        self.sequence += 1
        heappush(self.ready[device], (self.now, self.sequence, op))
        self.start_next(device)

    def tell(self, tensor, memory):
        for op, read_in in self.p.readers[tensor]:
            if read_in == memory:
                self.arrive(op)

    def request(self, tensor, home, to):
        p = self.p
        latency, ns_per_byte, links = p.route[home][to]
        from_cpu, to_cpu = p.host[home] == home, p.host[to] == to
        device = to if from_cpu and not to_cpu else home
        channel = 2 if from_cpu == to_cpu else 1 if to_cpu else 0
        self.create(tensor, to, p.copy_buffer[tensor])
        start = max(self.now, self.stream_free[device][channel])
        for link in links:
            start = max(start, self.link_free[link])
        end = start + latency + int(p.copy_bytes[tensor] * ns_per_byte + 0.5)
        self.stream_free[device][channel] = end
        for link in links:
            self.link_free[link] = end
        self.schedule(end, p.devices + 3 * device + channel, tensor, to)

    def end_op(self, op):
        p, device = self.p, self.p.device[op]
        self.used[device] -= p.workspace[op]
        for tensor in p.outputs[op]:
            if not p.readers[tensor]:
                self.drop((tensor, p.home[tensor]))
        for here in p.inputs[op]:
            self.release(here)
        for tensor in p.outputs[op]:
            home = p.home[tensor]
            self.tell(tensor, home)
            for _, memory in p.readers[tensor]:
                if memory != home and (tensor, memory) not in self.buffer:
                    self.request(tensor, home, memory)
        for follower in p.followers[op]:
            self.arrive(follower)
        self.is_busy[device] = False
        self.start_next(device)

    def step(self):
        p = self.p
        for op, size in enumerate(p.persistent):
            self.take(p.device[op], size)
        for op in [op for op, missing in enumerate(self.missing) if missing == 0]:
            self.be_ready(op)
        while self.events:
            self.now, _, _, number, memory = heappop(self.events)
            if memory < 0:
                self.end_op(number)
            else:
                self.release((number, p.home[number]))
                self.tell(number, memory)
        return self.now


def main():
    problem = Problem(sys.argv[1])
    for _ in range(int(sys.argv[2])):
        start = time.process_time()
        run = Run(problem)
        step_time = run.step()
        print(f"{time.process_time() - start:.9f}", step_time, *run.peak)


if __name__ == "__main__":
    main()
