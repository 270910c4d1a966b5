# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares Emplace's reading of ten modules with TensorFlow, in each form that TensorFlow writes.

    compare.py EMPLACE [--only MODULE] [--keep FOLDER]

Parameters, with the moving averages of norms, must be exact, and the FLOPs of products and convolutions those of TensorFlow's profiler within 2 %,
with those of Einsum and of functions added, which it does not count: the body of a loop once. The last line is "N of M agree"; the exit status is 1 where N is less than M.
"""

import argparse
import math
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "shared"))

from graphs import Table, read_graph  # noqa: E402
from modules import MODULES  # noqa: E402

PRODUCTS = ("MatMul", "Conv2D", "DepthwiseConv2dNative", "Einsum")


# Lists that loops and branches keep for their gradients: lists, which the page names as not read.
KNOWN = ("TensorList", "EmptyTensorList", "Optional", "VariableShape")


def profiled(graph):
    """FLOPs of the products that TensorFlow's profiler counts: of no Einsum."""
    options = tf.compat.v1.profiler.ProfileOptionBuilder.float_operation()
    options["output"] = "none"
    options["account_type_regexes"] = [".*MatMul.*", ".*Conv2D.*", ".*Depthwise.*"]
    options["start_name_regexes"] = [".*"]
    return tf.compat.v1.profiler.profile(graph, options=options).total_float_ops


def einsum_flops(op):
    """Twice the product of the sizes of all axes that the equation names."""
    operands = op.get_attr("equation").decode().split("->")[0].split(",")
    sizes = {letter: extent for term, x in zip(operands, op.inputs) for letter, extent in zip(term, x.shape.as_list())}
    return 2 * math.prod(sizes.values()) if len(operands) > 1 else 0


def matmul_flops(op):
    rows = 2 * math.prod(op.outputs[0].shape.as_list())
    return rows * op.inputs[0].shape.as_list()[-2 if op.node_def.attr["transpose_a"].b else -1]


def live(graph):
    """Ops that the outputs need: Keras calls a cell once more, for its shape only."""
    found, ahead = set(), [x.op for x in graph.outputs]
    while ahead:
        op = ahead.pop()
        if op not in found:
            found.add(op)
            ahead += [x.op for x in op.inputs] + op.control_inputs
    return found


def walked(graph):
    """FLOPs of Einsum and of matrix products, also in functions: the body of a loop once, the larger branch."""
    total = 0
    for op in live(graph):
        functions = [graph._get_function(f.name).graph for key in ("body", "then_branch", "else_branch", "f") for f in [attribute(op, key)] if f]
        if op.type == "Einsum":
            total += einsum_flops(op)
        elif op.type == "MatMul":
            total += matmul_flops(op)
        elif functions:
            total += max(walked(inner) for inner in functions)
    return total


def attribute(op, key):
    return op.get_attr(key) if key in op.node_def.attr and op.type not in ("TensorListReserve",) else None


def products(read):
    return sum(op["flops"] for op in read["ops"] if any(word in op["type"] for word in PRODUCTS))


def plain(variable):
    """The variable of TensorFlow in one of Keras."""
    return variable if isinstance(variable, tf.Variable) else variable.value


class Module(tf.Module):
    """A model with a forward signature and one of a training step by SGD."""

    def __init__(self, model, specs):
        super().__init__()
        self.model = model
        self.state = [plain(v) for v in model.variables]  # with the seeds of dropout, so that it is saved
        self.forward = tf.function(lambda *x: {"y": self.call(x, False)}, input_signature=specs)
        self.step = tf.function(self.train, input_signature=specs)

    def call(self, x, training):
        if isinstance(self.model, keras.Model):
            return self.model(list(x) if len(x) > 1 else x[0], training=training)
        return self.model(*x)

    def train(self, *x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.call(x, True) ** 2)
        for variable, gradient in zip(self.model.trainable_variables, tape.gradient(loss, self.model.trainable_variables)):
            plain(variable).assign_sub(0.01 * tf.convert_to_tensor(gradient))
        return {"loss": loss}


