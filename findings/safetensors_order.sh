#!/usr/bin/env bash
# safetensors writes the tensors of a file by their element size, largest first, and then by their names as texts, in
# whatever order they are given. So the float32 norms of all layers come before the float16 matrices of any, and layer 10
# lies between layers 1 and 2: the weights of a layer are no range of the file, and who streams layers in the order of the
# file reads them in another than they are needed. Seen with safetensors 0.8.0:
#
#   matrices of layers: 0 1 10 11 2 3 4 5 6 7 8 9, after all norms
#
# Emplace takes the order in which weights are needed from the graph, never from a file of weights.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check safetensors==0.8.0 numpy==2.4.6
seen=$("$folder/venv/bin/python" - "$folder" <<'P' | tail -n 1
import json
import sys

import numpy as np
from safetensors.numpy import save_file

weights = {}
for layer in range(12):
    weights[f"layers.{layer}.matrix"] = np.zeros((4, 4), np.float16)
    weights[f"layers.{layer}.norm"] = np.zeros(4, np.float32)
path = sys.argv[1] + "/model.safetensors"
save_file(weights, path)
with open(path, "rb") as file:
    header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
names = sorted(header, key=lambda name: header[name]["data_offsets"][0])
kinds = [name.split(".")[2] for name in names]
matrices = [name.split(".")[1] for name in names if name.endswith("matrix")]
where = "after all norms" if kinds == ["norm"] * 12 + ["matrix"] * 12 else "among norms"
print("matrices of layers:", " ".join(matrices) + ",", where)
P
)
echo "$seen"
[[ $seen == "matrices of layers: 0 1 10 11 2 3 4 5 6 7 8 9, after all norms" ]]
