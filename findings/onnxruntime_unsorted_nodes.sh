#!/usr/bin/env bash
# ONNX Runtime runs what the checker refuses. The standard says that the nodes of a graph "must be topologically sorted";
# onnx.checker refuses a model whose nodes stand in the reverse order, the reference implementation fails on it, and strict
# shape inference, too. ONNX Runtime sorts the nodes itself and computes the right result, with no warning. Test suites of
# other runtimes (MIGraphX, Burn, Polygraphy) have such files. Seen with onnx 1.23.2 and onnxruntime 1.32.0, for
# y = -exp(relu(x)) of 0 and 1, its nodes backwards:
#
#   checker refuses, reference RuntimeError, shape inference InferenceError, ONNX Runtime [-1.0, -2.718]
#
# Emplace sorts them, too, and says so (docs/models.md).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
seen=$("$folder/venv/bin/python" - <<'P' 2>/dev/null | tail -n 1
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

nodes = [helper.make_node("Neg", ["b"], ["y"]), helper.make_node("Exp", ["a"], ["b"]), helper.make_node("Relu", ["x"], ["a"])]
graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
x = np.array([0, 1], np.float32)


def outcome(call):
    try:
        return call()
    except Exception as error:
        return type(error).__name__


checker = "passes" if outcome(lambda: onnx.checker.check_model(model)) is None else "refuses"
reference = outcome(lambda: ReferenceEvaluator(model).run(None, {"x": x})[0])
inference = outcome(lambda: onnx.shape_inference.infer_shapes(model, strict_mode=True))
options = onnxruntime.SessionOptions()
options.log_severity_level = 4
own = onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, {"x": x})[0]
print(f"checker {checker}, reference {reference}, shape inference {inference}, ONNX Runtime {[round(float(v), 3) for v in own]}")
P
)
echo "$seen"
[[ $seen == "checker refuses, reference RuntimeError, shape inference InferenceError, ONNX Runtime [-1.0, -2.718]" ]]
