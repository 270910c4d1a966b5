#!/usr/bin/env bash
# Both of PyTorch's ONNX exporters store a tied weight twice: the table of the embedding, and its transposition for the head,
# which constant folding has made a tensor of its own. The file of a small language model is so up to twice as large as its
# weights. Seen with torch 2.15.0, onnx 1.23.2 and onnxscript 0.7.2:
#
#   3200 parameters; in ONNX: 6400 with dynamo, 6400 without
#
# Emplace counts what is in the file, as a runtime loads it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.15.0 numpy==2.4.6 onnx==1.23.2 onnxscript==0.7.2
seen=$("$folder/venv/bin/python" - "$folder" <<'P' 2>/dev/null | tail -n 1
import sys

import onnx
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = torch.nn.Embedding(100, 32), torch.nn.Linear(32, 100, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens):
        return self.head(self.embed(tokens))


model, tokens, counts = Model().eval(), torch.arange(8)[None], []
for dynamo in (True, False):
    path = sys.argv[1] + "/model.onnx"
    torch.onnx.export(model, (tokens,), path, dynamo=dynamo, external_data=False, verbose=False)
    counts.append(sum(onnx.numpy_helper.to_array(t).size for t in onnx.load(path).graph.initializer if t.data_type == 1))
print(f"{sum(p.numel() for p in model.parameters())} parameters; in ONNX: {counts[0]} with dynamo, {counts[1]} without")
P
)
echo "$seen"
[[ $seen == "3200 parameters; in ONNX: 6400 with dynamo, 6400 without" ]]
