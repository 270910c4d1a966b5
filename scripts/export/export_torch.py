#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes graphs of PyTorch as JSON that Emplace reads (docs/formats.md, "Graphs of PyTorch").

A whole training step, traced by make_fx: forward pass, gradients, and Adam or plain SGD:
    export_step(model, loss, (inputs,), target, "step.json.gz", optimizer="adam")
A forward pass of torch.export (PyTorch 2.1 and later):
    write_graph(torch.export.export(model, (inputs,)).module(), "forward.json.gz")
The joint graph of AOTAutograd, from a partition function of yours:
    def partition(joint, inputs, **kwargs):
        write_graph(joint, "joint.json.gz")
        return functorch.compile.default_partition(joint, inputs, **kwargs)
    functorch.compile.aot_module(model, fw_compiler=nop, partition_fn=partition)(inputs)   # nop: functorch.compile.nop

export_step has been tried with PyTorch 1.13 (Debian 12). The other two, and PyTorch 2, are written from documentation and
have not been run. Nothing is trained; run it on a device that the model fits, or on "meta".
"""
import contextlib
import gzip
import json

import torch

try:  # PyTorch 2
    from torch.func import functional_call
    from torch.fx.experimental.proxy_tensor import make_fx
except ImportError:
    from functorch import make_fx
    from torch.nn.utils.stateless import functional_call


def tensor_json(value):
    """Shape and element type of a tensor, or of what PyTorch 1.13 keeps of one; None of all else."""
    if not (hasattr(value, "shape") and hasattr(value, "dtype")):
        return None
    return {"shape": [int(size) for size in value.shape], "dtype": str(value.dtype).replace("torch.", "")}


def results_json(node):
    value = node.meta.get("val", node.meta.get("tensor_meta"))
    is_tuple = isinstance(value, (list, tuple)) and tensor_json(value) is None
    results = [tensor_json(item) for item in (value if is_tuple else [value])]
    return results if any(results) else []


def argument_json(value):
    if isinstance(value, torch.fx.Node):
        return {"node": value.name}
    if isinstance(value, (list, tuple)):
        return [argument_json(item) for item in value]
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)


def module_of(node):
    """The path of the innermost module that a node was traced in, such as "layers.0.attn"; "" if it is not known."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    path = (stack[-1][0] if isinstance(stack[-1], tuple) else str(stack[-1])) if stack else node.meta.get("scope", "")
    return path.replace("L['self'].", "").replace("L['self']", "")


def attribute(gm, target):
    for part in target.split("."):
        gm = getattr(gm, part)
    return gm


def write_graph(gm, path, roles=None):
    """Writes the graph of a torch.fx.GraphModule. roles[i] says of placeholder i: (role, path of its module), the role
    being parameter, buffer, state or input. Without roles Emplace finds them out."""
    nodes, roles = [], list(roles or [])
    for node in gm.graph.nodes:
        entry = {"name": node.name, "op": node.op, "target": str(node.target), "args": argument_json(node.args),
                 "kwargs": {key: argument_json(value) for key, value in node.kwargs.items()},
                 "outputs": results_json(node), "module": module_of(node)}
        if node.op == "placeholder" and roles:
            entry["role"], entry["module"] = roles.pop(0)
        if node.op == "get_attr":
            value = attribute(gm, node.target)
            entry["role"] = "parameter" if isinstance(value, torch.nn.Parameter) else "buffer"
            entry["outputs"], entry["module"] = [tensor_json(value)], node.target.rpartition(".")[0]
        nodes.append(entry)
    with (gzip.open if path.endswith(".gz") else open)(path, "wt") as file:
        json.dump({"format": "torch.fx graph", "torch": torch.__version__, "nodes": nodes}, file)


@contextlib.contextmanager
def scopes(model):
    """While it is open, a node that is traced in a module's forward knows the path of that module."""
    stack, create, hooks = [], torch.fx.Graph.create_node, []

    def create_in_scope(graph, *args, **kwargs):
        node = create(graph, *args, **kwargs)
        node.meta["scope"] = stack[-1] if stack else ""
        return node
    for name, module in model.named_modules():
        hooks.append(module.register_forward_pre_hook(lambda m, i, name=name: stack.append(name)))
        hooks.append(module.register_forward_hook(lambda m, i, o: (stack.pop(), None)[1]))
    torch.fx.Graph.create_node = create_in_scope
    try:
        yield
    finally:
        torch.fx.Graph.create_node = create
        for hook in hooks:
            hook.remove()


def export_step(model, loss, inputs, target, path, optimizer="adam", lr=1e-3):
    """Writes one training step: loss(model(*inputs), target), its gradients, and the update. optimizer: adam or sgd."""
    params, buffers = dict(model.named_parameters()), dict(model.named_buffers())
    means, squares = ([torch.zeros_like(p) for p in params.values() if optimizer == "adam"] for _ in range(2))

    def step(params, means, squares, buffers, inputs, target):
        params = [p.detach().requires_grad_() for p in params]
        named = {**dict(zip(names, params)), **dict(zip(buffer_names, buffers))}
        value = loss(functional_call(model, named, tuple(inputs)), target)
        results = [value.detach()]
        for i, (p, g) in enumerate(zip(params, torch.autograd.grad(value, params))):
            if optimizer == "adam":
                mean, square = means[i] * 0.9 + g * 0.1, squares[i] * 0.999 + g * g * 0.001
                results += [p.detach() - mean * lr / (square.sqrt() + 1e-8), mean, square]
            else:
                results.append(p.detach() - g * lr)
        return results

    names, buffer_names = list(params), list(buffers)
    with scopes(model):
        gm = make_fx(step)(list(params.values()), means, squares, list(buffers.values()), inputs, target)
    paths = [name.rpartition(".")[0] for name in names]
    roles = [("parameter", p) for p in paths] + [("state", p) for p in paths] * (2 if means else 0)
    roles += [("buffer", name.rpartition(".")[0]) for name in buffer_names] + [("input", "")] * (len(inputs) + 1)
    write_graph(gm, path, roles)
