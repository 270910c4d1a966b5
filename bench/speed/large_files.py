#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes a large file of a kind that other programs write, for timing its reader.

    bench/speed/large_files.py graphdef|graphdef-text|hlo|kineto MEGABYTES > FILE

Layers of a network follow one another, with names, attributes and events shaped as in files of TensorFlow, XLA
and PyTorch's profiler. Numbers of layers have a fixed width, so that a layer is a template."""
import struct
import sys

THIS, NEXT = b"0000000", b"1111111"  # numbers in templates


def fill(template, layer):
    return template.replace(THIS, b"%07d" % layer).replace(NEXT, b"%07d" % (layer + 1))


# ---- GraphDef: forward, gradients in reverse order, updates ----

def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def message(fields):
    """The wire format of (number, value): an int, bytes or a list, which is a message; and its text."""
    out = b""
    for _, number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
            continue
        if isinstance(value, list):
            value = message(value)
        out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def text(fields, indent=""):
    out = ""
    for name, _, value in fields:
        if isinstance(value, list):
            out += f"{indent}{name} {{\n{text(value, indent + '  ')}{indent}}}\n"
        elif name == "float_val":
            out += f"{indent}{name}: {struct.unpack('<f', value)[0]}\n"
        elif name in ("type", "dtype"):
            out += f"{indent}{name}: DT_FLOAT\n"
        elif isinstance(value, int):
            out += f"{indent}{name}: {value if name != 'b' else str(bool(value)).lower()}\n"
        else:
            out += f"{indent}{name}: \"{value.decode()}\"\n"
    return out


SHAPE = ("shape", 7, [("dim", 2, [("size", 1, 1024)]), ("dim", 2, [("size", 1, 1024)])])
ATTRIBUTES = {
    "T": ("type", 6, 1), "dtype": ("type", 6, 1), "transpose_a": ("b", 5, 0), "transpose_b": ("b", 5, 1),
    "shape": SHAPE, "_output_shapes": ("list", 1, [SHAPE]),
    "use_locking": ("b", 5, 0), "_class": ("list", 1, [("s", 2, b"loc:@model/layer_0000000/dense/kernel")]),
    "value": ("tensor", 8, [("dtype", 1, 1), ("tensor_shape", 2, []), ("float_val", 5, struct.pack("<f", 0.5))])}


def node(name, op, inputs, attributes):
    return ("node", 1, [("name", 1, name.encode()), ("op", 2, op.encode())] +
            [("input", 3, i.encode()) for i in inputs] +
            [("attr", 5, [("key", 1, key.encode()), ("value", 2, [ATTRIBUTES[key]])])
             for key in sorted(attributes.split())])


