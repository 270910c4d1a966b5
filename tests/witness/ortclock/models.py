# SPDX-License-Identifier: GPL-3.0-or-later
"""Ten networks in ONNX: the public architectures, smaller, with random weights."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper


class Network:
    """A graph under construction. Values are names."""

    def __init__(self, name):
        self.name, self.nodes, self.weights, self.inputs, self.feeds = name, [], [], [], {}
        self.random = np.random.default_rng(len(name))

    def input(self, shape, dtype=np.float32, below=None):
        name = f"input{len(self.inputs)}"
        kind = TensorProto.FLOAT if dtype == np.float32 else TensorProto.INT64
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        self.feeds[name] = self.random.standard_normal(shape, np.float32) if below is None else self.random.integers(0, below, shape, dtype)
        return name

    def weight(self, *shape):
        name = f"weight{len(self.weights)}"
        scale = np.float32(1 / np.sqrt(max(1, np.prod(shape[1:]))))
        self.weights.append(numpy_helper.from_array(self.random.standard_normal(shape, np.float32) * scale, name))
        return name

    def constant(self, value, dtype=np.float32):
        name = f"constant{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def op(self, kind, *inputs, outputs=1, **attributes):
        """A node; every third has no name, as in files of several exporters."""
        i = len(self.nodes)
        made = [f"v{i}" if k == 0 else f"v{i}_{k}" for k in range(outputs)]
        name = "" if i % 3 == 2 else f"/{self.name}/{kind}_{i}"
        self.nodes.append(helper.make_node(kind, list(inputs), made, name=name, **attributes))
        return made[0] if outputs == 1 else made

    def linear(self, x, size_in, size_out):
        return self.op("Add", self.op("MatMul", x, self.weight(size_in, size_out)), self.weight(size_out))

    def conv(self, x, size_in, size_out, window=3, stride=1, group=1, activation="Relu"):
        x = self.op("Conv", x, self.weight(size_out, size_in // group, window, window), self.weight(size_out), group=group,
                    strides=[stride, stride], pads=[window // 2] * 4, kernel_shape=[window, window])
        return self.op(activation, x) if activation else x

    def norm(self, x, size):
        return self.op("LayerNormalization", x, self.weight(size), self.weight(size), axis=-1)

    def spelled_norm(self, x, size):
        """A layer norm in nine nodes, as exporters for operators before version 17 write it."""
        centred = self.op("Sub", x, self.op("ReduceMean", x, axes=[-1]))
        square = self.op("ReduceMean", self.op("Pow", centred, self.constant(2.0)), axes=[-1])
        root = self.op("Sqrt", self.op("Add", square, self.constant(1e-5)))
        return self.op("Add", self.op("Mul", self.op("Div", centred, root), self.weight(size)), self.weight(size))

    def spelled_gelu(self, x):
        one = self.op("Add", self.op("Erf", self.op("Div", x, self.constant(np.sqrt(2.0)))), self.constant(1.0))
        return self.op("Mul", self.op("Mul", x, one), self.constant(0.5))

    def attention(self, x, length, size, heads, mask=None):
        split, shape = self.constant([0, 0, heads, size // heads], np.int64), self.constant([0, 0, size], np.int64)
        query, key, value = (self.op("Transpose", self.op("Reshape", self.linear(x, size, size), split), perm=order)
                             for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        scores = self.op("Div", self.op("MatMul", query, key), self.constant(np.sqrt(size / heads)))
        if mask is not None:
            scores = self.op("Add", scores, mask)
        mixed = self.op("MatMul", self.op("Softmax", scores, axis=-1), value)
        return self.linear(self.op("Reshape", self.op("Transpose", mixed, perm=[0, 2, 1, 3]), shape), size, size)

    def model(self, output, rank):
        graph = helper.make_graph(self.nodes, self.name, self.inputs,
                                  [helper.make_tensor_value_info(output, TensorProto.FLOAT, [None] * rank)], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), self.feeds


def resnet():
    n = Network("resnet")
    x = n.op("MaxPool", n.conv(n.input([1, 3, 96, 96]), 3, 32, 7, 2), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for size_in, size_out, stride in ((32, 32, 1), (32, 64, 2), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2)):
        y = n.conv(n.conv(x, size_in, size_out, 3, stride), size_out, size_out, 3, activation=None)
        short = x if size_in == size_out else n.conv(x, size_in, size_out, 1, stride, activation=None)
        x = n.op("Relu", n.op("Add", y, short))
    x = n.op("Flatten", n.op("GlobalAveragePool", x))
    return n.model(n.op("Gemm", x, n.weight(256, 1000), n.weight(1000)), 2)


def mobilenet():
    n = Network("mobilenet")
    x = n.conv(n.input([1, 3, 96, 96]), 3, 16, 3, 2, activation="HardSwish")
    for size_in, size_out, stride in ((16, 16, 1), (16, 24, 2), (24, 24, 1), (24, 48, 2), (48, 48, 1)):
        y = n.conv(x, size_in, 4 * size_in, 1, activation="HardSwish")
        y = n.conv(y, 4 * size_in, 4 * size_in, 5, stride, 4 * size_in, "HardSwish")
        gate = n.conv(n.op("GlobalAveragePool", y), 4 * size_in, size_in, 1)
        y = n.op("Mul", y, n.op("HardSigmoid", n.conv(gate, size_in, 4 * size_in, 1, activation=None)))
        y = n.conv(y, 4 * size_in, size_out, 1, activation=None)
        x = n.op("Add", x, y) if size_in == size_out and stride == 1 else y
    return n.model(n.op("Flatten", n.op("GlobalAveragePool", x)), 2)


def bert():
    n = Network("bert")
    length, size = 96, 192
    words, segments = n.input([1, length], np.int64, 1000), n.input([1, length], np.int64, 2)
    x = n.op("Add", n.op("Gather", n.weight(1000, size), words), n.op("Gather", n.weight(2, size), segments))
    x = n.spelled_norm(n.op("Add", x, n.weight(length, size)), size)
    for _ in range(3):
        x = n.spelled_norm(n.op("Add", x, n.attention(x, length, size, 4)), size)
        y = n.linear(n.spelled_gelu(n.linear(x, size, 4 * size)), 4 * size, size)
        x = n.spelled_norm(n.op("Add", x, y), size)
    return n.model(x, 3)


def gpt():
    n = Network("gpt")
    length, size = 64, 256
    x = n.op("Add", n.op("Gather", n.weight(2000, size), n.input([1, length], np.int64, 2000)), n.weight(length, size))
    mask = n.constant(np.triu(np.full([length, length], -1e9), 1))
    for _ in range(3):
        x = n.op("Add", x, n.attention(n.norm(x, size), length, size, 8, mask))
        y = n.linear(n.norm(x, size), size, 4 * size)
        cube = n.op("Mul", n.op("Pow", y, n.constant(3.0)), n.constant(0.044715))
        gate = n.op("Tanh", n.op("Mul", n.op("Add", y, cube), n.constant(np.sqrt(2 / np.pi))))
        y = n.op("Mul", n.op("Mul", y, n.constant(0.5)), n.op("Add", gate, n.constant(1.0)))
        x = n.op("Add", x, n.linear(y, 4 * size, size))
    return n.model(n.op("MatMul", n.norm(x, size), n.weight(size, 2000)), 3)


def llama():
    n = Network("llama")
    length, size = 64, 192
    x = n.op("Gather", n.weight(2000, size), n.input([1, length], np.int64, 2000))

    def rms(y):
        square = n.op("ReduceMean", n.op("Pow", y, n.constant(2.0)), axes=[-1])
        return n.op("Mul", n.op("Div", y, n.op("Sqrt", n.op("Add", square, n.constant(1e-6)))), n.weight(size))

    for _ in range(3):
        x = n.op("Add", x, n.attention(rms(x), length, size, 6))
        y = rms(x)
        gate = n.op("MatMul", y, n.weight(size, 3 * size))
        gate = n.op("Mul", gate, n.op("Sigmoid", gate))
        y = n.op("Mul", gate, n.op("MatMul", y, n.weight(size, 3 * size)))
        x = n.op("Add", x, n.op("MatMul", y, n.weight(3 * size, size)))
    return n.model(n.op("MatMul", rms(x), n.weight(size, 2000)), 3)


def recurrent(kind, gates):
    n = Network(kind.lower())
    length, size = 48, 128
    x = n.op("Gather", n.weight(1000, size), n.input([length, 2], np.int64, 1000))
    for _ in range(2):
        states = [n.weight(1, gates * size, size), n.weight(1, gates * size, size), n.weight(1, 2 * gates * size)]
        made = n.op(kind, x, *states, outputs=2, hidden_size=size)
        x = n.op("Squeeze", made[0], n.constant([1], np.int64))
    return n.model(n.op("Softmax", n.linear(x, size, 1000), axis=-1), 3)


def unet():
    n = Network("unet")
    x, kept = n.input([1, 3, 64, 64]), []
    sizes = [16, 32, 64]
    before = 3
    for size in sizes:
        x = n.conv(n.conv(x, before, size), size, size)
        kept.append(x)
        x, before = n.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), size
    x = n.conv(x, before, 128)
    before = 128
    for size, beside in zip(reversed(sizes), reversed(kept)):
        x = n.op("ConvTranspose", x, n.weight(before, size, 2, 2), n.weight(size), strides=[2, 2], kernel_shape=[2, 2])
        x = n.conv(n.op("Concat", x, beside, axis=1), 2 * size, size)
        before = size
    return n.model(n.conv(x, before, 2, 1, activation="Sigmoid"), 4)


def inception():
    n = Network("inception")
    x, size = n.conv(n.input([1, 3, 64, 64]), 3, 48, 3, 2), 48
    for _ in range(3):
        arms = [n.conv(x, size, 32, 1), n.conv(n.conv(x, size, 32, 1), 32, 48, 3), n.conv(n.conv(x, size, 16, 1), 16, 24, 5),
                n.conv(n.op("AveragePool", x, kernel_shape=[3, 3], pads=[1] * 4), size, 24, 1)]
        x, size = n.op("Concat", *arms, axis=1), 128
    return n.model(n.op("ReduceMean", x, axes=[2, 3]), 4)


def mixer():
    n = Network("mixer")
    patches, size = 64, 192
    x = n.conv(n.input([1, 3, 64, 64]), 3, size, 8, 8, activation=None)
    x = n.op("Slice", x, *(n.constant(v, np.int64) for v in ([0, 0], [8, 8], [2, 3])))
    x = n.op("Transpose", n.op("Reshape", x, n.constant([1, size, patches], np.int64)), perm=[0, 2, 1])
    for _ in range(4):
        y = n.op("Transpose", n.norm(x, size), perm=[0, 2, 1])
        y = n.linear(n.spelled_gelu(n.linear(y, patches, 128)), 128, patches)
        x = n.op("Add", x, n.op("Transpose", y, perm=[0, 2, 1]))
        y = n.linear(n.spelled_gelu(n.linear(n.norm(x, size), size, 512)), 512, size)
        x = n.op("Add", x, y)
    return n.model(n.op("ReduceMean", x, axes=[1]), 3)


MAKERS = {
    "resnet": resnet,
    "mobilenet": mobilenet,
    "inception": inception,
    "unet": unet,
    "mixer": mixer,
    "bert": bert,
    "gpt": gpt,
    "llama": llama,
    "lstm": lambda: recurrent("LSTM", 4),
    "gru": lambda: recurrent("GRU", 3),
}
