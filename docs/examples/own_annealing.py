# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole search from outside: simulated annealing by moves of single colocation classes. It finds what
`--method anneal --options moves=ops,near=0,propagate=0` finds, to the bit. Run it:

    emplace place nmt:layers=2 --machine k40x2 --method "cmd:python3 own_annealing.py" --budget 400
"""
import math

import emplace

SAMPLES, WARMUP, HEAT, COOLING = 4, 100, 0.2, 1000  # as method `anneal` has them by default
MOST_DRAWS = 20
MOVE, DECISION = 0, 1  # the streams of a move's number


def cost(score):
    """Step time, and more for what does not fit in memory."""
    return score.step_time if score.fits else score.step_time * (2 + 10 * score.overflow)


class Annealing:
    """All samples of a batch are one move away from where the walk stands."""

    by_class = True  # a row has a device for each colocation class

    def __init__(self, task):
        runs = {c for c, is_folded in zip(task.class_of_op, task.is_folded) if not is_folded}
        self.movable = [c for c in range(task.class_count) if c in runs and task.class_kinds[c] != "cpu"]
        self.peaks = [device["peak_flops_per_s"] for device in task.devices]
        gpu = [device["kind"] for device in task.devices].index("gpu")
        self.here = [gpu if kinds != "cpu" else 0 for kinds in task.class_kinds]
        self.here_s, self.seed, self.length = None, task.seed, task.budget
        self.moves, self.drafted, self.told = [], 0, 0
        self.changes = []  # of cost, by the first moves

    def draw_device(self, stream):
        """In proportion to peak FLOP/s."""
        u, up_to, total = stream.uniform(), 0.0, 0.0
        for peak in self.peaks:
            total += peak
        for device, peak in enumerate(self.peaks):
            up_to += peak
            if u < up_to / total:
                return device
        return len(self.peaks) - 1

    def draw_move(self):
        """The next move that changes something: its number, a class and a device."""
        while True:
            number = self.drafted
            self.drafted += 1
            stream = emplace.Random(self.seed, number, MOVE)
            for _ in range(MOST_DRAWS):
                stream.below(100)  # whether a device is copied along edges: never here
                stream.below(1)  # what is moved: always a class
                its_class = self.movable[stream.below(len(self.movable))]
                stream.below(100)  # whether it goes to a neighbour: never here
                device = self.draw_device(stream)
                if self.here[its_class] != device:
                    return number, its_class, device

    def ask(self, count):
        if self.here_s is None:
            return [self.here]
        self.moves = [self.draw_move() for _ in range(min(count, SAMPLES))]
        rows = [list(self.here) for _ in self.moves]
        for row, (_, its_class, device) in zip(rows, self.moves):
            row[its_class] = device
        return rows

    def temperature(self):
        """Falls geometrically from a share of the deviation of the first moves' changes."""
        if self.told <= WARMUP or not self.changes:
            return 0.0
        count, total, squares = len(self.changes), 0.0, 0.0
        for change in self.changes:
            total += change
            squares += change * change
        mean = total / count
        left = self.length - WARMUP
        done = min(1.0, (self.told - WARMUP) / left) if left > 0 else 1.0
        return HEAT * math.sqrt(max(0.0, squares / count - mean * mean)) * COOLING**-done

    def accepts(self, change, temperature, number):
        """Metropolis' rule."""
        if change <= 0.0:
            return True
        return temperature > 0.0 and emplace.Random(self.seed, number, DECISION).uniform() < math.exp(
            -change / temperature)

    def tell(self, scores):
        costs, temperature = [cost(score) for score in scores], self.temperature()
        if self.here_s is None:
            self.here_s = costs[0]
        else:
            if self.told <= WARMUP:
                self.changes += [c / self.here_s - 1 for c in costs]
            taken = None
            for c, move in zip(costs, self.moves):
                if self.accepts(c / self.here_s - 1, temperature, move[0]):
                    self.here_s, taken = c, move
            if taken:
                self.here[taken[1]] = taken[2]
        self.told += len(scores)


if __name__ == "__main__":
    emplace.serve(Annealing)
