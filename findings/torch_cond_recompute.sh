#!/usr/bin/env bash
# The gradient of PyTorch's torch.cond runs the forward pass of the branch again. A step of two linear layers makes five
# products of matrices: two forward, one for each gradient of a weight, one for the gradient between the layers. With the
# second layer as the branch of a torch.cond there are six, although the same branch is taken. Seen with torch 2.15.0 on a
# CPU under torch.compile, whose backend does not matter:
#
#   plain: 2 forward, 5 in a step; torch.cond: 2 forward, 6 in a step
#
# So work and time of a step with a large branch are 4/3 of what three times its forward pass suggests, and its trace has
# ops that no line of the model asks for. In return the activations of the branch are not held.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.15.0 numpy==2.4.6
seen=$("$folder/venv/bin/python" - <<'P' 2>/dev/null | tail -n 1
import torch
from torch.profiler import ProfilerActivity, profile

first, second = torch.nn.Linear(32, 32), torch.nn.Linear(32, 32)


def branch(x):
    return second(x).relu()


def plain(x):
    return branch(first(x))


def cond(x):
    x = first(x)
    return torch.cond(x.sum() > -1e9, branch, lambda x: x.sin(), (x,))


def products(f, is_step):
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        y = f(torch.ones(8, 32))
        if is_step:
            y.square().mean().backward()
    return sum(event.count for event in seen.key_averages() if event.key in ("aten::mm", "aten::addmm"))


lines = []
for name, f in (("plain", plain), ("torch.cond", cond)):
    f = torch.compile(f, backend="aot_eager")
    for _ in range(2):
        f(torch.ones(8, 32)).square().mean().backward()
    lines.append(f"{name}: {products(f, False)} forward, {products(f, True)} in a step")
print("; ".join(lines))
P
)
echo "$seen"
[[ $seen == "plain: 2 forward, 5 in a step; torch.cond: 2 forward, 6 in a step" ]]
