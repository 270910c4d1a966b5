# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares Emplace's reading of ten modules with PyTorch, in each form that PyTorch writes.

    compare.py EMPLACE [--only MODULE] [--keep FOLDER]

Parameters must be exact. The FLOPs of products, convolutions and attention must be those of FlopCounterMode within
2 %. The last line is "N of M agree"; the exit status is 1 where N is less than M.
"""

import argparse
import contextlib
import io
import json
import logging
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
import torch
from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile
from torch.utils import flop_counter
from torch.utils.flop_counter import FlopCounterMode

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "shared"), str(HERE.parents[2] / "scripts" / "export")]

from export_torch import export_step, write_graph  # noqa: E402
from graphs import Table, read_graph  # noqa: E402
from modules import MODULES  # noqa: E402

PRODUCTS = ("mm", "conv", "linear", "matmul", "attention", "lstm", "einsum", "rnn", "Gemm", "MatMul", "Conv", "Einsum", "LSTM", "Attention")


# Differences that docs/witnesses/pytorch.md explains.
EXPLAINED = {
    ("state space", "ONNX, TorchScript"): "explained: a matrix that scales is told from a mask by no name",
}


def products(read):
    return sum(op["flops"] for op in read["ops"] if any(word in op["type"] for word in PRODUCTS))


def backward_by_groups(grad, x, weight, bias, stride, padding, dilation, transposed, _padding, groups, mask, **_):
    """FLOPs of a convolution's gradients; FlopCounterMode itself takes the filter's gradient for one without groups."""
    spots = 1
    for size in (x if transposed else grad)[2:]:
        spots *= size
    product = 2 * x[0] * spots
    for size in weight:
        product *= size
    return product * (bool(mask[0]) + bool(mask[1]))


def causal(count):
    """FLOPs of attention: half of them if it is causal, of which FlopCounterMode takes no notice."""
    position = {flop_counter.sdpa_flop_count: 4, flop_counter.sdpa_backward_flop_count: 7}[count]
    tensors = {flop_counter.sdpa_flop_count: slice(0, 3), flop_counter.sdpa_backward_flop_count: slice(0, 4)}[count]

    def formula(*args, is_causal=None, **_):
        if is_causal is None:
            is_causal = len(args) > position and args[position]
        return count(*args[tensors]) // (2 if is_causal else 1)

    return formula


ATTENTION = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
FORMULAS = {
    torch.ops.aten.convolution_backward: backward_by_groups,
    ATTENTION: causal(flop_counter.sdpa_flop_count),
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward: causal(flop_counter.sdpa_backward_flop_count),
}


def count_flops(run):
    with FlopCounterMode(display=False, custom_mapping=FORMULAS) as counter:
        run()
    return counter.get_total_flops()


class Case:
    def __init__(self, name):
        torch.manual_seed(0)
        make, inputs = MODULES[name]
        self.name, self.model, self.inputs = name, make(), inputs()
        self.parameters = sum(p.numel() for p in self.model.parameters())
        with torch.no_grad():  # values that tell parameters apart from constants, and from each other
            for tensor in [*self.model.parameters(), *self.model.buffers()]:
                if tensor.is_floating_point():
                    tensor.copy_(torch.rand_like(tensor) * 0.2 + 0.1)

    def shapes(self):
        """Sizes that may change: the batch, and the length of tokens."""
        if self.name != "dynamic":
            return None
        return ({0: torch.export.Dim("batch"), 1: torch.export.Dim("length")},)

    def export(self):
        return torch.export.export(self.model, self.inputs, dynamic_shapes=self.shapes())

    def plain(self):
        """The model in ops that FlopCounterMode knows: it counts no LSTM, and fails in the gradient of a branch."""
        if self.name == "control flow":
            return lambda x: self.model.larger(self.model.first(x))
        return self.export().run_decompositions().module() if self.name == "recurrent" else self.model

    def forward_flops(self):
        self.model.eval()
        model = self.plain()
        with torch.no_grad():
            return count_flops(lambda: model(*self.inputs))

    def step_flops(self):
        self.model.train()
        model = self.plain()
        if self.name == "recurrent":  # PyTorch's LSTM on the CPU makes the gradient of its input in any case
            self.inputs[0].requires_grad_()
        flops = count_flops(lambda: model(*self.inputs).float().square().mean().backward())
        self.inputs = tuple(x.detach() for x in self.inputs)
        return flops

    def masked_flops(self):
        """The forward pass where attention is products of matrices: a mask then saves none."""
        self.model.eval()
        model = self.export().run_decompositions().module() if self.name == "attention" else self.plain()
        with torch.no_grad():
            return count_flops(lambda: model(*self.inputs))


def onnx_parameters(case, path):
    """Elements of the file's weights: tensors with values of parameters, and filters that a norm has been folded into."""
    values = np.concatenate([p.detach().numpy().reshape(-1) for p in case.model.parameters()])
    graph = onnx.load(path).graph
    filters = {name for node in graph.node if node.op_type == "Conv" for name in node.input[1:]}
    tensors = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    return sum(array.size for name, array in tensors.items() if name in filters or (array.dtype == np.float32 and np.isin(array, values).mean() > 0.5))


def write_pt2(case, path):
    torch.export.save(case.export(), path)


def write_decomposed(case, path):
    torch.export.save(case.export().run_decompositions(), path)


def write_fx(case, path):
    target = torch.zeros_like(case.model(*case.inputs))
    export_step(case.model, lambda y, t: (y - t).square().mean(), case.inputs, target, str(path), optimizer="adam")


