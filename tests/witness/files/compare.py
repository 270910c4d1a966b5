# SPDX-License-Identifier: GPL-3.0-or-later
"""Hands files that Emplace writes to the programs that they are for.

    compare.py EMPLACE [--keep FOLDER]

- A device_map: accelerate checks that it gives each weight of the model of transformers a device, and runs the model
  by it with each device replaced by the CPU.
- Chakra's traces: protoc's classes read them; messages have both ends, dependencies are nodes, and durations add up.
- A graph in DOT: graphviz-pure, a port of Graphviz, lays it out with all of its edges.
- A timeline: each event has the fields of Chrome's trace event format, and the last one ends with the step.

The last line is "N of M agree"; the exit status is 1 where N is less than M.
"""

import argparse
import collections
import importlib
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

import torch
import transformers
from accelerate import dispatch_model, init_empty_weights
from accelerate.utils import check_device_map
from google.protobuf.internal.decoder import _DecodeVarint
from google.protobuf.unknown_fields import UnknownFieldSet
from grpc_tools import protoc

HERE = pathlib.Path(__file__).resolve().parent
SIZES = {"hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 6, "vocab_size": 256}
MODELS = {
    "llama": transformers.LlamaConfig(**SIZES),
    "llama, tied": transformers.LlamaConfig(**SIZES, tie_word_embeddings=True),
    "qwen3": transformers.Qwen3Config(**SIZES, head_dim=16),
    "qwen2": transformers.Qwen2Config(**SIZES),
    "mistral": transformers.MistralConfig(**SIZES),
    "gemma": transformers.GemmaConfig(**SIZES, head_dim=16),
    "mixtral": transformers.MixtralConfig(**SIZES, num_local_experts=4),
    "phi3": transformers.Phi3Config(**SIZES, pad_token_id=0),
    "gpt2": transformers.GPT2Config(n_embd=64, n_head=4, n_layer=6, vocab_size=256),
    "opt": transformers.OPTConfig(hidden_size=64, ffn_dim=128, num_attention_heads=4, num_hidden_layers=6, vocab_size=256, word_embed_proj_dim=64),
}
STEPS = {
    "nmt": ("nmt:layers=2,batch=4,steps=8", "k40x4", "metis"),
    "inception": ("inception_v3:batch=2", "k40x2", "heft"),
    "rnnlm": ("rnnlm:layers=2,batch=4,steps=8", "k40x4", "random"),
}


def run(emplace, *words):
    ran = subprocess.run([emplace, *map(str, words)], capture_output=True, text=True, timeout=600, check=False)
    if ran.returncode != 0:
        raise RuntimeError((ran.stderr.strip().splitlines() or ["no message"])[-1])
    return ran.stdout


def device_map_differs(emplace, config, folder):
    """Places the model in two devices, checks the map against the model's weights, and runs it. "" = it agrees."""
    path, out = folder / "config.json", folder / "model.device_map.json"
    config.architectures = None
    config.save_pretrained(folder)
    run(emplace, "place", f"hf:path={path},phase=prefill,batch=1,seq=16", "--machine", "rtx4090x2+rtx3060", "--method", "random", "--budget", 20, "--out", out, "--force")
    device_map = json.loads(out.read_text())
    with init_empty_weights():
        check_device_map(transformers.AutoModelForCausalLM.from_config(config), device_map)
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    tokens = torch.arange(8)[None]
    with torch.no_grad():
        expected = model(tokens).logits
        parts = dispatch_model(model, {name: "cpu" for name in device_map}, main_device="cpu", force_hooks=True)
        seen = parts(tokens).logits
    if len(set(device_map.values())) < 2:
        return f"all of the model is on one device: {device_map}"
    return "" if torch.equal(expected, seen) else "the model computes other numbers by the map"


def read_messages(path, metadata, node):
    data, at, read = path.read_bytes(), 0, []
    while at < len(data):
        size, at = _DecodeVarint(data, at)
        read.append((node if read else metadata).FromString(data[at : at + size]))
        parts = [read[-1], *read[-1].attr]
        if any(len(UnknownFieldSet(part)) for part in parts):
            raise RuntimeError(f"{path.name}: node {len(read) - 2} has fields that the schema does not have")
        at += size
    return read[1:]


def chakra_differs(emplace, step, folder, schema):
    spec, machine, method = step
    run(emplace, "simulate", spec, "--machine", machine, "--placement", method, "--chakra", folder / "step", "--json", "--force")
    ends = collections.Counter()
    files = sorted(folder.glob("step.*.et"))
    for path in files:
        nodes = read_messages(path, schema.GlobalMetadata, schema.Node)
        known = {node.id for node in nodes}
        if len(known) != len(nodes):
            return f"{path.name}: nodes share a number"
        for node in nodes:
            if not set(node.data_deps) | set(node.ctrl_deps) <= known:
                return f"{path.name}: {node.name} waits for no node of the file"
            values = {a.name: getattr(a, a.WhichOneof("value")) for a in node.attr}
            if node.type in (schema.COMM_SEND_NODE, schema.COMM_RECV_NODE):
                sign = 1 if node.type == schema.COMM_SEND_NODE else -1
                ends[values["comm_src"], values["comm_dst"], values["comm_tag"], values["comm_size"]] += sign
            elif node.type != schema.COMP_NODE:
                return f"{path.name}: {node.name} is of type {node.type}"
    if not files:
        return "no file was written"
    return f"{sum(map(abs, ends.values()))} messages have one end" if any(ends.values()) else ""


def picture_differs(emplace, step, folder):
    """Lets dot lay out the placed graph: every node and edge of the file is in its picture."""
    spec, machine, method = step
    path = folder / "graph.dot"
    run(emplace, "simulate", spec, "--machine", machine, "--placement", method, "--dot", path, "--json", "--force")
    dot = pathlib.Path(sys.executable).with_name("graphviz-pure")
    drawn = subprocess.run([dot, "-Tdot_json", path], capture_output=True, text=True, timeout=300, check=False)
    if drawn.returncode != 0:
        return (drawn.stderr.strip().splitlines() or ["dot fails"])[-1]
    picture, text = json.loads(drawn.stdout), path.read_text()
    edges = sum("->" in line for line in text.splitlines())
    return "" if len(picture["edges"]) == edges else f"{edges} edges are written, dot draws {len(picture['edges'])}"


def timeline_differs(emplace, step, folder):
    spec, machine, method = step
    path = folder / "timeline.json"
    said = json.loads(run(emplace, "simulate", spec, "--machine", machine, "--placement", method, "--trace", path, "--json", "--force"))
    events = json.loads(path.read_text())["traceEvents"]
    needed = {"X": {"name", "ts", "dur", "pid", "tid"}, "M": {"name", "pid", "args"}, "C": {"name", "ts", "pid", "args"}, "i": {"name", "ts", "pid"},
              "s": {"id", "ts", "pid", "tid"}, "t": {"id", "ts", "pid", "tid"}, "f": {"id", "ts", "pid", "tid"}}
    for event in events:
        if event.get("ph") not in needed or not needed[event["ph"]] <= event.keys():
            return f"an event has not the fields of its phase: {event}"
    named = {event["pid"] for event in events if event["ph"] == "M" and event["name"] == "process_name"}
    spans = [event for event in events if event["ph"] == "X"]
    if not {event["pid"] for event in spans} <= named:
        return "a process has no name"
    flows = collections.Counter((event["ph"], event["id"]) for event in events if event["ph"] in "sf")
    if any(flows["s", at] != flows["f", at] for _, at in flows):
        return "an arrow has one end"
    last = max(event["ts"] + event["dur"] for event in spans) / 1e6
    time = said["step_time_s"] if "step_time_s" in said else said["step_s"]
    return "" if abs(last - time) <= 1e-6 + 1e-4 * time else f"the last event ends at {last} s, the step takes {time} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("emplace")
    parser.add_argument("--keep", help="a folder for the files")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        home = pathlib.Path(options.keep or name)
        home.mkdir(parents=True, exist_ok=True)
        if protoc.main(["protoc", f"-I{HERE}", f"--python_out={home}", "chakra.proto"]) != 0:
            raise RuntimeError("protoc cannot read chakra.proto")
        sys.path.insert(0, str(home))
        schema = importlib.import_module("chakra_pb2")
        jobs = [("device_map", model, lambda folder, config=config: device_map_differs(options.emplace, config, folder)) for model, config in MODELS.items()]
        for step, what in STEPS.items():
            jobs.append(("Chakra's traces", step, lambda folder, what=what: chakra_differs(options.emplace, what, folder, schema)))
            jobs.append(("DOT", step, lambda folder, what=what: picture_differs(options.emplace, what, folder)))
            jobs.append(("timeline", step, lambda folder, what=what: timeline_differs(options.emplace, what, folder)))
        for kind, model, differs in jobs:
            folder = home / f"{kind[0]}_{model.replace(', ', '_')}"
            folder.mkdir(exist_ok=True)
            try:
                wrong = differs(folder)
            except (RuntimeError, ValueError, KeyError) as error:
                wrong = f"{type(error).__name__}: {error}"
            rows.append(wrong)
            print(f"{kind:<16}{model:<12}{wrong or 'agrees'}")
    agree = rows.count("")
    print(f"{agree} of {len(rows)} agree")
    return 0 if agree == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
