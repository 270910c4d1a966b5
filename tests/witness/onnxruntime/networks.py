# SPDX-License-Identifier: GPL-3.0-or-later
"""Small networks as ONNX Runtime's optimizer writes them, drawn at random.

A network of convolutions, of products and norms, or of quantised tensors is optimised at one of the runtime's
levels. The file that the runtime writes has ops of its own: fused ones, and tensors with channels last or in
blocks.
"""

import pathlib
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

LEVELS = {"basic": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC, "extended": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
          "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL}


class Network:
    """Nodes and weights as they come; `x` is the tensor that the next node reads."""

    def __init__(self, rng, shape, dtype=np.float32):
        self.rng, self.shape, self.nodes, self.weights = rng, list(shape), [], []
        self.numbers = np.random.default_rng(rng.getrandbits(64))
        self.x, self.count, self.dtype = "x", 0, dtype

    def weight(self, shape, dtype=np.float32, value=None):
        self.count += 1
        array = np.full(shape, value, dtype) if value is not None else (self.numbers.random(shape) - 0.5).astype(dtype)
        self.weights.append(numpy_helper.from_array(array, f"w{self.count}"))
        return f"w{self.count}"

    def add(self, op, *inputs, **attributes):
        self.count += 1
        self.nodes.append(helper.make_node(op, list(inputs), [f"t{self.count}"], name=f"n{self.count}", **attributes))
        return f"t{self.count}"

    def model(self, inputs):
        self.nodes.append(helper.make_node("Identity", [self.x], ["y"], name="last"))
        graph = helper.make_graph(self.nodes, "network", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], self.weights)
        inferred = onnx.shape_inference.infer_shapes(helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", self.rng.choice([13, 17, 18]))], ir_version=8))
        return inferred


def activation(net):
    op = net.rng.choice(["Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSwish", "Clip", "silu", "gelu", "none"])
    if op == "silu":
        net.x = net.add("Mul", net.x, net.add("Sigmoid", net.x))
    elif op == "gelu":
        erf = net.add("Erf", net.add("Div", net.x, net.weight([], value=2 ** 0.5)))
        net.x = net.add("Mul", net.add("Mul", net.x, net.add("Add", erf, net.weight([], value=1))), net.weight([], value=0.5))
    elif op == "Clip":
        net.x = net.add("Clip", net.x, net.weight([], value=0), net.weight([], value=6))
    elif op == "HardSwish":
        net.x = net.add("Mul", net.x, net.add("HardSigmoid", net.x, alpha=1 / 6, beta=0.5))
    elif op != "none":
        net.x = net.add(op, net.x)


def convolution(net, quantised=False):
    inside, outside, kernel = net.shape[1], net.rng.choice([4, 8, 16, 24]), net.rng.choice([1, 3])
    group = net.rng.choice([1, 1, inside]) if not quantised else 1
    if group > 1:
        outside = inside
    stride, pad = net.rng.choice([1, 1, 2]), kernel // 2
    weight = net.weight([outside, inside // group, kernel, kernel], *(() if not quantised else (np.int8, 3)))
    if quantised:
        weight = net.add("DequantizeLinear", weight, net.weight([], value=0.02), net.weight([], np.int8, 0))
    bias = [net.weight([outside])] if not quantised and net.rng.random() < 0.7 else []
    net.x = net.add("Conv", net.x, weight, *bias, kernel_shape=[kernel, kernel], strides=[stride, stride], pads=[pad] * 4, group=group)
    net.shape = [net.shape[0], outside] + [(n + 2 * pad - kernel) // stride + 1 for n in net.shape[2:]]


def draw_convolutional(rng):
    net = Network(rng, [rng.choice([1, 2]), rng.choice([3, 8]), 16, 16])
    shape = list(net.shape)
    for _ in range(rng.randint(1, 4)):
        before, was = net.x, net.shape
        convolution(net)
        if rng.random() < 0.5:
            c = [net.shape[1]]
            net.x = net.add("BatchNormalization", net.x, net.weight(c), net.weight(c), net.weight(c), net.weight(c, value=1))
        if was == net.shape and rng.random() < 0.6:
            net.x = net.add("Add", net.x, before)
        activation(net)
    if rng.random() < 0.5:
        net.x = net.add(rng.choice(["MaxPool", "AveragePool"]), net.x, kernel_shape=[2, 2], strides=[2, 2])
        net.shape = net.shape[:2] + [n // 2 for n in net.shape[2:]]
    net.x = net.add("Flatten", net.add("GlobalAveragePool", net.x))
    net.x = net.add("Gemm", net.x, net.weight([5, net.shape[1]]), net.weight([5]), transB=1)
    activation(net)
    return net.model([helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]), {"x": net.numbers.random(shape).astype(np.float32)}


def draw_transformer(rng):
    batch, steps, heads, size = rng.choice([1, 2]), rng.choice([3, 5]), rng.choice([2, 4]), 8
    width = heads * size
    net = Network(rng, [batch, steps, width])
    for _ in range(rng.randint(1, 2)):
        before = net.x
        if rng.random() < 0.5:
            mean = net.add("ReduceMean", net.x, axes=[-1])
            centred = net.add("Sub", net.x, mean)
            var = net.add("ReduceMean", net.add("Pow", centred, net.weight([], value=2)), axes=[-1])
            root = net.add("Sqrt", net.add("Add", var, net.weight([], value=1e-5)))
            net.x = net.add("Add", net.add("Mul", net.add("Div", centred, root), net.weight([width])), net.weight([width]))
        split = []
        for _ in range(3):
            y = net.add("Add", net.add("MatMul", net.x, net.weight([width, width])), net.weight([width]))
            y = net.add("Reshape", y, net_ints(net, [batch, steps, heads, size]))
            split.append(net.add("Transpose", y, perm=[0, 2, 1, 3]))
        scores = net.add("MatMul", split[0], net.add("Transpose", split[1], perm=[0, 1, 3, 2]))
        scores = net.add("Softmax", net.add("Div", scores, net.weight([], value=size ** 0.5)), axis=-1)
        y = net.add("Transpose", net.add("MatMul", scores, split[2]), perm=[0, 2, 1, 3])
        y = net.add("MatMul", net.add("Reshape", y, net_ints(net, [batch, steps, width])), net.weight([width, width]))
        net.x = net.add("Add", y, before)
        net.x = net.add("Add", net.add("MatMul", net.x, net.weight([width, 2 * width])), net.weight([2 * width]))
        activation(net)
        net.x = net.add("MatMul", net.x, net.weight([2 * width, width]))
    shape = [batch, steps, width]
    model = net.model([helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)])
    model.opset_import[0].version = 13 if model.opset_import[0].version > 17 else model.opset_import[0].version
    return model, {"x": net.numbers.random(shape).astype(np.float32)}


def net_ints(net, values):
    net.count += 1
    net.weights.append(numpy_helper.from_array(np.array(values, np.int64), f"w{net.count}"))
    return f"w{net.count}"


def quantise(net):
    scale, zero = net.weight([], value=0.05), net.weight([], np.uint8, 128)
    net.x = net.add("DequantizeLinear", net.add("QuantizeLinear", net.x, scale, zero), scale, zero)


def draw_quantised(rng):
    net = Network(rng, [1, rng.choice([4, 8]), 12, 12])
    shape = list(net.shape)
    quantise(net)
    for _ in range(rng.randint(1, 3)):
        before, was = net.x, net.shape
        convolution(net, quantised=True)
        quantise(net)
        if was == net.shape and rng.random() < 0.6:
            net.x = net.add("Add", net.x, before)
            quantise(net)
        if rng.random() < 0.3:
            net.x = net.add(rng.choice(["MaxPool", "AveragePool"]), net.x, kernel_shape=[2, 2], strides=[1, 1])
            net.shape = net.shape[:2] + [n - 1 for n in net.shape[2:]]
            quantise(net)
        if rng.random() < 0.3:
            net.x = net.add(rng.choice(["Sigmoid", "LeakyRelu"]), net.x)
            quantise(net)
        if rng.random() < 0.3:
            net.x = net.add("Concat", net.x, net.x, axis=1)
            net.shape[1] *= 2
            quantise(net)
    if rng.random() < 0.5:
        net.x = net.add("GlobalAveragePool", net.x)
        quantise(net)
    return net.model([helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]), {"x": net.numbers.random(shape).astype(np.float32)}


def draw_dynamic(rng):
    rows, k, n = rng.randint(1, 4), rng.choice([4, 8]), rng.choice([4, 8])
    net = Network(rng, [2, rows, k])
    shape = list(net.shape)
    for _ in range(rng.randint(1, 2)):
        net.count += 1
        names = [f"q{net.count}_{i}" for i in range(3)]
        net.nodes.append(helper.make_node("DynamicQuantizeLinear", [net.x], names, name=f"d{net.count}"))
        y = net.add("MatMulInteger", names[0], net.weight([k, n], np.int8, 3), names[2], net.weight([], np.int8, 0))
        scale = net.add("Mul", names[1], net.weight([], value=0.02))
        net.x = net.add("Mul", net.add("Cast", y, to=TensorProto.FLOAT), scale)
        if rng.random() < 0.6:
            net.x = net.add("Add", net.x, net.weight([n]))
        k = n
    return net.model([helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]), {"x": net.numbers.random(shape).astype(np.float32)}


def collect(net, times):
    """A sequence that a loop fills with tensors of one shape."""
    listed, condition, open_shape = helper.make_tensor_sequence_value_info, helper.make_tensor_value_info, [None] * len(net.shape)
    nodes = [helper.make_node("Sin", [net.x], ["part"]), helper.make_node("SequenceInsert", ["before", "part"], ["after"]),
             helper.make_node("Identity", ["on"], ["still_on"])]
    body = helper.make_graph(nodes, "body", [condition("i", TensorProto.INT64, []), condition("on", TensorProto.BOOL, []), listed("before", TensorProto.FLOAT, open_shape)],
                             [condition("still_on", TensorProto.BOOL, []), listed("after", TensorProto.FLOAT, open_shape)])
    return net.add("Loop", net.weight([], np.int64, times), "", net.add("SequenceEmpty", dtype=TensorProto.FLOAT), body=body)


def draw_sequences(rng):
    """A sequence, changed and joined again. With sizes of its parts, SplitToSequence keeps the axis: findings/onnxruntime_split_to_sequence.sh."""
    net = Network(rng, [rng.randint(1, 6) for _ in range(rng.randint(1, 3))])
    shape, axis, kind = list(net.shape), rng.randrange(-len(net.shape), len(net.shape)), rng.choice(["split", "parts", "rows", "construct", "loop"])
    rank = len(shape)
    if kind == "split":
        listed = net.add("SplitToSequence", net.x, net.weight([], np.int64, rng.randint(1, shape[axis])), axis=axis)
    elif kind == "parts":
        first = rng.randint(1, shape[axis])  # the runtime stacks a part without elements on others
        listed = net.add("SplitToSequence", net.x, net_ints(net, [n for n in (first, shape[axis] - first) if n > 0]), axis=axis)
    elif kind == "rows":
        kept = rng.choice([0, 1])
        listed = net.add("SplitToSequence", net.x, axis=axis, keepdims=kept)
        if not kept:
            net.x = net.add("ReduceMax", net.x, keepdims=0) if len(shape) == 1 else net.add("SequenceAt", listed, net.weight([], np.int64, 0))
            axis, rank = (0, 0) if len(shape) == 1 else (rng.randrange(len(shape) - 1), len(shape) - 1)
    elif kind == "construct":
        listed = net.add("SequenceConstruct", *[net.x] * rng.randint(1, 4))
    else:
        listed = collect(net, rng.randint(1, 4))
    for _ in range(rng.randint(0, 3)):
        place = [net.weight([], np.int64, rng.choice([0, -1]))] if rng.random() < 0.5 else []
        change = rng.choice(["SequenceInsert", "SequenceErase", "Identity"])
        listed = net.add(change, listed, *([net.x] if change == "SequenceInsert" else []), *(place if change != "Identity" else []))
    end = rng.choice(["at", "concat", "stack", "length"])
    rank = {"at": rank, "concat": max(rank, 1), "stack": rank + 1, "length": 1}[end]
    if end == "at":
        net.x = net.add("SequenceAt", listed, net.weight([], np.int64, rng.choice([0, -1])))
    elif end == "length":
        length = net.add("Reshape", net.add("SequenceLength", listed), net_ints(net, [1]))
        net.x = net.add("Add", net.add("ConstantOfShape", length), net.add("ReduceMax", net.x, keepdims=0))
    else:
        net.x = net.add("ConcatFromSequence", listed, axis=axis, new_axis=int(end == "stack"))
    model = net.model([helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)])
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * rank))
    return model, {"x": net.numbers.random(shape).astype(np.float32)}


DRAWS = {"convolutional": draw_convolutional, "transformer": draw_transformer, "quantised": draw_quantised, "dynamic": draw_dynamic, "sequences": draw_sequences}


class Optimised:
    """A model that the runtime has written, with what it computes; looks like a case of one node."""

    domain = ""
    witness = "runtime"
    is_network = True

    def __init__(self, kind, level, model, feeds, made):
        self.op, self.version, self.feeds, self.fixed, self.made = f"{kind} network at level {level}", model.opset_import[0].version, feeds, set(), made
        self.written = model
        self.names = [o.name for o in model.graph.output]

    def model(self, fixed=None):
        del fixed
        return self.written


def draw_network(rng):
    """An optimised network of any kind; None where the runtime refuses what was drawn."""
    kind, level = rng.choice(sorted(DRAWS)), rng.choice(sorted(LEVELS))
    model, feeds = DRAWS[kind](rng)
    onnx.checker.check_model(model)
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "optimised.onnx"
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = LEVELS[level]
        options.optimized_model_filepath = str(path)
        try:
            session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
            return Optimised(kind, level, onnx.load(path), feeds, session.run(None, feeds))
        except Exception:  # the runtime has no common class for what it raises
            return None
