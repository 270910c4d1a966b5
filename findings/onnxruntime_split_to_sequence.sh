#!/usr/bin/env bash
# ONNX Runtime drops an axis that the standard keeps. The standard says of keepdims of SplitToSequence: "If input 'split' is
# specified, this attribute is ignored". ONNX Runtime heeds keepdims=0 where split is one number: a part of size 1 loses its
# axis, and with larger parts the model cannot run. onnx.checker passes both models, and the reference implementation and the
# shape inference of the package onnx keep the axis. Seen with onnx 1.23.2 and onnxruntime 1.32.0, for a tensor of 4 x 3:
#
#   split 1: reference (1, 3), ONNX Runtime (3,); split 2: reference (2, 3), ONNX Runtime Fail
#
# Emplace goes by the standard. The witness onnxruntime draws no such node.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
seen=$("$folder/venv/bin/python" - <<'P' 2>/dev/null | tail -n 1
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

x = np.zeros((4, 3), np.float32)
lines = []
for size in (1, 2):
    nodes = [helper.make_node("SplitToSequence", ["x", "size"], ["parts"], axis=0, keepdims=0),
             helper.make_node("SequenceAt", ["parts", "zero"], ["y"])]
    numbers = [numpy_helper.from_array(np.array(number), name) for number, name in ((size, "size"), (0, "zero"))]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 3])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", "columns"])], numbers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    reference = ReferenceEvaluator(model).run(None, {"x": x})[0].shape
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    try:
        own = session.run(None, {"x": x})[0].shape
    except Exception as error:
        own = type(error).__name__
    lines.append(f"split {size}: reference {reference}, ONNX Runtime {own}")
print("; ".join(lines))
P
)
echo "$seen"
[[ $seen == "split 1: reference (1, 3), ONNX Runtime (3,); split 2: reference (2, 3), ONNX Runtime Fail" ]]