def write_forward_fx(case, path):
    write_graph(case.export().module(check_guards=False), str(path))


def write_onnx(case, path):
    torch.onnx.export(case.model, case.inputs, str(path), dynamo=True, dynamic_shapes=case.shapes(), verbose=False, external_data=False)


def write_old_onnx(case, path):
    axes = {"tokens": {0: "batch", 1: "length"}} if case.name == "dynamic" else None
    names = ["tokens"] if axes else None
    torch.onnx.export(case.model, case.inputs, str(path), dynamo=False, input_names=names, dynamic_axes=axes)


def write_traces(case, folder, model):
    """Kineto's trace and the execution trace of one CPU step, after one that is not recorded."""
    optimizer = torch.optim.AdamW(case.model.parameters())

    def step():
        optimizer.zero_grad()
        model(*case.inputs).float().square().mean().backward()
        optimizer.step()

    step()
    observer = ExecutionTraceObserver().register_callback(str(folder / "execution.json"))
    with profile(activities=[ProfilerActivity.CPU], execution_trace_observer=observer, record_shapes=True) as recorded:
        step()
    recorded.export_chrome_trace(str(folder / "kineto.json"))


def reason(error):
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:120]}"


def compare_file(table, emplace, case, form, write, path, flops, parameters, options=()):
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # where the old exporter prints graphs that it cannot write
            write(case, path)
    except Exception as error:  # the exporter's own limits are no differences
        print(f"{case.name}: PyTorch writes no {form} ({reason(error)})")
        return
    read = read_graph(emplace, path, ops=True, options=options)
    explained = EXPLAINED.get((case.name, form))
    if explained:
        table.add(case.name, form, "", "", "", note=explained)
        return
    if parameters is None:
        parameters = onnx_parameters(case, path)
    table.compare(read, case.name, form, parameters, flops, seen_flops=products(read) if "ops" in read else None,
                  relative=0.03 if case.name == "recurrent" else 0.02)


def trace_length(emplace, path):
    """Milliseconds that a trace takes: Emplace's, then those from its first event to the end of its last one."""
    ran = subprocess.run([emplace, "graph", str(path)], capture_output=True, text=True, timeout=300, check=False)
    said = re.search(r"the whole trace took ([\d.]+) (ms|s)", ran.stdout)
    spans = [event for event in json.loads(path.read_text())["traceEvents"] if event.get("ph") == "X" and event.get("cat") in ("cpu_op", "user_annotation")]
    own = (max(event["ts"] + event["dur"] for event in spans) - min(event["ts"] for event in spans)) / 1e3
    return (float(said.group(1)) * (1e3 if said.group(2) == "s" else 1) if said else 0.0), own


def compare_traces(table, emplace, case, form, model, folder, flops):
    traces = folder / form
    traces.mkdir()
    try:
        write_traces(case, traces, model)
    except Exception as error:
        print(f"{case.name}: PyTorch traces no step, {form} ({reason(error)})")
        return
    read = read_graph(emplace, traces / "execution.json", ops=True)
    note = "torch.cond runs its branch again for the gradient" if flops is None else ""
    table.compare(read, case.name, f"execution trace, {form}", None, flops, seen_flops=products(read) if "ops" in read else None, note=note,
                  relative=0.03 if case.name == "recurrent" else 0.02)
    seen, own = trace_length(emplace, traces / "kineto.json")
    read = read_graph(emplace, traces / "kineto.json")
    if "refusal" not in read and abs(seen - own) > 0.02 * own:
        read = {"refusal": f"the trace takes {own:.3g} ms, Emplace says {seen:.3g}"}
    table.compare(read, case.name, f"Kineto trace, {form}", None, None, note="its length agrees")


def compare_case(table, emplace, name, folder):
    case = Case(name)
    forward, step, masked = case.forward_flops(), case.step_flops(), case.masked_flops()
    sizes = ("--dim", "batch=4", "--dim", "length=9") if name == "dynamic" else ()
    has_branch = name == "control flow"
    case.model.eval()
    compare_file(table, emplace, case, ".pt2", write_pt2, folder / "forward.pt2", forward, case.parameters)
    compare_file(table, emplace, case, ".pt2 decomposed", write_decomposed, folder / "decomposed.pt2", masked, case.parameters)
    if not has_branch:  # write_graph() does not write graphs within nodes
        compare_file(table, emplace, case, "FX forward", write_forward_fx, folder / "forward.json", forward, case.parameters)
    compare_file(table, emplace, case, "ONNX", write_onnx, folder / "new.onnx", masked, None, sizes)
    compare_file(table, emplace, case, "ONNX, TorchScript", write_old_onnx, folder / "old.onnx", masked, None, sizes)
    case.model.train()
    compare_file(table, emplace, case, "FX training step", write_fx, folder / "step.json", step, case.parameters)
    for form, model in (("eager", case.model), ("inductor", torch.compile(case.model))):
        compare_traces(table, emplace, case, form, model, folder, None if has_branch else step)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("emplace")
    parser.add_argument("--only", choices=MODULES, help="compare this module only")
    parser.add_argument("--keep", help="a folder for the files")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(2)
    torch.backends.mha.set_fastpath_enabled(False)  # whose ops FlopCounterMode does not count
    table = Table()
    with tempfile.TemporaryDirectory() as name:
        for module in [options.only] if options.only else MODULES:
            folder = pathlib.Path(options.keep or name) / module.replace(" ", "_")
            folder.mkdir(parents=True)
            compare_case(table, options.emplace, module, folder)
    return table.print()


if __name__ == "__main__":
    sys.exit(main())
