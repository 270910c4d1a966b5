#!/usr/bin/env bash
# PyTorch's FlopCounterMode counts nothing of a transformer layer that is evaluated. In eval() a layer of nn.TransformerEncoder
# runs as one fused op, for which the counter has no formula, and it does not say so. The same layer and input in train()
# do the same products: dropout is 0. Seen with torch 2.15.0 on a CPU:
#
#   train() 631296 FLOP, eval() 0 FLOP
#
# Who counts the work of a forward pass gets less than the truth unless torch.backends.mha.set_fastpath_enabled(False)
# is called first, as the witness pytorch does.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.15.0 numpy==2.4.6
seen=$("$folder/venv/bin/python" - "$folder" <<'P' 2>/dev/null | tail -n 1
import torch
from torch.utils.flop_counter import FlopCounterMode

layer = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.0)
x = torch.randn(4, 9, 32)
counts = []
for training in (True, False):
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        layer.train(training)(x)
    counts.append(counter.get_total_flops())
print("train() {} FLOP, eval() {} FLOP".format(*counts))
P
)
echo "$seen"
[[ $seen == "train() 631296 FLOP, eval() 0 FLOP" ]]
