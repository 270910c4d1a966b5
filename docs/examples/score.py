# SPDX-License-Identifier: GPL-3.0-or-later
"""Scores two placements of a language model on two GPUs, and explains one."""
import emplace

problem = emplace.Problem("rnnlm:layers=2,steps=20,units=256,batch=64", "k40x2")
oracle = emplace.Oracle(problem, threads=2)
ops = problem.graph.op_count

one_gpu = [1] * ops
halves = [1 if place < ops // 2 else 2 for place in range(ops)]
times, fits = oracle.score([one_gpu, halves])
for name, time, fit in zip(["one GPU", "halves"], times, fits):
    print(f"{name}: {time:.6f} s, {'fits' if fit else 'out of memory'}")

print(oracle.explain(halves))
