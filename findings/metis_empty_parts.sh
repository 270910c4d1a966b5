#!/usr/bin/env bash
# METIS returns success for a partition in which parts are empty: of a path of 16 vertices, one of weight 1000 and
# the others of weight 1, it puts all vertices into one of 4 parts. Any cut with a vertex in each part would be better
# balanced. Seen with pymetis 2025.2.2 from PyPI, which brings METIS 5:
#
#   parts of 4 with vertices: 1, status: success
#
# A caller must count the parts itself; Emplace warns of devices that a cut leaves without ops.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pymetis==2025.2.2
seen=$("$folder/venv/bin/python" - <<'P' | tail -n 1
import pymetis

count, parts = 16, 4
path = [[j for j in (i - 1, i + 1) if 0 <= j < count] for i in range(count)]
weights = [1000 if i == 5 else 1 for i in range(count)]
_, part_of_vertex = pymetis.part_graph(parts, adjacency=path, vweights=weights)  # raises where METIS fails
print(f"parts of {parts} with vertices: {len(set(part_of_vertex))}, status: success")
P
)
echo "$seen"
[[ $seen == "parts of 4 with vertices: 1, status: success" ]]
