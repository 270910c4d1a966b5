#!/usr/bin/env bash
# TensorFlow's profiler counts no FLOP of an Einsum, the op that Keras 3 builds attention of:
# the same product of two matrices counts as MatMul and not as Einsum. Seen with TensorFlow 2.21.0:
#
#   MatMul 65536 FLOP, Einsum 0 FLOP
#
# Emplace counts both alike; the witness tensorflow adds Einsum to its reference.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check tensorflow-cpu==2.21.0 keras==3.15.1
seen=$("$folder/venv/bin/python" - "$folder" <<'P' 2>/dev/null | tail -n 1
import tensorflow as tf

a, b = tf.TensorSpec((64, 32)), tf.TensorSpec((32, 16))
options = tf.compat.v1.profiler.ProfileOptionBuilder.float_operation()
options["output"] = "none"
counts = []
for product in (lambda x, y: x @ y, lambda x, y: tf.einsum("ab,bc->ac", x, y)):
    graph = tf.function(product, input_signature=[a, b]).get_concrete_function().graph
    counts.append(tf.compat.v1.profiler.profile(graph, options=options).total_float_ops)
print("MatMul {} FLOP, Einsum {} FLOP".format(*counts))
P
)
echo "$seen"
[[ $seen == "MatMul 65536 FLOP, Einsum 0 FLOP" ]]
