# SPDX-License-Identifier: GPL-3.0-or-later
"""One-node ONNX models, drawn at random: every op that the reader knows, at every version of the operators.

A case is a model whose inputs are tensors that are fed or initializers, with the arrays that belong to them.
Every model passes onnx.checker; draws that do not are drawn again.
"""

import dataclasses
import os
import random

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import networks

NEWEST = 28
FLOATS = [np.float32]
NUMBERS = [np.float32, np.float32, np.float32, np.int64, np.int32, np.float64, np.float16, np.uint8, np.int8]
MAKERS = {}


@dataclasses.dataclass
class Case:
    """A model of one node; `feeds` has arrays of all inputs, `fixed` the names of those that are initializers."""
    op: str
    version: int
    domain: str
    node: onnx.NodeProto
    feeds: dict
    fixed: set
    types: dict = dataclasses.field(default_factory=dict)
    made: list = None
    witness: str = ""

    def output(self, name):
        """An output of which only the type and the rank are said."""
        if name not in self.types:
            return onnx.ValueInfoProto(name=name)
        kind, rank = self.types[name]
        return helper.make_tensor_value_info(name, kind, [f"{name}_{i}" for i in range(rank)])

    def find_types(self):
        """Finds the types and ranks of the outputs: by the standard's inference, else by the runtime."""
        if not self.domain:
            for o in onnx.shape_inference.infer_shapes(self.model()).graph.output:
                t = o.type.tensor_type
                if t.HasField("shape"):
                    self.types[o.name] = t.elem_type, len(t.shape.dim)
        self.made = self.run()
        for name, array in zip([name for name in self.node.output if name], self.made):
            self.types[name] = helper.np_dtype_to_tensor_dtype(array.dtype), array.ndim

    def run(self):
        """Runs the model in the runtime, or in the standard's reference where the runtime has no kernel."""
        fed = {name: a for name, a in self.feeds.items() if name not in self.fixed}
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        try:
            session = onnxruntime.InferenceSession(self.model().SerializeToString(), options, providers=["CPUExecutionProvider"])
            made = session.run(None, fed)
            self.witness = "runtime"
        except Exception as error:  # the runtime has no common class for what it raises
            if self.domain or "NOT_IMPLEMENTED" not in str(error):
                raise
            made = ReferenceEvaluator(self.model()).run(None, fed)
            self.witness = "reference"
        return [np.asarray(a) for a in made]

    def model(self, fixed=None):
        """The model with these inputs as initializers."""
        fixed = self.fixed if fixed is None else fixed
        nodes = [self.node]
        outputs = [name for name in self.node.output if name]
        inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
                  for name, a in self.feeds.items() if name not in fixed or self.version < 4]
        tensors = [numpy_helper.from_array(a, name) for name, a in self.feeds.items() if name in fixed]
        graph = helper.make_graph(nodes, "case", inputs, [self.output(name) for name in outputs], tensors)
        opsets = [helper.make_opsetid("", self.version)]
        if self.domain:
            opsets.append(helper.make_opsetid(self.domain, 1))
        return helper.make_model(graph, opset_imports=opsets, ir_version=3 if self.version < 4 else 8 if self.version < 21 else 10)


class Draw:
    """Random choices for one case, and the parts of its node as they come."""

    def __init__(self, op, version, rng, domain=""):
        self.op, self.version, self.rng, self.domain = op, version, rng, domain
        self.numbers = np.random.default_rng(rng.getrandbits(64))
        self.inputs, self.feeds, self.fixed, self.attributes, self.output_count = [], {}, set(), {}, 1
        self.since = onnx.defs.get_schema(op, version, "").since_version if not domain else 1
        self.left_out = set()

    def size(self, least=1, most=6):
        return self.rng.randint(least, most)

    def shape(self, least=0, most=5):
        return [self.size() for _ in range(self.rng.randint(least, most))]

    def chance(self, part=0.5):
        return self.rng.random() < part

    def array(self, shape, dtype=np.float32, low=-4, high=4):
        if np.dtype(dtype).kind in "iu":
            low = max(low, 0) if np.dtype(dtype).kind == "u" else low
            return self.numbers.integers(low, high + 1, shape).astype(dtype)
        if np.dtype(dtype).kind == "b":
            return self.numbers.integers(0, 2, shape).astype(bool)
        return (self.numbers.random(shape) * (high - low) + low).astype(dtype)

    def input(self, value, fixed=None):
        """Adds an input; `fixed`: it must be an initializer. A list is one of int64."""
        if value is None:
            self.inputs.append("")
            return
        name = f"i{len(self.inputs)}"
        value = np.asarray(value, np.int64) if isinstance(value, (list, int)) else np.asarray(value)
        self.inputs.append(name)
        self.feeds[name] = value
        if fixed:
            self.fixed.add(name)

    def setting(self, value):
        self.input(value, fixed=True)

    def dtype(self, wanted=NUMBERS, input_index=0):
        """A type of numpy that the schema allows for an input."""
        schema = onnx.defs.get_schema(self.op, self.version, "")
        allowed = set(schema.inputs[input_index].types)
        names = {np.float32: "float", np.float64: "double", np.float16: "float16", np.int64: "int64", np.int32: "int32",
                 np.int16: "int16", np.int8: "int8", np.uint8: "uint8", np.uint16: "uint16", np.uint32: "uint32",
                 np.uint64: "uint64", bool: "bool", np.bool_: "bool"}
        fit = [t for t in wanted if f"tensor({names[t]})" in allowed]
        return self.rng.choice(fit) if fit else None

    def case(self):
        outputs = [f"y{i}" if i not in self.left_out else "" for i in range(self.output_count)]
        while outputs and not outputs[-1]:
            outputs.pop()
        while self.inputs and not self.inputs[-1]:
            self.inputs.pop()
        node = helper.make_node(self.op, self.inputs, outputs, name="node", domain=self.domain,
                                **{k: v for k, v in self.attributes.items() if v is not None})
        return Case(self.op, self.version, self.domain, node, self.feeds, self.fixed)


def maker(*ops, since=1, domain=""):
    def register(function):
        for op in ops:
            MAKERS[op] = (function, since, domain)
        return function
    return register


# ---- element by element ----

@maker("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Celu", "Cos", "Cosh", "Elu", "Erf", "Exp", "Floor", "Gelu",
       "HardSigmoid", "HardSwish", "Identity", "IsInf", "IsNaN", "LeakyRelu", "Log", "Mish", "Neg", "Reciprocal", "Relu", "Round",
       "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Swish", "Tan", "Tanh", "ThresholdedRelu",
       "BitwiseNot", "Not")
def unary(d):
    kind = {"Not": [np.bool_], "BitwiseNot": [np.int32, np.int64, np.uint8]}.get(d.op, NUMBERS)
    low = 0.1 if d.op in ("Log", "Sqrt") else 1.1 if d.op == "Acosh" else -0.9 if d.op in ("Acos", "Asin", "Atanh") else -4
    high = 0.9 if low == -0.9 else 4
    d.input(d.array(d.shape(), d.dtype(kind), low, high))


@maker("Add", "Sub", "Mul", "Div", "Pow", "PRelu", "And", "Or", "Xor", "Greater", "Less", "Equal", "GreaterOrEqual", "LessOrEqual",
       "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Mod")
