# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares Emplace with the package onnx: shapes by its inference, and which models its checker refuses.

    compare.py EMPLACE [--damaged N] [--seed S]

The models are those of the witness ortclock. Each value between nodes gets a Cast behind it, whose shape Emplace says.
Then N models are drawn, each with a node that is damaged; the checker and Emplace both refuse it, or neither does.
Inputs beyond those that an op has are not drawn, as Emplace passes over them. The
last line is "N of M agree".
"""

import argparse
import collections
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import onnx
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "ortclock"))
import models  # noqa: E402


def read_graph(emplace, model, folder):
    """The graph as Emplace reads it, or None and its sentence."""
    path, out = folder / "model.onnx", folder / "graph.json"
    path.write_bytes(model.SerializeToString())
    ran = subprocess.run([emplace, "graph", str(path), "--out", str(out), "--force"], capture_output=True, text=True, check=False, timeout=120)
    return (json.loads(out.read_text()), "") if ran.returncode == 0 else (None, ran.stderr)


def shapes(emplace, name, folder):
    """Compares the shapes of all values of a model; how many there are, and sentences on those that differ."""
    model, _ = models.MAKERS[name]()
    inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    known = {}
    for value in list(inferred.graph.value_info) + list(inferred.graph.output):
        dims = value.type.tensor_type.shape.dim
        if all(dim.HasField("dim_value") for dim in dims):
            known[value.name] = [dim.dim_value for dim in dims]
    for value, kind in zip(list(known), range(len(known))):
        model.graph.node.append(helper.make_node("Cast", [value], [f"probe{kind}"], name=f"probe{kind}", to=TensorProto.DOUBLE))
        model.graph.output.append(helper.make_tensor_value_info(f"probe{kind}", TensorProto.DOUBLE, known[value]))
    graph, refusal = read_graph(emplace, model, folder)
    if graph is None:
        return len(known), [f"{name}: {refusal}"] * len(known)
    ops = {op["name"]: op["outputs"][0]["shape"] for op in graph["ops"] if op["outputs"]}
    wrong = [f"{name}: {value} has the shape {shape}, Emplace says {ops.get(f'probe{i}')}" for i, (value, shape) in enumerate(known.items())
             if ops.get(f"probe{i}") != shape]
    return len(known), wrong


def drop_input(node, draw):
    node.input[draw.randrange(len(node.input))] = "made_by_nobody"


def lose_inputs(node, draw):
    del node.input[:]
    del draw


def lose_outputs(node, draw):
    del node.output[:]
    del draw


def change_type(node, draw):
    node.op_type = draw.choice(["Reluu", "conv", "Add2", "LayerNorm"])


def change_domain(node, draw):
    node.op_type = "NoSuchOp"
    del draw


def same_output(node, draw):
    node.output[0] = "input0"
    del draw


def reverse(node, draw):
    node.input[draw.randrange(len(node.input))] = node.output[0]


def rename(node, draw):
    """Harmless: names of nodes are free."""
    node.name = draw.choice(["", "a name", "other/name", "0"])


def describe(node, draw):
    """Harmless: so is what people write."""
    node.doc_string = draw.choice(["", "a sentence", "two\nlines"])


DAMAGES = [drop_input, lose_inputs, lose_outputs, change_type, change_domain, same_output, reverse, rename, describe]


def damaged(emplace, draw, folder):
    """Damages a node; a sentence if only one refuses it, and whether the checker does."""
    name, damage = draw.choice(list(models.MAKERS)), draw.choice(DAMAGES)
    model, _ = models.MAKERS[name]()
    node = draw.choice([node for node in model.graph.node if node.input])
    label = f"{name}: {damage.__name__} of {node.op_type} {node.output[0]}"
    damage(node, draw)
    try:
        onnx.checker.check_model(model, full_check=False)
        refused = ""
    except onnx.checker.ValidationError as error:
        refused = str(error).splitlines()[0]
    graph, sentence = read_graph(emplace, model, folder)
    if (graph is None) == bool(refused):
        return "", bool(refused)
    return f"{label}: the checker says \"{refused or 'fine'}\", Emplace \"{sentence.strip() or 'fine'}\"", bool(refused)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("emplace")
    parser.add_argument("--damaged", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    total, wrong, draw = 0, [], random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        for name in models.MAKERS:
            count, differ = shapes(options.emplace, name, pathlib.Path(folder))
            print(f"{name}: {count - len(differ)} of {count} shapes")
            total += count
            wrong += differ
        seen = collections.Counter()
        for _ in range(options.damaged):
            differ, is_refused = damaged(options.emplace, draw, pathlib.Path(folder))
            seen["refused" if is_refused else "passed"] += 1
            wrong += [differ] if differ else []
    print(f"damaged: the checker refuses {seen['refused']} and passes {seen['passed']}")
    for sentence in wrong[:20]:
        print(sentence)
    total += options.damaged
    print(f"{total - len(wrong)} of {total} agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
