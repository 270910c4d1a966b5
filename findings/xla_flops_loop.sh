#!/usr/bin/env bash
# XLA's cost_analysis counts the body of a loop once, also where it knows the number of iterations. A scan over 10 layers
# of one product each has a tenth of the FLOPs of the same layers written out, though the compiled loop says
# known_trip_count 10. Seen with jax 0.10.2 on a CPU:
#
#   products counted: 1 in a scan of 10, 10 written out
#
# Emplace unrolls loops of known length; the witness jax writes them out for its reference.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check jax==0.10.2 jaxlib==0.10.2
seen=$("$folder/venv/bin/python" - "$folder" <<'P' 2>/dev/null | tail -n 1
import jax
import jax.numpy as jnp


def layers(x, weights, unroll):
    return jax.lax.scan(lambda x, w: (x @ w, None), x, weights, unroll=unroll)[0]


x, weights = jnp.ones((8, 64)), jnp.ones((10, 64, 64))
counts = []
for unroll in (False, True):
    costs = jax.jit(lambda x, w: layers(x, w, unroll)).lower(x, weights).compile().cost_analysis()
    counts.append((costs[0] if isinstance(costs, list) else costs)["flops"] / (2 * 8 * 64 * 64))
print("products counted: {:.0f} in a scan of 10, {:.0f} written out".format(*counts))
P
)
echo "$seen"
[[ $seen == "products counted: 1 in a scan of 10, 10 written out" ]]
