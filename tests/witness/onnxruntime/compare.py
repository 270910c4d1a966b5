# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares Emplace's reading of random ONNX models with ONNX Runtime: shapes, element types, constants.

    compare.py EMPLACE --models N --seed S [--only OP] [--keep FOLDER]

Each model has one node. Its shapes and types are compared with those of what the runtime computes. Then its
inputs become constants, and what Emplace computes of them before a step is compared number by number, where
it computes anything. The last line is "N of M agree"; the exit status is 1 where N is less than M.
"""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import cases


def read_graph(emplace, model, folder):
    """The ops and edges of a model as Emplace reads it, or the sentence that refuses it."""
    path, out = folder / "model.onnx", folder / "graph.json"
    path.write_bytes(model.SerializeToString())
    out.unlink(missing_ok=True)
    ran = subprocess.run([emplace, "graph", str(path), "--out", str(out), "--force"], capture_output=True, text=True, timeout=120,
                         check=False)
    if ran.returncode != 0 or not out.exists():
        said = [line for line in ran.stderr.splitlines() if not line.startswith("emplace: warning: assumed")]
        return None, (said or [f"exit status {ran.returncode}"])[-1].replace(str(path), "model.onnx")
    return json.loads(out.read_text()), ""


def with_nodes(case, fixed, more, outputs, initializers=(), inputs=()):
    """The case's model with nodes behind it; fixed inputs are the values of Constant nodes."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model(set() if fixed else None))
    if fixed:
        constants = [helper.make_node("Constant", [], [name], value=numpy_helper.from_array(a, name)) for name, a in case.feeds.items()]
        nodes = constants + list(model.graph.node)
        del model.graph.node[:]
        model.graph.node.extend(nodes)
        del model.graph.input[:]
    model.graph.node.extend(more)
    model.graph.initializer.extend(initializers)
    model.graph.input.extend(inputs)
    del model.graph.output[:]
    model.graph.output.extend(outputs)
    return model


def names_of(case):
    if hasattr(case, "is_network"):
        return case.names
    return [name for name in case.node.output if name]


def shapes_differ(case, emplace, folder):
    """Compares the shapes and types of the outputs; "" = they are equal."""
    casts, outputs = [], []
    for i, (name, array) in enumerate(zip(names_of(case), case.made)):
        to = TensorProto.FLOAT if array.dtype != np.float32 else TensorProto.DOUBLE
        casts.append(helper.make_node("Cast", [name], [f"out_{i}"], name=f"out_{i}", to=to))
        outputs.append(helper.make_tensor_value_info(f"out_{i}", to, None))
    graph, refusal = read_graph(emplace, with_nodes(case, False, casts, outputs), folder)
    if graph is None:
        return refusal
    ops = {op["name"]: op for op in graph["ops"]}
    by_id = {op["id"]: op for op in graph["ops"]}
    for i, array in enumerate(case.made):
        op = ops.get(f"out_{i}")
        if op is None:
            return f"output {i} is made by no op"
        shape = op["outputs"][0]["shape"]
        if shape != list(array.shape):
            return f"output {i} has the shape {list(array.shape)}, Emplace says {shape}"
        edge = next((e for e in graph["edges"] if e["to"] == op["id"] and e["input"] == 0), None)
        if edge is not None and op["type"] == "Cast":
            kind = by_id[edge["from"]]["outputs"][edge["output"]]["dtype"]
            if kind != str(array.dtype):
                return f"output {i} has the type {array.dtype}, Emplace says {kind}"
    return ""


def numbers_differ(case, emplace, folder):
    """Compares the constants; "" = they are equal, None = Emplace does not compute them."""
    verdict = None
    for name, array in zip(names_of(case), case.made):
        expected = array.astype(np.float64)
        if not np.all(np.isfinite(expected)) or array.size > 2000:
            continue
        close = 0.0 if array.dtype.kind in "iub" else 2e-3 if array.dtype == np.float16 else 1e-5
        tolerance = close * np.maximum(1.0, np.abs(expected))
        more = [helper.make_node("Cast", [name], ["p0"], to=TensorProto.DOUBLE),
                helper.make_node("Constant", [], ["p1"], value=numpy_helper.from_array(expected)),
                helper.make_node("Constant", [], ["p2"], value=numpy_helper.from_array(tolerance)),
                helper.make_node("Sub", ["p0", "p1"], ["p3"]), helper.make_node("Abs", ["p3"], ["p4"]),
                helper.make_node("LessOrEqual", ["p4", "p2"], ["p5"]), helper.make_node("Cast", ["p5"], ["p6"], to=TensorProto.INT64),
                helper.make_node("ReduceSum", ["p6"], ["p7"], keepdims=0), helper.make_node("Constant", [], ["p8"], value_ints=[1]),
                helper.make_node("Reshape", ["p7", "p8"], ["p9"]), helper.make_node("Tile", ["x", "p9"], ["probe"], name="probe")]
        weight = numpy_helper.from_array(np.ones([2], np.float32), "a_weight")
        one = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
        out = helper.make_tensor_value_info("probe", TensorProto.FLOAT, None)
        graph, refusal = read_graph(emplace, with_nodes(case, True, more, [out], [weight], [one]), folder)
        if graph is None:
            if "depends on data" in refusal:
                continue
            return f"as constants: {refusal}"
        shape = next(op for op in graph["ops"] if op["name"] == "probe")["outputs"][0]["shape"]
        verdict = ""
        if shape != [array.size]:
            return f"{shape[0] if shape else 0} of {array.size} numbers of {name} agree, of {array.reshape(-1)[:6]}"
    return verdict


def examine(job):
    case, emplace, keep = job
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shape = shapes_differ(case, emplace, folder)
        numbers = None if shape or hasattr(case, "is_network") else numbers_differ(case, emplace, folder)
    wrong = shape or numbers or ""
    if wrong and keep:
        path = pathlib.Path(keep) / f"{case.op}_{case.version}_{abs(hash(wrong)) % 10000}.onnx".replace(" ", "_")
        path.write_bytes(case.model().SerializeToString())
    return case, wrong, numbers is not None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("emplace")
    parser.add_argument("--models", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="draw only models of this op, or \"networks\"")
    parser.add_argument("--keep", help="a folder for models that differ")
    options = parser.parse_args()
    if options.only and options.only != "networks" and options.only not in cases.MAKERS:
        parser.error(f"no models of {options.only} are drawn; there are networks, {', '.join(sorted(cases.MAKERS))}")
    if options.keep:
        pathlib.Path(options.keep).mkdir(parents=True, exist_ok=True)
    drawn = cases.draw_cases(options.models, options.seed, options.only)
    differences, witnesses = collections.defaultdict(list), collections.Counter()
    compared = computed = 0
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for case, wrong, is_computed in pool.map(examine, ((case, options.emplace, options.keep) for case in drawn)):
            compared += 1
            computed += is_computed
            witnesses[case.witness] += 1
            if wrong:
                differences[case.op].append((case.version, wrong))
    for op in sorted(differences):
        print(f"{op}: {len(differences[op])} differ")
        for version, wrong in differences[op][:3]:
            print(f"  operators of version {version}: {wrong}")
    agree = compared - sum(len(found) for found in differences.values())
    print(f"{witnesses['runtime']} of the runtime, {witnesses['reference']} of the standard's reference where the runtime has no kernel; "
          f"numbers of {computed}")
    print(f"{agree} of {compared} agree")
    return 0 if agree == compared else 1


if __name__ == "__main__":
    sys.exit(main())