def binary(d):
    kinds = {"And": [np.bool_], "Or": [np.bool_], "Xor": [np.bool_], "BitShift": [np.uint8, np.uint32, np.uint64],
             "BitwiseAnd": [np.int32, np.int64, np.uint8], "BitwiseOr": [np.int32, np.uint8], "BitwiseXor": [np.int32, np.uint8],
             "Pow": FLOATS, "PRelu": FLOATS}
    dtype = d.dtype(kinds.get(d.op, NUMBERS))
    low = 1 if d.op in ("Div", "Mod", "Pow") or np.dtype(dtype).kind == "u" else -4
    a = d.shape(0, 4)
    if d.version < 7 and d.op != "PRelu":
        start = d.rng.randint(0, len(a))
        b = a[start:]  # the reference, which is the witness of old versions, knows no other alignment
        if d.chance(0.7) and b:
            d.attributes.update(broadcast=1, axis=start if d.chance() else None)
        else:
            b = a
    else:
        b = [n if d.chance(0.7) else 1 for n in a][d.rng.randint(0, len(a)):]
        if d.op != "PRelu" and d.chance():
            a, b = b, a
    if d.op == "PRelu" and d.version < 7:
        a = a or [2]
        b = [a[1]] if len(a) > 1 and d.chance() else [1]
    d.input(d.array(a, dtype, low, 6))
    d.input(d.array(b, dtype, low, 6))
    if d.op == "BitShift":
        d.attributes["direction"] = d.rng.choice(["LEFT", "RIGHT"])
    if d.op == "Mod" and (np.dtype(dtype).kind == "f" or d.chance()):
        d.attributes["fmod"] = 1


@maker("Sum", "Max", "Min", "Mean")
def variadic(d):
    whole = d.shape(0, 4)
    for _ in range(d.rng.randint(1, 4)):
        shape = whole if d.version < 8 else [n if d.chance(0.7) else 1 for n in whole][d.rng.randint(0, len(whole)):]
        d.input(d.array(shape, np.float32))


@maker("Clip")
def clip(d):
    d.input(d.array(d.shape()))
    low, high = -2.0, 2.5
    if d.version < 11:
        d.attributes.update(min=low, max=high)
    else:
        d.setting(np.float32(low) if d.chance(0.8) else None)
        d.setting(np.float32(high) if d.chance(0.8) else None)


@maker("Cast")
def cast(d):
    to = d.rng.choice(["FLOAT", "INT32", "INT64", "UINT8", "INT8", "DOUBLE", "FLOAT16", "BOOL", "INT16", "UINT16"])
    dtype = d.rng.choice([np.float32, np.int64, np.int32, np.uint8, np.float64])
    low, high = (-100000, 100000) if np.dtype(dtype).kind == "i" else (0, 255)
    if np.dtype(dtype).kind == "f":
        low, high = (0, 255) if to[0] == "U" else (-120, 120)
    d.input(d.array(d.shape(0, 3), dtype, low, high))
    d.attributes["to"] = to if d.version < 6 else getattr(TensorProto, to)


@maker("CastLike", since=15)
def cast_like(d):
    d.input(d.array(d.shape(0, 3), np.float32, 0, 100))
    d.input(d.array([1], d.rng.choice([np.int64, np.int32, np.float64, np.uint8]), 0, 3))


@maker("Where", since=9)
def where(d):
    whole = d.shape(0, 4)
    for dtype in (bool, np.float32, np.float32):
        d.input(d.array([n if d.chance(0.7) else 1 for n in whole][d.rng.randint(0, len(whole)):], dtype))


@maker("CumSum", "CumProd", since=11)
def cumulate(d):
    shape = d.shape(1, 4)
    d.input(d.array(shape, d.rng.choice([np.float32, np.int64, np.int32])))
    d.setting(np.int64(d.rng.randrange(-len(shape), len(shape))))
    d.attributes.update(exclusive=int(d.chance()), reverse=int(d.chance()))


@maker("Softmax", "LogSoftmax", "Hardmax")
def softmax(d):
    shape = d.shape(2, 4)
    d.input(d.array(shape))
    if d.chance(0.7):
        d.attributes["axis"] = d.rng.randrange(0 if d.version < 11 else -len(shape), len(shape))


@maker("QuantizeLinear", "DequantizeLinear", since=10)
def quantize(d):
    dtype = d.rng.choice([np.uint8, np.int8])
    x = d.array(d.shape(0, 4), np.float32 if d.op == "QuantizeLinear" else dtype)
    d.input(x)
    d.setting(np.float32(0.5))
    if d.op == "DequantizeLinear" or d.chance(0.8):
        d.setting(np.zeros([], dtype))


@maker("DynamicQuantizeLinear", since=11)
def dynamic_quantize(d):
    d.input(d.array(d.shape(1, 3)))
    d.output_count = 3


@maker("SwiGLU", since=28)
def swiglu(d):
    shape = d.shape(1, 3)
    d.input(d.array(shape))
    d.input(d.array(shape))


@maker("BitCast", since=26)
def bit_cast(d):
    d.input(d.array(d.shape(0, 3)))
    d.attributes["to"] = TensorProto.INT32


# ---- reductions ----

@maker("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum",
       "ReduceSumSquare")
def reduce(d):
    shape = d.shape(1, 4)
    d.input(d.array(shape, d.rng.choice([np.float32, np.float32, np.int32, np.int64]) if "Log" not in d.op and d.op != "ReduceL2" else
                    np.float32, 1, 1 if d.op == "ReduceProd" else 3))
    axes = d.rng.sample(range(len(shape)), d.rng.randint(1, len(shape)))
    if d.version >= 11:
        axes = [a - len(shape) if d.chance(0.3) else a for a in axes]
    axes = axes if d.chance(0.8) else None
    if d.chance(0.7):
        d.attributes["keepdims"] = int(d.chance())
    if d.version >= (13 if d.op == "ReduceSum" else 18):
        if axes is not None:
            d.setting(axes)
        elif d.chance():
            d.attributes["noop_with_empty_axes"] = 1
    elif axes is not None:
        d.attributes["axes"] = axes


@maker("ArgMax", "ArgMin")
def arg_reduce(d):
    shape = d.shape(1, 4)
    d.input(d.array(shape, d.rng.choice([np.float32, np.int32])))
    d.attributes.update(axis=d.rng.randrange(0 if d.version < 11 else -len(shape), len(shape)), keepdims=int(d.chance()))
    if d.version >= 12 and d.chance():
        d.attributes["select_last_index"] = 1


# ---- products ----

@maker("MatMul", "MatMulInteger")
def matmul(d):
    integers = d.op == "MatMulInteger"
    dtype, k = (np.uint8 if integers else np.float32), d.size()
    a = [d.size(), k] if d.chance(0.8) else [k]
    b = [k, d.size()] if d.chance(0.8) else [k]
    batch = d.shape(0, 2)
    if len(a) == 2:
        a = [n if d.chance(0.8) else 1 for n in batch][d.rng.randint(0, len(batch)):] + a
    if len(b) == 2:
        b = [n if d.chance(0.8) else 1 for n in batch][d.rng.randint(0, len(batch)):] + b
    d.input(d.array(a, dtype, 0, 9))
    d.input(d.array(b, dtype, 0, 9))


