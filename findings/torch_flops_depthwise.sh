#!/usr/bin/env bash
# PyTorch's FlopCounterMode counts the gradient of the filter of a grouped convolution without its groups. A depthwise
# convolution of 32 channels takes 2 * 32 * 16 * 16 * 9 = 147,456 FLOP forward, and each of its two gradients takes as
# many: 294,912 FLOP backward. The gradient of the input is counted so, that of the filter 32 times. Seen with torch
# 2.15.0 on a CPU:
#
#   forward 147456 FLOP, backward 4866048 FLOP
#
# Emplace counts two gradients of 147,456 FLOP; the witness pytorch corrects the reference for them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.15.0 numpy==2.4.6
seen=$("$folder/venv/bin/python" - "$folder" <<'P' 2>/dev/null | tail -n 1
import torch
from torch.utils.flop_counter import FlopCounterMode

conv = torch.nn.Conv2d(32, 32, 3, padding=1, groups=32, bias=False)
x = torch.randn(1, 32, 16, 16, requires_grad=True)
with FlopCounterMode(display=False) as forward:
    y = conv(x)
with FlopCounterMode(display=False) as backward:
    y.sum().backward()
print(f"forward {forward.get_total_flops()} FLOP, backward {backward.get_total_flops()} FLOP")
P
)
echo "$seen"
[[ $seen == "forward 147456 FLOP, backward 4866048 FLOP" ]]