def placed_differs(emplace, frozen, path):
    """Places the GraphDef on GPUs, imports the copy, and runs it beside the one without devices. "" = they agree."""
    placed = path.with_name("placed.pb")
    ran = subprocess.run([emplace, "place", str(path), "--machine", "k40x4", "--method", "random", "--budget", "20", "--out", str(placed), "--force"],
                         capture_output=True, text=True, timeout=300, check=False)
    if ran.returncode != 0:
        return ran.stderr.strip().splitlines()[-1]
    definition = tf.compat.v1.GraphDef.FromString(placed.read_bytes())
    devices, results = {node.device for node in definition.node}, []
    if len(devices - {""}) < 2:
        return f"all ops are on {devices}"
    random = np.random.default_rng(1)
    feeds = {x.name: random.random(x.shape).astype(np.float32) if x.dtype.is_floating else random.integers(1, 50, x.shape) for x in frozen.inputs}
    for graph_def in (frozen.graph.as_graph_def(), definition):
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(graph_def, name="")
        wrong = [node.name for node in graph_def.node if graph.get_operation_by_name(node.name).device != node.device]
        if wrong:
            return f"TensorFlow has {wrong[0]} on another device"
        config = tf.compat.v1.ConfigProto(allow_soft_placement=True)
        with tf.compat.v1.Session(graph=graph, config=config) as session:
            results.append(session.run([x.name for x in frozen.outputs], feeds))
    return "" if all(np.allclose(a, b, atol=1e-5) for a, b in zip(*results)) else "the placed graph computes other numbers"


def compare_module(table, emplace, name, folder):
    make, specs = MODULES[name]
    keras.utils.set_random_seed(1)
    module = Module(make(), specs)
    model = module.model
    parameters = sum(int(np.prod(v.shape)) for v in module.state if v.dtype.is_floating)
    seeds = 0 if name != "norms" else sum(int(np.prod(v.shape)) for v in module.state if not v.dtype.is_floating)
    forward, step = module.forward.get_concrete_function(), module.step.get_concrete_function()
    frozen = convert_variables_to_constants_v2(forward)
    has_loop = name in ("recurrent", "control flow")
    profile = profiled(frozen.graph)
    einsums = sum(einsum_flops(op) for op in frozen.graph.get_operations() if op.type == "Einsum")
    flops = walked(forward.graph) if has_loop else profile + einsums
    note = "body of the loop once" if has_loop else "Einsum added to TensorFlow's profile" if einsums else ""
    path = folder / "model"
    tf.saved_model.save(module, str(path), signatures={"serving_default": forward, "train": step})
    for form, options in (("SavedModel", ()), ("training signature", ("--signature", "train"))):
        read = read_graph(emplace, path / "saved_model.pb", ops=True, options=options)
        table.compare(read, name, form, parameters + (seeds if options else 0), flops if not options else None, seen_flops=products(read) if "ops" in read else None, note=note, known=KNOWN)
    (folder / "frozen.pb").write_bytes(frozen.graph.as_graph_def().SerializeToString())
    read = read_graph(emplace, folder / "frozen.pb", ops=True)
    table.compare(read, name, "GraphDef, frozen", None, None if has_loop else flops, seen_flops=products(read) if "ops" in read else None, note=note, known=KNOWN)
    table.add(name, "GraphDef, placed", "", "", placed_differs(emplace, frozen, folder / "frozen.pb"))
    if isinstance(model, keras.Model):
        model.export(str(folder / "exported"), verbose=False)
        sizes = ("--batch", str(specs[0].shape[0]))
        read = read_graph(emplace, folder / "exported" / "saved_model.pb", ops=True, options=sizes)
        is_open = has_loop or name == "transformer"  # the length is, too
        table.compare(read, name, "SavedModel of Keras", parameters, None if is_open else flops, seen_flops=products(read) if "ops" in read else None, note=note, known=KNOWN)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("emplace")
    parser.add_argument("--only", choices=MODULES, help="compare this module only")
    parser.add_argument("--keep", help="a folder for the files")
    options = parser.parse_args()
    table = Table()
    with tempfile.TemporaryDirectory() as name:
        for module in [options.only] if options.only else MODULES:
            folder = pathlib.Path(options.keep or name) / module.replace(" ", "_")
            folder.mkdir(parents=True, exist_ok=True)
            compare_module(table, options.emplace, module, folder)
    return table.print()


if __name__ == "__main__":
    sys.exit(main())