@maker("Gemm")
def gemm(d):
    m, n, k = d.size(), d.size(), d.size()
    ta, tb = int(d.chance()), int(d.chance())
    d.attributes.update(transA=ta, transB=tb)
    d.input(d.array([k, m] if ta else [m, k]))
    d.input(d.array([n, k] if tb else [k, n]))
    if d.version < 11 or d.chance(0.8):
        d.input(d.array(d.rng.choice([[m, n], [n], [1, n], [m, 1], [1]])))
        if d.version < 7:
            d.attributes["broadcast"] = 1


@maker("QLinearMatMul", since=10)
def qlinear_matmul(d):
    m, n, k = d.size(), d.size(), d.size()
    batch = d.shape(0, 2)
    d.input(d.array(batch + [m, k], np.uint8, 0, 9))
    d.setting(np.float32(0.5)), d.setting(np.uint8(1))
    d.input(d.array(batch + [k, n], np.uint8, 0, 9))
    d.setting(np.float32(0.5)), d.setting(np.uint8(1)), d.setting(np.float32(2.0)), d.setting(np.uint8(0))


@maker("Einsum", since=12)
def einsum(d):
    sizes = {letter: d.size(2, 5) for letter in "abcdef"}
    hidden = d.shape(0, 2)
    terms = []
    for _ in range(d.rng.choice([1, 2, 2, 2, 3])):
        letters = [d.rng.choice("abcdef") for _ in range(d.rng.randint(1, 3))]
        if d.chance(0.85):
            letters = list(dict.fromkeys(letters))
        shape = [sizes[letter] for letter in letters]
        text = "".join(letters)
        if hidden and d.chance(0.6):
            text, shape = "..." + text, hidden[d.rng.randint(0, len(hidden)):] + shape
        terms.append(text)
        d.input(d.array(shape))
    equation = ",".join(terms)
    if d.chance(0.75):
        used = sorted(set(equation) - set(",."))
        out = d.rng.sample(used, d.rng.randint(0, min(3, len(used))))
        equation += "->" + ("..." if "..." in equation else "") + "".join(out)
    d.attributes["equation"] = equation if d.chance(0.8) else equation.replace(",", ", ")


# ---- windows ----

def windows(d, spatial, least=1):
    """Attributes of windows; returns sizes of an image that they fit."""
    kernel = [d.rng.randint(least, 3) for _ in range(spatial)]
    d.attributes["kernel_shape"] = kernel
    if d.chance(0.7):
        d.attributes["strides"] = [d.rng.randint(1, 3) for _ in range(spatial)]
    mode = d.rng.choice(["pads", "pads", "none", "SAME_UPPER", "SAME_LOWER", "VALID"])
    if mode == "pads":
        d.attributes["pads"] = [d.rng.randint(0, k - 1) for k in kernel + kernel]
    elif mode != "none":
        d.attributes["auto_pad"] = mode
    return [d.rng.randint(6, 12) for _ in range(spatial)]


@maker("Conv", "ConvInteger", "QLinearConv", "ConvTranspose")
def conv(d):
    spatial = d.rng.choice([1, 2, 2, 2, 3])
    image = windows(d, spatial)
    group = d.rng.choice([1, 1, 2, 3])
    inside, outside = d.rng.randint(1, 2), d.rng.randint(1, 3)
    if group > 1:
        d.attributes["group"] = group
    if d.chance(0.4) and "auto_pad" not in d.attributes:
        d.attributes["dilations"] = [d.rng.randint(1, 2) for _ in range(spatial)]
    batch, kernel = d.size(1, 3), d.attributes["kernel_shape"]
    if d.chance(0.3):
        del d.attributes["kernel_shape"]
    dtype = np.uint8 if d.op in ("ConvInteger", "QLinearConv") else np.float32
    x = d.array([batch, inside * group] + image, dtype)
    if d.op == "ConvTranspose":
        strides = d.attributes.get("strides", [1] * spatial)
        more = [d.rng.randint(0, max(0, s - 1)) for s in strides]
        if d.chance(0.4):
            d.attributes["output_padding"] = more
        elif d.chance(0.2) and "auto_pad" not in d.attributes and "dilations" not in d.attributes:
            d.attributes.pop("pads", None)
            d.attributes["output_shape"] = [n * s for n, s in zip(image, strides)]
        d.input(x)
        d.input(d.array([inside * group, outside] + kernel))
        if d.chance():
            d.input(d.array([outside * group]))
        return
    d.input(x)
    if d.op == "QLinearConv":
        d.setting(np.float32(0.5)), d.setting(np.uint8(0))
    d.input(d.array([outside * group, inside] + kernel, dtype))
    if d.op == "QLinearConv":
        d.setting(np.float32(0.5)), d.setting(np.uint8(0)), d.setting(np.float32(0.5)), d.setting(np.uint8(0))
    elif d.op == "Conv" and d.chance():
        d.input(d.array([outside * group]))


