#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes graphs of PyTorch as JSON that Emplace reads (docs/models.md, "Graphs of PyTorch").

A whole training step, traced by make_fx: forward pass, gradients, and Adam or plain SGD:
    export_step(model, loss, (inputs,), target, "step.json.gz", optimizer="adam")
A forward pass of torch.export (PyTorch 2.1 and later):
    write_graph(torch.export.export(model, (inputs,)).module(), "forward.json.gz")  # module(check_guards=False) where it exists
The joint graph of AOTAutograd, from a partition function of yours:
    def partition(joint, inputs, **kwargs):
        write_graph(joint, "joint.json.gz")
        return functorch.compile.default_partition(joint, inputs, **kwargs)
    functorch.compile.aot_module(model, fw_compiler=nop, partition_fn=partition)(inputs)   # nop: functorch.compile.nop

Nothing is trained. Put the model and the inputs on the device that you train on: PyTorch chooses its ops of attention, dropout
and LSTM by device. On "meta" they need no memory, and a model that asks for a tensor's value learns that it is traced.
All three have been run with PyTorch 2.11, and export_step also with PyTorch 1.13 (Debian 12).
"""
import contextlib
import gzip
import inspect
import json
import math

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


def argument_json(value, tied):
    if isinstance(value, torch.fx.Node):
        return {"node": tied.get(value.name, value.name)}
    if isinstance(value, (list, tuple)):
        return [argument_json(item, tied) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no infinity
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


def tied_nodes(gm):
    """For each get_attr node that reads the tensor of an earlier one, as tied weights do: the name of the earlier one."""
    first, tied = {}, {}
    for node in gm.graph.nodes:
        value = attribute(gm, node.target) if node.op == "get_attr" else None
        if isinstance(value, torch.Tensor):
            storage = value.untyped_storage()._cdata if hasattr(value, "untyped_storage") else id(value)
            name = first.setdefault((storage, value.storage_offset(), value.shape, value.stride()), node.name)
            if name != node.name:
                tied[node.name] = name
    return tied


def write_graph(gm, path, roles=None):
    """Writes the graph of a torch.fx.GraphModule. roles[i] says of placeholder i: (role, path of its module), the role
    being parameter, buffer, state or input. Without roles Emplace finds them out."""
    nodes, roles, tied = [], list(roles or []), tied_nodes(gm)
    for node in gm.graph.nodes:
        if node.name in tied or (node.op == "call_module" and not node.users):  # torch.export's _guards_fn computes nothing
            continue
        entry = {"name": node.name, "op": node.op, "target": str(node.target), "args": argument_json(node.args, tied),
                 "kwargs": {key: argument_json(value, tied) for key, value in node.kwargs.items()},
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


def trace(function, args, on_meta):
    """The graph of function(*args). A model may read a value of a tensor: transformers asks whether positions are packed."""
    if "_error_on_data_dependent_ops" not in inspect.signature(make_fx).parameters:  # PyTorch 1.13
        return make_fx(function)(*args)
    if not on_meta:
        return make_fx(function, _error_on_data_dependent_ops=False)(*args)
    try:
        return make_fx(function)(*args)
    except RuntimeError:  # no values on "meta": transformers reads none of a fake tensor
        return make_fx(function, tracing_mode="fake", _allow_non_fake_inputs=True)(*args)


def export_step(model, loss, inputs, target, path, optimizer="adam", lr=1e-3):
    """Writes one training step: loss(model(*inputs), target), its gradients, and the update. optimizer: adam or sgd. A
    parameter that is frozen or that the loss does not depend on has no update."""
    params, buffers = dict(model.named_parameters()), dict(model.named_buffers())
    trained = [p.requires_grad for p in params.values()]
    means, squares = ([torch.zeros_like(p) for p in params.values() if optimizer == "adam"] for _ in range(2))

    def step(params, means, squares, buffers, inputs, target):
        params = [p.detach().requires_grad_(is_trained) for p, is_trained in zip(params, trained)]
        named = {**dict(zip(names, params)), **dict(zip(buffer_names, buffers))}
        value = loss(functional_call(model, named, tuple(inputs)), target)
        results = [value.detach()]
        grads = iter(torch.autograd.grad(value, [p for p in params if p.requires_grad], allow_unused=True))
        for i, p in enumerate(params):
            g = next(grads) if p.requires_grad else None
            if g is None:
                continue
            if optimizer == "adam":
                mean, square = means[i] * 0.9 + g * 0.1, squares[i] * 0.999 + g * g * 0.001
                results += [p.detach() - mean * lr / (square.sqrt() + 1e-8), mean, square]
            else:
                results.append(p.detach() - g * lr)
        return results

    names, buffer_names = list(params), list(buffers)
    with scopes(model):
        args = (list(params.values()), means, squares, list(buffers.values()), inputs, target)
        gm = trace(step, args, any(p.is_meta for p in params.values()))
    paths = [name.rpartition(".")[0] for name in names]
    roles = [("parameter", p) for p in paths] + [("state", p) for p in paths] * (2 if means else 0)
    roles += [("buffer", name.rpartition(".")[0]) for name in buffer_names] + [("input", "")] * (len(inputs) + 1)
    write_graph(gm, path, roles)
