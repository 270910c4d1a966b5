#!/usr/bin/env bash
# onnx.checker passes types that no version of the standard has. ImageScaler, Affine, Scale, ScaledTanh, ParametricSoftplus
# and Crop were experiments, which onnx 1.5 took out in 2019. The checker still passes them in the standard's own domain,
# whatever version of the operators a model imports, with a line on the standard output; an unknown type of any other name it
# refuses. ONNX Runtime runs them in models of versions up to 9 and refuses them from version 10 on. Seen with onnx 1.23.2
# and onnxruntime 1.32.0:
#
#   version 9: passes, runs; version 10: passes, Fail; version 22: passes, Fail; NoScaler: refuses
#
# Emplace reads them, whatever the version.
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

TYPES = {"ImageScaler": {"scale": 2.0, "bias": [1.0, 1.0, 1.0]}, "Affine": {"alpha": 2.0, "beta": 1.0}, "Scale": {"scale": 2.0},
         "ScaledTanh": {"alpha": 1.0, "beta": 1.0}, "ParametricSoftplus": {"alpha": 1.0, "beta": 1.0},
         "Crop": {"border": [1, 1, 1, 1]}}


def model_of(kind, attributes, version):
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", [1, 3, 4, 4]), ("y", list("abcd")))]
    graph = helper.make_graph([helper.make_node(kind, ["x"], ["y"], **attributes)], "g", info[:1], info[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=8)


def check(model):
    try:
        onnx.checker.check_model(model)
        return "passes"
    except onnx.checker.ValidationError:
        return "refuses"


def run(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, {"x": np.ones((1, 3, 4, 4), np.float32)})
        return "runs"
    except Exception as error:
        return type(error).__name__


parts = []
for version in (9, 10, 22):
    models = [model_of(kind, attributes, version) for kind, attributes in TYPES.items()]
    outcomes = {(check(model), run(model)) for model in models}
    parts.append(f"version {version}: " + " or ".join(", ".join(one) for one in sorted(outcomes)))
parts.append("NoScaler: " + check(model_of("NoScaler", {}, 22)))
print("; ".join(parts))
P
)
echo "$seen"
[[ $seen == "version 9: passes, runs; version 10: passes, Fail; version 22: passes, Fail; NoScaler: refuses" ]]