def graphdef(size, form):
    a, before, g = "model/layer_0000000/dense/", "model/layer_1111111/dense/", "gradients/model/layer_0000000/dense/"
    after = "gradients/model/layer_1111111/dense/"
    # layer n reads layer n + 1: forward they are written from the last number to the first
    forward = [
        node(a + "kernel", "VariableV2", [], "dtype shape"),
        node(a + "kernel/read", "Identity", [a + "kernel"], "T _class"),
        node(a + "MatMul", "MatMul", [before + "Relu", a + "kernel/read"], "T transpose_a transpose_b _output_shapes"),
        node(a + "keep_prob", "Const", [], "dtype value"),
        node(a + "mul", "Mul", [a + "MatMul", a + "keep_prob"], "T"),
        node(a + "Relu", "Relu", [a + "mul"], "T _output_shapes")]
    backward = [
        node(after + "Relu_grad/ReluGrad", "ReluGrad", [g + "MatMul_grad/MatMul", before + "Relu"], "T"),
        node(g + "MatMul_grad/MatMul", "MatMul", [g + "Relu_grad/ReluGrad", a + "kernel/read"], "T transpose_b"),
        node(g + "MatMul_grad/MatMul_1", "MatMul", [before + "Relu", g + "Relu_grad/ReluGrad"], "T transpose_a"),
        node(g + "MatMul_grad/tuple/group_deps", "NoOp",
             ["^" + g + "MatMul_grad/MatMul", "^" + g + "MatMul_grad/MatMul_1"], ""),
        node(g + "MatMul_grad/tuple/control_dependency_1", "Identity",
             [g + "MatMul_grad/MatMul_1", "^" + g + "MatMul_grad/tuple/group_deps"], "T _class")]
    update = [node("train/update_" + a + "kernel/ApplyGradientDescent", "ApplyGradientDescent",
                   [a + "kernel", "learning_rate", g + "MatMul_grad/tuple/control_dependency_1"],
                   "T _class use_locking")]
    backward = backward[1:] + backward[:1]  # the next layer's comes last
    forward, backward, update = form(forward), form(backward), form(update)
    layers = max(1, size // len(forward + backward + update))
    first, last = b"%07d" % layers, b"0000000"
    yield form([node("learning_rate", "Const", [], "dtype value"),
                node(f"model/layer_{first.decode()}/dense/Relu", "Placeholder", [], "dtype shape"),
                ])
    for layer in range(layers - 1, -1, -1):
        yield fill(forward, layer)
    yield form([node(f"gradients/model/layer_{last.decode()}/dense/Relu_grad/ReluGrad", "ReluGrad",
                     [f"model/layer_{last.decode()}/dense/Relu"] * 2, "T")])
    for layer in range(layers):
        yield fill(backward, layer)
    for layer in range(layers):
        yield fill(update, layer)


# ---- HLO: a computation and four instructions of the entry a layer ----

def hlo(size):
    shape = "f32[128,1024]{1,0}"
    body = f"""%fused_computation.0000000 (param_0: f32[128,1024], param_1: f32[1024]) -> f32[128,1024] {{
  %param_0.0000000 = {shape} parameter(0)
  %param_1.0000000 = f32[1024]{{0}} parameter(1)
  %broadcast.0000000 = {shape} broadcast(%param_1.0000000), dimensions={{1}}, metadata={{op_name="jit(step)/jvp(Model)/layer_0000000/add"}}
  %add.0000000 = {shape} add(%param_0.0000000, %broadcast.0000000), metadata={{op_name="jit(step)/jvp(Model)/layer_0000000/add"}}
  %constant.0000000 = f32[] constant(0)
  %zeros.0000000 = {shape} broadcast(%constant.0000000), dimensions={{}}
  ROOT %maximum.0000000 = {shape} maximum(%add.0000000, %zeros.0000000), metadata={{op_name="jit(step)/jvp(Model)/layer_0000000/relu"}}
}}

""".encode()
    entry = f"""  %kernel.0000000 = f32[1024,1024]{{1,0}} constant({{...}})
  %bias.0000000 = f32[1024]{{0}} constant({{...}})
  %dot.0000000 = {shape} custom-call({shape} %fusion.1111111, f32[1024,1024]{{1,0}} %kernel.0000000), custom_call_target="__cublas$gemm", metadata={{op_name="jit(step)/jvp(Model)/layer_0000000/dot_general"}}, backend_config={{"gemm_backend_config":{{"alpha_real":1,"beta":0,"dot_dimension_numbers":{{"lhs_contracting_dimensions":["1"],"rhs_contracting_dimensions":["0"],"lhs_batch_dimensions":[],"rhs_batch_dimensions":[]}},"epilogue":"DEFAULT"}}}}
  %fusion.0000000 = {shape} fusion({shape} %dot.0000000, f32[1024]{{0}} %bias.0000000), kind=kLoop, calls=%fused_computation.0000000, metadata={{op_name="jit(step)/jvp(Model)/layer_0000000/relu"}}
""".encode()
    layers = max(1, size // len(body + entry))
    yield b"HloModule jit_step, is_scheduled=true\n\n"
    for layer in range(layers):
        yield fill(body, layer)
    yield b"ENTRY %%main (input: f32[128,1024]) -> f32[128,1024] {\n  %%fusion.%07d = %s parameter(0)\n" % (
        layers, shape.encode())
    for layer in range(layers - 1, 0, -1):
        yield fill(entry, layer)
    yield fill(entry, 0).replace(b"  %fusion", b"  ROOT %fusion") + b"}\n"


# ---- Kineto: an operator, its call, its kernel, and the arrow between them a layer ----

def kineto(size):
    layer_bytes, steps = 1420, 8
    layers = max(steps, size // layer_bytes)
    name = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int, float)"
    yield b"""{
  "schemaVersion": 1,
  "deviceProperties": [
    {"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150110011392, "numSms": 132}
  ],
  "traceEvents": [
"""
    start = 7172513226000.125
    for i in range(layers):
        ts = start + 40.5 * i
        if i % (layers // steps) == 0:
            yield f"""  {{
    "ph": "X", "cat": "user_annotation", "name": "ProfilerStep#{i // (layers // steps)}", "pid": 4141, "tid": 4141,
    "ts": {ts:.3f}, "dur": {40.5 * (layers // steps) - 1:.3f},
    "args": {{
      "External id": {i},"Record function id": 0, "Ev Idx": {i}
    }}
  }},
""".encode()
        yield f"""  {{
    "ph": "X", "cat": "cpu_op", "name": "aten::add_", "pid": 4141, "tid": 4141,
    "ts": {ts + 1:.3f}, "dur": 30.250,
    "args": {{
      "External id": {i},"Record function id": {i}, "Concrete Inputs": ["", "", "1"], "Input type": ["float", "float", "Scalar"], "Input Strides": [[1024, 1], [1024, 1], []], "Input Dims": [[128, 1024], [128, 1024], []], "Ev Idx": {i}
    }}
  }},
  {{
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4141, "tid": 4141,
    "ts": {ts + 5:.3f}, "dur": 6.125,
    "args": {{
      "External id": {i}, "cbid": 211, "correlation": {i}
    }}
  }},
  {{
    "ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": 7,
    "ts": {ts + 12:.3f}, "dur": 20.480,
    "args": {{
      "External id": {i}, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": {i}, "registers per thread": 22, "shared memory": 0, "blocks per SM": 7.757576, "warps per SM": 31.030304, "grid": [1024, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %": 48
    }}
  }},
  {{
    "ph": "s", "id": {i}, "pid": 4141, "tid": 4141, "ts": {ts + 5:.3f}, "cat": "ac2g", "name": "ac2g"
  }},
  {{
    "ph": "f", "id": {i}, "pid": 0, "tid": 7, "ts": {ts + 12:.3f}, "cat": "ac2g", "name": "ac2g", "bp": "e"
  }},
""".encode()
    yield b"""  {
    "name": "Trace Finished", "ph": "i", "s": "g", "pid": "Traces", "tid": "Trace OpenTelemetry", "ts": 1
  }
  ],
  "traceName": "trace.json"
}
"""


def main():
    forms = {"graphdef": lambda size: graphdef(size, message), "hlo": hlo, "kineto": kineto,
             "graphdef-text": lambda size: graphdef(size, lambda fields: text(fields).encode())}
    if len(sys.argv) != 3 or sys.argv[1] not in forms or not sys.argv[2].isdigit():
        sys.exit(__doc__)
    for chunk in forms[sys.argv[1]](int(sys.argv[2]) * 1000000):
        sys.stdout.buffer.write(chunk)


if __name__ == "__main__":
    main()
