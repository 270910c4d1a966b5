# SPDX-License-Identifier: GPL-3.0-or-later
"""A method as an object of Python: moves one colocation class of the best placement at a time."""
import sys

import emplace


class Climber:
    """ask() gives rows, tell() takes their scores in the same order."""

    by_class = True  # a row has a device for each colocation class

    def __init__(self, task):
        self.random = emplace.Random(task.seed)
        self.devices = len(task.devices)
        self.best, self.best_time = [0] * task.class_count, float("inf")
        self.asked = []

    def ask(self, count):
        self.asked = []
        for _ in range(count):
            row = list(self.best)
            row[self.random.below(len(row))] = self.random.below(self.devices)
            self.asked.append(row)
        return self.asked

    def tell(self, scores):
        for row, score in zip(self.asked, scores):
            if score.fits and score.step_time < self.best_time:
                self.best, self.best_time = row, score.step_time


problem = emplace.Problem(sys.argv[1] if len(sys.argv) > 1 else "rnnlm:layers=1,units=256", "k40x2")
record = emplace.place(problem, Climber, budget=512, seed=1)
print(f"{record.evaluations} evaluations, {record.step_time_s:.6f} s")
