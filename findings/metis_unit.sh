#!/usr/bin/env bash
# METIS cuts a graph otherwise if all weights of its vertices are given in a unit ten times smaller. The two problems
# are the same: tolerances are relative, and nothing else in the input has to do with these weights. Recursive bisection
# with weights of 1 to 20 also leaves a part 10.6 % above the mean, where METIS's default for it is 0.1 %, and returns
# success. Both are better in the smaller unit. Seen with pymetis 2025.2.2 from PyPI, which brings METIS 5:
#
#   weights: cut 4913, largest part 1.106; weights x 10: cut 4805, largest part 1.072
#
# A caller should use the whole range of the integers for weights, and always in the same way.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pymetis==2025.2.2
seen=$("$folder/venv/bin/python" - <<'P' | tail -n 1
import random

import pymetis

random.seed(3)
count, parts, edges = 64, 4, {}
for i in range(count):
    for j in random.sample(range(count), 4):
        if i != j:
            edges[tuple(sorted((i, j)))] = random.randint(1, 100)
rows = [[] for _ in range(count)]
for (a, b), weight in sorted(edges.items()):
    rows[a].append((b, weight))
    rows[b].append((a, weight))
offsets = [0]
for row in rows:
    offsets.append(offsets[-1] + len(row))
adjacency = pymetis.CSRAdjacency(offsets, [n for row in rows for n, _ in row])
weights = [random.randint(1, 20) for _ in range(count)]


def cut(unit):
    size, part = pymetis.part_graph(parts, adjacency=adjacency, vweights=[unit * w for w in weights],
                                    eweights=[w for row in rows for _, w in row], recursive=True,
                                    options=pymetis.Options(seed=1))  # raises where METIS fails
    load = [sum(w for w, p in zip(weights, part) if p == number) for number in range(parts)]
    return f"cut {size}, largest part {max(load) * parts / sum(load):.3f}"


print(f"weights: {cut(1)}; weights x 10: {cut(10)}")
P
)
echo "$seen"
[[ $seen == "weights: cut 4913, largest part 1.106; weights x 10: cut 4805, largest part 1.072" ]]