@maker("MaxPool", "AveragePool", "LpPool")
def pool(d):
    spatial = d.rng.choice([1, 2, 2, 3])
    image = windows(d, spatial)
    modern = {"MaxPool": 10, "AveragePool": 10, "LpPool": 18}[d.op]
    if d.version >= modern and d.chance(0.6) and "auto_pad" not in d.attributes:
        d.attributes["ceil_mode"] = 1
    if d.version >= {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[d.op] and d.chance(0.4) and "auto_pad" not in d.attributes:
        d.attributes["dilations"] = [d.rng.randint(1, 2) for _ in range(spatial)]
    if d.op == "LpPool" and d.version > 1:
        d.attributes["p"] = 2
    d.input(d.array([d.size(1, 3), d.size(1, 3)] + image))
    if d.op == "MaxPool" and d.version >= 8 and d.chance(0.3):
        d.output_count = 2


@maker("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(d):
    d.input(d.array([d.size(), d.size()] + d.shape(1, 3)))


@maker("MaxUnpool", since=9)
def max_unpool(d):
    n, c, h, w = 1, d.size(1, 2), d.size(2, 4), d.size(2, 4)
    d.input(d.array([n, c, h, w]))
    d.input(np.arange(n * c * h * w, dtype=np.int64).reshape(n, c, h, w))
    d.attributes.update(kernel_shape=[2, 2], strides=[2, 2])
    if d.chance(0.4):
        d.setting([n, c, 2 * h + 1, 2 * w + 1])


@maker("DeformConv", since=19)
def deform_conv(d):
    spatial, group = 2, d.rng.choice([1, 2])
    kernel, stride, pad = [d.rng.randint(1, 3) for _ in range(2)], d.rng.randint(1, 2), d.rng.randint(0, 1)
    n, c, m, h, w = d.size(1, 2), 2 * group, 2 * group, 7, 8
    out = [(s + 2 * pad - k) // stride + 1 for s, k in zip((h, w), kernel)]
    d.input(d.array([n, c, h, w]))
    d.input(d.array([m, c // group] + kernel))
    d.input(d.array([n, 2 * kernel[0] * kernel[1]] + out))
    d.input(d.array([m]) if d.chance() else None)
    d.input(d.array([n, kernel[0] * kernel[1]] + out) if d.chance() else None)
    d.attributes.update(kernel_shape=kernel, strides=[stride] * spatial, pads=[pad] * 4, group=group)


@maker("Col2Im", since=18)
def col2im(d):
    image, block = [d.rng.randint(4, 8) for _ in range(2)], [d.rng.randint(1, 3) for _ in range(2)]
    n, c, stride = d.size(1, 2), d.size(1, 3), [d.rng.randint(1, 2) for _ in range(2)]
    length = int(np.prod([(i - b) // s + 1 for i, b, s in zip(image, block, stride)]))
    d.input(d.array([n, c * block[0] * block[1], length]))
    d.setting(image), d.setting(block)
    d.attributes["strides"] = stride


# ---- norms ----

@maker("BatchNormalization")
def batch_norm(d):
    shape = [d.size(), d.size()] + d.shape(1 if d.version < 9 else 0, 3)
    d.input(d.array(shape))
    for low in (-1, -1, -1, 0.5):
        d.input(d.array([shape[1]], np.float32, low, 1))
    if d.version < 7:
        d.attributes["is_test"] = 1
    if d.version == 1:
        d.attributes["consumed_inputs"] = [0, 0, 0, 1, 1]
    if d.version >= 14 and d.chance(0.3):
        d.attributes["training_mode"], d.output_count = 1, 3


@maker("InstanceNormalization", "LRN")
def channel_norm(d):
    shape = [d.size(), d.size()] + ([d.size(), d.size()] if d.op == "LRN" else d.shape(1, 3))
    d.input(d.array(shape))
    if d.op == "LRN":
        d.attributes["size"] = 3
    else:
        d.input(d.array([shape[1]])), d.input(d.array([shape[1]]))


@maker("GroupNormalization", since=18)
def group_norm(d):
    groups, each = d.size(1, 3), d.size(1, 3)
    d.input(d.array([d.size(), groups * each] + d.shape(1, 2)))
    count = groups if d.version < 21 else groups * each
    d.input(d.array([count])), d.input(d.array([count]))
    d.attributes["num_groups"] = groups


@maker("LayerNormalization", "RMSNormalization", since=17)
def layer_norm(d):
    shape = d.shape(1, 4)
    axis = d.rng.randrange(-len(shape), len(shape))
    d.input(d.array(shape))
    d.input(d.array(shape[axis:]))
    if d.op == "LayerNormalization":
        if d.chance():
            d.input(d.array(shape[axis:]))
        d.output_count = d.rng.choice([1, 1, 3])
    d.attributes["axis"] = axis


@maker("LpNormalization")
def lp_norm(d):
    shape = d.shape(1, 4)
    d.input(d.array(shape))
    d.attributes["axis"] = d.rng.randrange(-1, len(shape))


@maker("MeanVarianceNormalization", since=9)
def mvn(d):
    d.input(d.array([2, 3, 4, 5]))


# ---- recurrent layers, attention ----

@maker("LSTM", "GRU", "RNN")
def recurrent(d):
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[d.op]
    steps, batch, inside, hidden = (d.size(1, 4) for _ in range(4))
    directions = d.rng.choice([1, 1, 2])
    d.attributes["hidden_size"] = hidden
    if directions == 2:
        d.attributes["direction"] = "bidirectional"
    elif d.chance(0.3):
        d.attributes["direction"] = "reverse"
    d.input(d.array([steps, batch, inside]))
    d.input(d.array([directions, gates * hidden, inside]))
    d.input(d.array([directions, gates * hidden, hidden]))
    if d.chance():
        d.input(d.array([directions, 2 * gates * hidden]))
    d.output_count = 3 if d.op == "LSTM" else 2
    if d.version < 7:
        d.output_count = 1
        d.attributes["output_sequence"] = 1
    elif d.chance(0.3):
        d.left_out.add(0)


@maker("Attention", since=23)
def attention(d):
    batch, heads, groups, q, k, size, value = d.size(1, 3), d.size(1, 3), d.size(1, 2), d.size(), d.size(), 4, d.rng.choice([4, 6])
    if d.chance():
        d.input(d.array([batch, heads * groups, q, size]))
        d.input(d.array([batch, heads, k, size]))
        d.input(d.array([batch, heads, k, value]))
    else:
        d.input(d.array([batch, q, heads * groups * size]))
        d.input(d.array([batch, k, heads * size]))
        d.input(d.array([batch, k, heads * value]))
        d.attributes.update(q_num_heads=heads * groups, kv_num_heads=heads)
    past = d.size() if d.chance(0.4) else 0
    d.input(d.array([q, k + past]) if d.chance(0.4) else None)
    if past:
        d.input(d.array([batch, heads, past, size])), d.input(d.array([batch, heads, past, value]))
        d.output_count = 3
    if d.chance(0.3):
        d.attributes["is_causal"] = 1
    if d.chance(0.2):
        d.output_count = 4
        if not past:
            d.left_out = {1, 2}


@maker("RotaryEmbedding", since=23)
def rotary(d):
    batch, heads, steps, size = d.size(1, 2), d.size(1, 3), d.size(1, 4), 4
    if d.chance():
        d.input(d.array([batch, heads, steps, size]))
    else:
        d.input(d.array([batch, steps, heads * size]))
        d.attributes["num_heads"] = heads
    d.input(d.array([8, size // 2])), d.input(d.array([8, size // 2]))
    d.input(d.array([batch, steps], np.int64, 0, 7))


@maker("LinearAttention", since=27)
def linear_attention(d):
    batch, heads, steps, key, value = d.size(1, 2), d.size(1, 3), d.size(1, 4), 4, 6
    d.input(d.array([batch, steps, heads * key])), d.input(d.array([batch, steps, heads * key]))
    d.input(d.array([batch, steps, heads * value]))
    d.attributes.update(q_num_heads=heads, kv_num_heads=heads, update_rule="linear")
    d.output_count = 2


@maker("CausalConvWithState", since=27)
def causal_conv(d):
    batch, channels, length, kernel = d.size(1, 3), d.size(1, 4), d.size(1, 6), d.size(2, 4)
    d.input(d.array([batch, channels, length])), d.input(d.array([channels, 1, kernel]))
    d.input(d.array([channels]) if d.chance() else None)
    d.input(d.array([batch, channels, kernel - 1]) if d.chance() else None)
    d.output_count = 2


@maker("TensorScatter", since=24)
def tensor_scatter(d):
    batch, heads, most, new, size = d.size(1, 2), d.size(1, 3), 6, d.size(1, 3), 4
    d.input(d.array([batch, heads, most, size])), d.input(d.array([batch, heads, new, size]))
    if d.chance():
        d.input(d.array([batch], np.int64, 0, 3))


# ---- shapes, joins, cuts ----

@maker("Reshape")
def reshape(d):
    shape = d.shape(1, 4)
    left, to = int(np.prod(shape)), []
    while left > 1 and len(to) < 4:
        part = d.rng.choice([n for n in range(1, left + 1) if left % n == 0])
        to.append(part)
        left //= part
    to = to + [left] if left > 1 or not to else to
    if d.chance(0.4):
        to[d.rng.randrange(len(to))] = -1
    elif to[0] == shape[0] and d.chance():
        to[0] = 0
    d.input(d.array(shape, d.rng.choice([np.float32, np.int64])))
    if d.version < 5:
        d.attributes["shape"] = to
    else:
        d.setting(to)
        if d.version >= 14 and 0 not in to and d.chance(0.3):
            d.attributes["allowzero"] = 1


@maker("Squeeze", "Unsqueeze")
def squeeze(d):
    shape = d.shape(1, 4)
    axes = sorted(d.rng.sample(range(len(shape)), d.rng.randint(1, min(2, len(shape)))))
    if d.op == "Squeeze":
        shape = [1 if i in axes else n for i, n in enumerate(shape)]
        rank = len(shape)
        if d.chance(0.2):
            axes = None
    else:
        rank = len(shape) + len(axes)
    if axes is not None and d.version >= 11:
        axes = [a - rank if d.chance(0.3) else a for a in axes]
    d.input(d.array(shape, d.rng.choice([np.float32, np.int64])))
    if axes is not None:
        if d.version >= 13:
            d.setting(axes)
        else:
            d.attributes["axes"] = axes


@maker("Flatten")
def flatten(d):
    shape = d.shape(1, 4)
    d.input(d.array(shape))
    if d.chance(0.8):
        d.attributes["axis"] = d.rng.randrange(0 if d.version < 11 else -len(shape), len(shape) + 1)


@maker("Transpose")
def transpose(d):
    shape = d.shape(0, 5)
    d.input(d.array(shape, d.rng.choice([np.float32, np.int64])))
    if d.chance(0.8):
        d.attributes["perm"] = d.rng.sample(range(len(shape)), len(shape)) if shape else None


@maker("Concat")
def concat(d):
    shape = d.shape(1, 4)
    axis = d.rng.randrange(0 if d.version < 11 else -len(shape), len(shape))
    for _ in range(d.rng.randint(1, 4)):
        part = list(shape)
        part[axis] = d.size()
        d.input(d.array(part, np.float32))
    d.attributes["axis"] = axis


@maker("Split")
def split(d):
    shape = d.shape(1, 4)
    axis = d.rng.randrange(0 if d.version < 11 else -len(shape), len(shape))
    parts = d.rng.randint(1, 3)
    sizes = [d.size() for _ in range(parts)]
    even = d.chance(0.4)
    if even:
        sizes = [sizes[0]] * parts
        if d.version >= 18 and parts > 1 and d.chance():
            sizes[-1] = d.size(1, sizes[0])
    shape[axis] = sum(sizes)
    if even and -(-sum(sizes) // parts) != sizes[0]:
        even = False
    d.input(d.array(shape, d.rng.choice([np.float32, np.int64])))
    d.attributes["axis"] = axis
    if even:
        if d.version >= 18:
            d.attributes["num_outputs"] = parts
    elif d.version >= 13:
        d.setting(sizes)
    else:
        d.attributes["split"] = sizes
    d.output_count = parts


@maker("Slice")
def slice_(d):
    shape = d.shape(1, 4)
    axes = sorted(d.rng.sample(range(len(shape)), d.rng.randint(1, len(shape))))
    whole = axes == list(range(len(axes)))
    steps = [d.rng.choice([1, 1, 2, -1, -2]) for _ in axes] if d.version >= 10 else [1] * len(axes)
    starts, ends = [], []
    for a, s in zip(axes, steps):
        start, end = d.rng.randint(-shape[a] - 1, shape[a] + 1), d.rng.choice([d.rng.randint(-shape[a] - 1, shape[a] + 1), 2**31 - 1])
        if s < 0 and end == 2**31 - 1:
            end = -2**31
        starts.append(start), ends.append(end)
    d.input(d.array(shape, d.rng.choice([np.float32, np.int64])))
    if d.version < 10:
        d.attributes.update(starts=starts, ends=ends, axes=None if whole and d.chance() else axes)
    else:
        d.setting(starts), d.setting(ends)
        if not whole or any(s != 1 for s in steps) or d.chance():
            d.setting([a - len(shape) if d.chance(0.3) else a for a in axes])
            d.setting(steps)


@maker("Pad")
def pad(d):
    shape = d.shape(1, 4)
    shape = [n + 2 for n in shape]
    low = -1 if d.chance(0.2) else 0
    mode = d.rng.choice(["constant", "constant", "reflect", "edge"] + (["wrap"] if d.version >= 19 else []))
    low = 0 if mode != "constant" else low
    axes = list(range(len(shape)))
    if d.version >= 18 and d.chance(0.3):
        axes = sorted(d.rng.sample(axes, d.rng.randint(1, len(axes))))
    pads = [d.rng.randint(low, 2) for _ in range(2 * len(axes))]
    d.input(d.array(shape))
    d.attributes["mode"] = mode
    if d.version < 2:
        d.attributes["paddings"] = pads
    elif d.version < 11:
        d.attributes["pads"] = pads
    else:
        d.setting(pads)
        if len(axes) < len(shape):
            d.input(None) if d.chance() else d.setting(np.float32(1))
            d.setting(axes)
        elif mode == "constant" and d.chance(0.3):
            d.setting(np.float32(2))


@maker("Expand", since=8)
def expand(d):
    shape = d.shape(0, 3)
    to = [n if n > 1 else d.size() for n in shape]
    to = [1 if d.chance(0.2) else n for n in to]
    d.input(d.array(shape, d.rng.choice([np.float32, np.int64])))
    d.setting(d.shape(0, 2) + to)


@maker("Tile")
def tile(d):
    shape = d.shape(1, 3)
    d.input(d.array(shape, np.float32))
    if d.version < 6:
        d.setting(np.array([d.size(1, 3)], np.float32)), d.setting(np.array([d.rng.randrange(len(shape))], np.float32))
    else:
        d.setting([d.rng.randint(1, 3) for _ in shape])


@maker("Shape", "Size")
def shape_of(d):
    d.input(d.array(d.shape(0, 5)))
    if d.op == "Shape" and d.version >= 15 and d.chance(0.7):
        d.attributes["start"] = d.rng.randint(-4, 4)
        if d.chance(0.7):
            d.attributes["end"] = d.rng.randint(-4, 4)


@maker("ConstantOfShape", since=9)
def constant_of_shape(d):
    d.setting(d.shape(0, 4))
    if d.chance(0.6):
        d.attributes["value"] = numpy_helper.from_array(np.array([3], d.rng.choice([np.float32, np.int64, np.int32])))


@maker("Constant")
def constant(d):
    d.attributes["value"] = numpy_helper.from_array(d.array(d.shape(0, 3), d.rng.choice([np.float32, np.int64, np.float16])))


@maker("Range", since=11)
def range_(d):
    dtype = d.rng.choice([np.int64, np.int32, np.float32])
    delta = d.rng.choice([1, 2, 3, -1, -2]) if dtype != np.float32 else d.rng.choice([0.1, 0.3, 0.7, -0.2, 1.5])
    d.setting(dtype(d.rng.randint(-5, 5))), d.setting(dtype(d.rng.randint(-9, 9))), d.setting(dtype(delta))


@maker("EyeLike", since=9)
def eye_like(d):
    d.input(d.array([d.size(), d.size()], d.rng.choice([np.float32, np.int32])))
    if d.chance():
        d.attributes["dtype"] = d.rng.choice([TensorProto.FLOAT, TensorProto.INT64])
    d.attributes["k"] = d.rng.randint(-1, 1)


@maker("Trilu", since=14)
def trilu(d):
    d.input(d.array(d.shape(0, 2) + [d.size(), d.size()]))
    d.attributes["upper"] = int(d.chance())


@maker("CenterCropPad", since=18)
def center_crop_pad(d):
    shape = d.shape(1, 3)
    axes = sorted(d.rng.sample(range(len(shape)), d.rng.randint(1, len(shape))))
    d.input(d.array(shape))
    if len(axes) == len(shape) and d.chance():
        d.setting([d.size(1, 9) for _ in shape])
    else:
        d.setting([d.size(1, 9) for _ in axes])
        d.attributes["axes"] = axes


@maker("DepthToSpace", "SpaceToDepth")
def rearrange(d):
    block, c, h, w = d.rng.choice([1, 2, 3]), d.size(1, 3), d.size(1, 3), d.size(1, 3)
    d.input(d.array([2, c * block * block, h, w] if d.op == "DepthToSpace" else [2, c, h * block, w * block]))
    d.attributes["blocksize"] = block


@maker("Resize", since=10)
def resize(d):
    shape = [d.size(1, 2), d.size(1, 3)] + [d.rng.choice([3, 5, 7, 10, 20, 31, 100]) for _ in range(2)]
    factors = [d.rng.choice([0.1, 0.35, 0.5, 0.57, 0.7, 1.1, 1.3333333, 1.6666666, 2.0, 2.3]) for _ in range(2)]
    factors = [max(f, 1.0 / n + 1e-3) for f, n in zip(factors, shape[2:])]
    d.input(d.array(shape))
    d.attributes["mode"] = "nearest"
    if d.version < 11:
        d.setting(np.array([1.0, 1.0] + factors, np.float32))
        return
    axes = [2, 3] if d.version >= 18 and d.chance(0.4) else None
    if axes:
        d.attributes["axes"] = axes
    front = [] if axes else [1.0, 1.0]
    if d.chance(0.6):
        d.setting(np.zeros([0], np.float32)) if d.version < 13 else d.input(None)
        d.setting(np.array(front + factors, np.float32))
        return
    d.setting(np.zeros([0], np.float32)) if d.version < 13 else d.input(None)
    d.setting(np.zeros([0], np.float32)) if d.version < 13 else d.input(None)
    sizes = [d.rng.randint(2, 40) for _ in range(2)]
    d.setting((shape[:2] if front else []) + sizes)
    if d.version >= 18 and axes and d.chance(0.7):
        d.attributes["keep_aspect_ratio_policy"] = d.rng.choice(["not_larger", "not_smaller", "stretch"])


@maker("Upsample")
def upsample(d):
    shape = [d.size(1, 2), d.size(1, 3), d.rng.choice([3, 5, 10]), d.rng.choice([3, 5, 10])]
    scale = [d.rng.choice([1.0, 1.1, 1.5, 1.6666666, 2.0, 2.3]) for _ in range(2)]
    d.input(d.array(shape))
    d.attributes["mode"] = "nearest"
    if d.version < 7:
        d.attributes.update(height_scale=scale[0], width_scale=scale[1])
    elif d.version < 9:
        d.attributes["scales"] = [1.0, 1.0] + scale
    else:
        d.setting(np.array([1.0, 1.0] + scale, np.float32))


# ---- lookups ----

@maker("Gather", "GatherElements")
def gather(d):
    shape = d.shape(1, 4)
    axis = d.rng.randrange(-len(shape), len(shape))
    rows = d.shape(0, 2) if d.op == "Gather" else [n if i != axis % len(shape) else d.size() for i, n in enumerate(shape)]
    d.input(d.array(shape, d.rng.choice([np.float32, np.int64])))
    d.input(d.array(rows, np.int64, -1 if d.version >= 11 else 0, shape[axis] - 1).clip(-shape[axis], shape[axis] - 1))
    d.attributes["axis"] = axis


@maker("GatherND", since=11)
def gather_nd(d):
    shape = d.shape(1, 4)
    batch = d.rng.randint(0, len(shape) - 1) if d.version >= 12 and d.chance() else 0
    depth = d.rng.randint(1, len(shape) - batch)
    d.input(d.array(shape, np.float32))
    rows = d.array(shape[:batch] + d.shape(0 if batch else 0, 2) + [depth], np.int64, 0, 0)
    d.input(rows)
    if batch:
        d.attributes["batch_dims"] = batch


@maker("ScatterElements", "Scatter", since=9)
def scatter(d):
    shape = d.shape(1, 3)
    axis = d.rng.randrange(len(shape))
    rows = [d.rng.randint(1, n) for n in shape]
    order = np.stack([d.numbers.permutation(shape[axis])[:rows[axis]] for _ in range(int(np.prod(rows)) // rows[axis])])
    index = np.moveaxis(order.reshape([n for i, n in enumerate(rows) if i != axis] + [rows[axis]]), -1, axis)
    d.input(d.array(shape)), d.input(index.astype(np.int64)), d.input(d.array(rows))
    d.attributes["axis"] = axis


@maker("ScatterND", since=11)
def scatter_nd(d):
    shape = d.shape(1, 3)
    depth = d.rng.randint(1, len(shape))
    count = d.rng.randint(1, int(np.prod(shape[:depth])))
    flat = d.numbers.permutation(int(np.prod(shape[:depth])))[:count]
    index = np.stack(np.unravel_index(flat, shape[:depth]), -1).astype(np.int64)
    d.input(d.array(shape)), d.input(index), d.input(d.array([count] + shape[depth:]))


@maker("OneHot", since=9)
def one_hot(d):
    shape = d.shape(1, 3)
    d.input(d.array(shape, d.rng.choice([np.int64, np.float32, np.int32]), 0, 3))
    d.setting(np.array(d.size(4, 7), np.int64) if d.chance() else [d.size(4, 7)])
    d.setting(np.array([0, 1], d.rng.choice([np.float32, np.int64])))
    if d.chance(0.8):
        d.attributes["axis"] = d.rng.randrange(-len(shape) - 1, len(shape) + 1)


@maker("TopK")
def top_k(d):
    shape = d.shape(1, 4)
    axis = d.rng.randrange(-1 if d.version < 11 else -len(shape), len(shape))
    k = d.rng.randint(1, shape[axis])
    d.input(d.array(shape, np.float32))
    d.attributes["axis"] = axis
    if d.version < 10:
        d.attributes["k"] = k
    else:
        d.setting([k])
    if d.version >= 11 and d.chance():
        d.attributes["largest"] = 0
    d.output_count = 2


@maker("NonZero", "Unique", since=9)
def of_data(d):
    """Their sizes depend on data, so that all elements are not zero and distinct here."""
    shape = d.shape(1, 3)
    x = np.arange(1, int(np.prod(shape)) + 1).reshape(shape).astype(np.float32)
    d.input(d.numbers.permutation(x.reshape(-1)).reshape(shape))
    if d.op == "Unique":
        d.output_count = d.rng.choice([1, 4])
        d.attributes["sorted"] = int(d.chance())
        if d.chance(0.4):
            d.attributes["axis"] = d.rng.randrange(-len(shape), len(shape))


@maker("Compress", since=9)
def compress(d):
    shape = d.shape(1, 3)
    axis = d.rng.choice([None] + list(range(0 if d.version < 11 else -len(shape), len(shape))))
    count = int(np.prod(shape)) if axis is None else shape[axis]
    d.input(d.array(shape))
    d.input(np.ones([d.rng.randint(1, count)], bool) if d.chance() else d.array([count], bool))
    if d.feeds["i1"].sum() < len(d.feeds["i1"]):
        d.fixed.add("i1")
    if axis is not None:
        d.attributes["axis"] = axis


@maker("ReverseSequence", since=10)
def reverse_sequence(d):
    steps, batch = d.size(2, 5), d.size(1, 4)
    d.input(d.array([steps, batch] + d.shape(0, 2)))
    d.input(d.array([batch], np.int64, 1, steps))


# ---- images, losses, random numbers, signals ----

@maker("GridSample", since=16)
def grid_sample(d):
    spatial = 2 if d.version < 20 or d.chance() else 3
    n = d.size(1, 2)
    d.input(d.array([n, d.size(1, 3)] + [d.size(2, 5) for _ in range(spatial)]))
    d.input(d.array([n] + [d.size() for _ in range(spatial)] + [spatial], np.float32, -1, 1))


@maker("RoiAlign", "MaxRoiPool", since=1)
def roi(d):
    x = d.array([d.size(1, 2), d.size(1, 3), 8, 8])
    count = d.size(1, 4)
    if d.op == "RoiAlign":
        d.input(x), d.input(np.tile(np.array([0, 0, 4, 4], np.float32), (count, 1))), d.input(np.zeros([count], np.int64))
        d.attributes.update(output_height=d.size(), output_width=d.size())
    else:
        d.input(x), d.input(np.tile(np.array([0, 0, 0, 4, 4], np.float32), (count, 1)))
        d.attributes["pooled_shape"] = [d.size(1, 3), d.size(1, 3)]


@maker("AffineGrid", since=20)
def affine_grid(d):
    n, spatial = d.size(1, 3), d.rng.choice([2, 3])
    d.input(d.array([n, spatial, spatial + 1]))
    d.setting([n, d.size()] + [d.size(2, 5) for _ in range(spatial)])


@maker("Det", since=11)
def det(d):
    n = d.size()
    d.input(d.array(d.shape(0, 2) + [n, n]))


@maker("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", since=12)
def loss(d):
    n, classes, more = d.size(), d.size(2, 5), d.shape(0, 2)
    d.input(d.array([n, classes] + more))
    d.input(d.array([n] + more, np.int64, 0, classes - 1))
    d.attributes["reduction"] = d.rng.choice(["none", "sum", "mean"])
    if d.op == "SoftmaxCrossEntropyLoss" and d.chance():
        d.output_count = 2


@maker("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial", "Dropout")
def drawn(d):
    if d.op in ("RandomNormal", "RandomUniform"):
        d.attributes["shape"] = d.shape(1, 3)
    elif d.op == "Multinomial":
        d.input(d.array([d.size(), d.size()]))
        d.attributes["sample_size"] = d.size()
    else:
        d.input(d.array(d.shape(1, 3), np.float32, 0, 1))
    if d.op == "Dropout" and d.version < 7:
        d.attributes["is_test"] = 1
    if d.op == "Dropout" and d.version >= 10 and d.chance(0.3):
        d.output_count = 2
    if d.op in ("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike") and d.chance(0.3):
        d.attributes["dtype"] = TensorProto.DOUBLE


@maker("HannWindow", "HammingWindow", "BlackmanWindow", since=17)
def window(d):
    d.setting(np.int64(d.size(2, 9)))


@maker("MelWeightMatrix", since=17)
def mel(d):
    d.setting(np.int64(4)), d.setting(np.int64(16)), d.setting(np.int64(8192)), d.setting(np.float32(0)), d.setting(np.float32(4096))


@maker("DFT", since=17)
def dft(d):
    real = d.chance()
    shape = [d.size(1, 2), d.size(4, 8), d.size(4, 8), 1 if real else 2]
    axis = d.rng.choice([1, 2])
    d.input(d.array(shape))
    length = d.size(4, 8) if d.chance(0.4) else None
    d.input(None if length is None else np.int64(length), fixed=True)
    if d.version < 20:
        d.attributes["axis"] = axis
    else:
        d.setting(np.int64(axis))
    if real and d.chance():
        d.attributes["onesided"] = 1
    elif d.chance(0.3):
        d.attributes["inverse"] = 1


@maker("STFT", since=17)
def stft(d):
    frame = d.rng.choice([4, 8])
    d.input(d.array([d.size(1, 2), d.size(10, 20), 1]))
    d.setting(np.int64(d.size(1, 4)))
    if d.chance():
        d.input(np.ones([frame], np.float32))
    else:
        d.input(None)
    d.setting(np.int64(frame))
    d.attributes["onesided"] = int(d.chance())


@maker("NonMaxSuppression", since=10)
def nms(d):
    """Boxes that do not touch, so that all are kept."""
    count, classes = d.size(1, 4), d.size(1, 2)
    boxes = np.array([[[i, i, i + 0.5, i + 0.5] for i in range(count)]], np.float32)
    d.input(boxes), d.input(d.array([1, classes, count], np.float32, 0.5, 1)), d.setting([count])


# ---- ONNX Runtime's own ----

@maker("FusedConv", "FusedGemm", "FusedMatMul", "BiasGelu", "FastGelu", "QuickGelu", "SkipLayerNormalization",
       "SkipSimplifiedLayerNormalization", "GroupQueryAttention", "MultiHeadAttention", "MatMulNBits", "MatMulIntegerToFloat",
       "DynamicQuantizeMatMul", "QLinearAdd", "QLinearMul", "QLinearSigmoid", "QLinearLeakyRelu", "QLinearConcat", "QLinearSoftmax",
       "QLinearAveragePool", "QLinearGlobalAveragePool", "QGemm", "EmbedLayerNormalization", "GatherBlockQuantized",
       domain="com.microsoft")
def runtime_op(d):
    RUNTIME[d.op](d)


def fused_conv(d):
    conv_draw = Draw("Conv", 13, d.rng)
    conv(conv_draw)
    d.inputs, d.feeds, d.attributes = conv_draw.inputs, conv_draw.feeds, conv_draw.attributes
    d.attributes["activation"] = d.rng.choice(["Relu", "Sigmoid", "Tanh"])


def fused_gemm(d):
    gemm(d)
    d.attributes["activation"] = d.rng.choice(["Relu", "Sigmoid", "Tanh"])


def fused_matmul(d):
    m, n, k, batch = d.size(), d.size(), d.size(), d.shape(0, 2)
    ta, tb = int(d.chance()), int(d.chance())
    d.attributes.update(transA=ta, transB=tb, alpha=0.5)
    d.input(d.array(batch + ([k, m] if ta else [m, k]))), d.input(d.array(batch + ([n, k] if tb else [k, n])))


def gelus(d):
    n = d.size()
    d.input(d.array(d.shape(1, 2) + [n]))
    if d.op == "BiasGelu" or (d.op == "FastGelu" and d.chance()):
        d.input(d.array([n]))


def skip_norms(d):
    shape = [d.size(), d.size(), d.size()]
    d.input(d.array(shape)), d.input(d.array(shape)), d.input(d.array(shape[-1:]))
    if d.op == "SkipLayerNormalization":
        d.input(d.array(shape[-1:]))
    if d.chance():
        d.input(d.array(shape[-1:]))
    if d.chance():
        d.output_count, d.left_out = 4, {1, 2}


def group_query(d):
    batch, kv, groups, steps, size = 1, d.size(1, 2), d.size(1, 3), d.size(1, 4), 16
    d.input(d.array([batch, steps, kv * groups * size]))
    d.input(d.array([batch, steps, kv * size])), d.input(d.array([batch, steps, kv * size]))
    d.input(d.array([batch, kv, 0, size])), d.input(d.array([batch, kv, 0, size]))
    d.input(np.array([steps - 1], np.int32), fixed=True), d.input(np.array(steps, np.int32), fixed=True)
    d.attributes.update(num_heads=kv * groups, kv_num_heads=kv)
    d.output_count = 3


def multi_head(d):
    batch, heads, q, k, size = d.size(1, 2), d.size(1, 3), d.size(1, 4), d.size(1, 4), 4
    d.input(d.array([batch, q, heads * size])), d.input(d.array([batch, k, heads * size])), d.input(d.array([batch, k, heads * size]))
    d.attributes["num_heads"] = heads


def matmul_nbits(d):
    k, n, block = d.rng.choice([32, 64, 100]), d.size(1, 8), 32
    blocks = -(-k // block)
    d.input(d.array(d.shape(1, 2) + [k]))
    d.setting(d.array([n, blocks, block // 2], np.uint8, 0, 255)), d.setting(d.array([n, blocks] if d.version > 12 else [n * blocks]))
    d.attributes.update(K=k, N=n, bits=4, block_size=block)


def integer_to_float(d):
    m, n, k, batch = d.size(), d.size(), d.size(), d.shape(0, 1)
    if d.op == "DynamicQuantizeMatMul":
        d.input(d.array(batch + [m, k])), d.input(d.array([k, n], np.uint8, 0, 9)), d.setting(np.float32(0.5))
    else:
        d.input(d.array(batch + [m, k], np.uint8, 0, 9)), d.input(d.array([k, n], np.uint8, 0, 9))
        d.setting(np.float32(0.5)), d.setting(np.float32(0.5))


def qlinear(d):
    shape = d.shape(1, 4)
    one = lambda: (d.setting(np.float32(0.5)), d.setting(np.uint8(1)))
    if d.op == "QLinearConcat":
        one()
        axis = d.rng.randrange(len(shape))
        for _ in range(d.rng.randint(1, 3)):
            shape[axis] = d.size()
            d.input(d.array(shape, np.uint8, 0, 9))
            one()
        d.attributes["axis"] = axis
        return
    if d.op == "QLinearAveragePool":
        image = windows(d, 2)
        d.attributes["channels_last"] = int(d.chance())
        shape = [2] + (image + [3] if d.attributes["channels_last"] else [3] + image)
    if d.op == "QLinearGlobalAveragePool":
        d.attributes["channels_last"] = int(d.chance())
        shape = [2, d.size(), d.size(), d.size()]
    d.input(d.array(shape, np.uint8, 0, 9))
    one()
    if d.op in ("QLinearAdd", "QLinearMul"):
        d.input(d.array([n if d.chance(0.7) else 1 for n in shape][d.rng.randint(0, len(shape)):], np.uint8, 0, 9))
        one()
    one()
    if d.op == "QLinearSoftmax":
        d.attributes["opset"] = 13


def qgemm(d):
    m, n, k = d.size(), d.size(), d.size()
    ta, tb = int(d.chance()), int(d.chance())
    d.attributes.update(transA=ta, transB=tb)
    d.input(d.array([k, m] if ta else [m, k], np.uint8, 0, 9)), d.setting(np.float32(0.5)), d.setting(np.uint8(0))
    d.input(d.array([n, k] if tb else [k, n], np.uint8, 0, 9)), d.setting(np.float32(0.5)), d.setting(np.uint8(0))
    if d.chance():
        d.input(None), d.setting(np.float32(0.5)), d.setting(np.uint8(0))


def embed(d):
    batch, steps, size = d.size(), d.size(), d.size(2, 6)
    d.input(d.array([batch, steps], np.int32, 0, 5)), d.input(d.array([batch, steps], np.int32, 0, 1))
    d.input(d.array([6, size])), d.input(d.array([8, size])), d.input(d.array([2, size]))
    d.input(d.array([size])), d.input(d.array([size])), d.input(np.ones([batch, steps], np.int32))
    d.output_count = 2


def gather_quantized(d):
    rows, columns, block = d.size(2, 6), 32, 16
    d.input(d.array([rows, columns // 2], np.uint8, 0, 255), fixed=True)
    d.input(d.array(d.shape(1, 2), np.int64, 0, rows - 1))
    d.setting(d.array([rows, columns // block]))
    d.attributes.update(bits=4, block_size=block, gather_axis=0, quantize_axis=1)


RUNTIME = {"FusedConv": fused_conv, "FusedGemm": fused_gemm, "FusedMatMul": fused_matmul, "BiasGelu": gelus, "FastGelu": gelus,
           "QuickGelu": gelus, "SkipLayerNormalization": skip_norms, "SkipSimplifiedLayerNormalization": skip_norms,
           "GroupQueryAttention": group_query, "MultiHeadAttention": multi_head, "MatMulNBits": matmul_nbits,
           "MatMulIntegerToFloat": integer_to_float, "DynamicQuantizeMatMul": integer_to_float, "QGemm": qgemm,
           "EmbedLayerNormalization": embed, "GatherBlockQuantized": gather_quantized}
for _op in ("QLinearAdd", "QLinearMul", "QLinearSigmoid", "QLinearLeakyRelu", "QLinearConcat", "QLinearSoftmax", "QLinearAveragePool",
            "QLinearGlobalAveragePool"):
    RUNTIME[_op] = qlinear


# ---- drawing ----

def versions_of(op, since, domain):
    if domain:
        return list(range(13, 22))
    versions = []
    for version in range(max(since, 1), NEWEST + 1):
        try:
            if not onnx.defs.get_schema(op, version, "").deprecated:
                versions.append(version)
        except onnx.defs.SchemaError:
            pass
    return versions


def draw_case(op, rng):
    """A valid model of that op; None where 20 draws made none."""
    function, since, domain = MAKERS[op]
    versions = versions_of(op, since, domain)
    for _ in range(20):
        d = Draw(op, rng.choice(versions), rng, domain)
        try:
            function(d)
            case = d.case()
            case.find_types()
            if domain:
                onnx.checker.check_model(case.model())
            else:
                onnx.checker.check_model(case.model(), full_check=True)
        except Exception as error:  # no common class of those that the checker, the runtime and numpy raise
            if os.environ.get("EMP_WITNESS_DRAWS"):
                print(op, d.version, str(error)[:300])
            continue
        return case
    return None


def draw_cases(count, seed, only=None):
    """So many cases, each op in turn, or of one op; every tenth one is a network that the runtime has optimised."""
    rng = random.Random(seed)
    ops = [only] if only else sorted(MAKERS)
    for i in range(count):
        is_network = only == "networks" or (i % 10 == 9 and not only)
        for _ in range(5):  # the runtime refuses one network in twenty
            case = networks.draw_network(rng) if is_network else draw_case(ops[i % len(ops)], rng)
            if case is not None:
                yield case
                break
