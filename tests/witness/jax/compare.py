# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares Emplace's reading of twelve functions of JAX with XLA, before and after its optimisation.

    compare.py EMPLACE [--only MODULE] [--keep FOLDER]

Elements of parameters and inputs must be exact, FLOPs those of XLA's cost_analysis within 2 %. The peak of
memory on one device must be that of XLA's memory_analysis within 15 %. XLA counts the body of
a loop once: where there is a loop of known length, its FLOPs are those of the same function with the loop written out.
The last line is "N of M agree"; the exit status is 1 where N is less than M.
"""

import argparse
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "shared"))

from graphs import Table, close, read_graph  # noqa: E402
from modules import MODULES, numbers  # noqa: E402

MESH = Mesh(np.array(jax.devices()), ("batch",))


def forward_of(function, unroll=1):
    return lambda p, x: function(p, x, unroll)


def step_of(function, unroll=1):
    """A training step by SGD, which gives the parameters back."""

    def loss(p, x):
        return jnp.sum(function(p, x, unroll) ** 2)

    return lambda p, x: [w - 0.01 * g for w, g in zip(p, jax.grad(loss)(p, x))]


def elements(values):
    return sum(value.size for value in values)


def flops_of(staged):
    costs = staged.cost_analysis()
    return (costs[0] if isinstance(costs, list) else costs)["flops"]


def reduced(text):
    """Elements that all-reduces add up, of which XLA counts one FLOP each and Emplace none."""
    total = 0
    for shapes in re.findall(r"= (.*?) all-reduce\(", text):
        for dims in re.findall(r"f32\[([\d,]*)\]", shapes):
            total += math.prod(int(dim) for dim in dims.split(",") if dim)
    return total


def held(read, kinds):
    """Elements of ops of these types."""
    total = 0
    for op in read["ops"]:
        if op["type"] in kinds:
            total += math.prod(op["outputs"][0]["shape"])
    return total


def compare_memory(table, emplace, compiled, path, module, form):
    """Arguments, results and temporaries, of which XLA counts results in the place of arguments twice."""
    stats = compiled.memory_analysis()
    expected = stats.argument_size_in_bytes + stats.output_size_in_bytes + stats.temp_size_in_bytes - stats.alias_size_in_bytes
    command = [emplace, "simulate", str(path), "--machine", "h200x1", "--placement", "gpu", "--no-bound", "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    seen = json.loads(ran.stdout)["peak_bytes"]["gpu:0"]
    complaint = "" if close(seen, expected, 0.15) else f"a peak of {expected} B, Emplace says {seen}"
    table.add(module, form, "", "", complaint, f"{seen / expected:.2f} of XLA's peak")


def compare_text(table, emplace, text, path, module, form, expected, inputs=None, kept=None, note=""):
    """`inputs`: elements of all parameters of the module; `kept`: of those that are given back in their place."""
    path.write_text(text)
    read = read_graph(emplace, path, ops=True)
    for count, kinds in ((inputs, ("hlo.parameter", "hlo.state")), (kept, ("hlo.state",))):
        if count is not None and "ops" in read:
            read["parameter_count"] = held(read, kinds)
    table.compare(read, module, form, inputs if kept is None else kept, expected, note=note)


def compare_module(table, emplace, name, folder):
    function, shapes, shape = MODULES[name]
    values = numbers(*shapes, shape)
    p, x = values[:-1], values[-1]
    note = "loops written out for XLA" if name in ("recurrent", "remat", "blockwise") else ""
    for form, make in (("forward", forward_of), ("step", step_of)):
        donated = (0,) if form == "step" else ()
        lowered = jax.jit(make(function), donate_argnums=donated).lower(p, x)
        said = note and "loop: XLA simplifies steps that are written out" if form == "step" else note
        whole = jax.jit(make(function, True), donate_argnums=donated).lower(p, x) if note else lowered
        path = folder / f"{form}.hlo.txt"
        compare_text(table, emplace, lowered.compiler_ir("hlo").as_hlo_text(), path, name, f"{form}, before", None if said and form == "step" else flops_of(whole),
                     inputs=elements(values), note=said)
        path = folder / f"{form}.after.hlo.txt"
        compiled = lowered.compile()
        compare_text(table, emplace, compiled.as_text(), path, name, f"{form}, optimised", None if said and form == "step" else flops_of(whole.compile()),
                     kept=elements(p) if donated else None, note=said)
        if form == "forward" or name not in ("routes", "control flow"):  # XLA copies what a branch hands to the backward pass
            compare_memory(table, emplace, compiled, path, name, f"{form}, memory")
    axis = 0 if shape[0] % 8 == 0 else 1
    whole = NamedSharding(MESH, PartitionSpec())
    split = NamedSharding(MESH, PartitionSpec(*[None] * axis, "batch"))
    sharded = jax.jit(step_of(function), in_shardings=(whole, split), out_shardings=whole).lower(p, x).compile()
    text = sharded.as_text()
    flops = None if note else flops_of(sharded) - reduced(text)
    compare_text(table, emplace, text, folder / "sharded.hlo.txt", name, "step on 8 devices", flops, inputs=elements(p) + x.size // 8)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("emplace")
    parser.add_argument("--only", choices=MODULES, help="compare this function only")
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
