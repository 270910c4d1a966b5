#!/usr/bin/env bash
# A SavedModel that Keras exports has three variables for each one of the model: VarHandleOps with different shared names,
# all of which the restoring part of the graph fills. Whoever adds up the variables of the graph gets three times the
# parameters. Seen with keras 3.15.1 and TensorFlow 2.21.0:
#
#   2 variables in the model, 6 in its SavedModel
#
# Emplace counts the variables that the step reads.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check keras==3.15.1 tensorflow-cpu==2.21.0
seen=$("$folder/venv/bin/python" - "$folder" <<'P' 2>/dev/null | tail -n 1
import sys

import keras
from tensorflow.core.protobuf import saved_model_pb2

model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4)])
model.export(sys.argv[1] + "/model", verbose=False)
saved = saved_model_pb2.SavedModel()
with open(sys.argv[1] + "/model/saved_model.pb", "rb") as file:
    saved.ParseFromString(file.read())
handles = [node for node in saved.meta_graphs[0].graph_def.node if node.op == "VarHandleOp"]
print(f"{len(model.variables)} variables in the model, {len({n.attr['shared_name'].s for n in handles})} in its SavedModel")
P
)
echo "$seen"
[[ $seen == "2 variables in the model, 6 in its SavedModel" ]]
