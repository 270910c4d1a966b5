# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares Emplace's reading of GGUF files with llama.cpp's package gguf: tensors, their bytes, and the architecture.

    compare.py EMPLACE [--files N] [--seed S]

The package writes N random decoders of the architecture llama, with a random type for each matrix, in one file or in
parts, and reads each back. Compared are the bytes of each tensor, the elements and bytes of all, and the sizes of heads and layers
in the graph. The last line is "N of M agree".
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import gguf
import numpy as np

TYPES = [getattr(gguf.GGMLQuantizationType, name)
         for name in ("F32 F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ1_S IQ1_M IQ2_XXS IQ2_XS IQ2_S IQ3_XXS IQ3_S "
                      "IQ4_NL IQ4_XS TQ1_0 TQ2_0 MXFP4").split()]


def write(path, draw):
    """Writes a random model; returns its facts."""
    heads, groups, layers = draw.choice([4, 8]), draw.choice([1, 2, 4]), draw.randint(1, 4)
    size, hidden, words = 256 * draw.randint(1, 3), 256 * draw.randint(1, 4), draw.randint(300, 2000)
    keys = heads // groups if heads >= groups else 1
    writer = gguf.GGUFWriter(str(path), "llama", split_max_tensors=draw.choice([0, 0, 7]))
    writer.add_block_count(layers)
    writer.add_context_length(512)
    writer.add_embedding_length(size)
    writer.add_feed_forward_length(hidden)
    writer.add_head_count(heads)
    writer.add_head_count_kv(keys)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(words)
    writer.add_rope_dimension_count(size // heads)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([f"word{i}" for i in range(words)])

    def matrix(name, rows, columns):
        kind = draw.choice(TYPES)
        shape = gguf.quant_shape_to_byte_shape((rows, columns), kind)
        if kind == gguf.GGMLQuantizationType.F32:
            writer.add_tensor(name, np.zeros((rows, columns), np.float32))
        else:
            writer.add_tensor(name, np.zeros(shape, np.uint8), raw_dtype=kind)

    def vector(name, length):
        writer.add_tensor(name, np.zeros(length, np.float32))

    matrix("token_embd.weight", words, size)
    width = size // heads * keys
    for layer in range(layers):
        vector(f"blk.{layer}.attn_norm.weight", size)
        vector(f"blk.{layer}.ffn_norm.weight", size)
        for name, rows, columns in (("attn_q", size, size), ("attn_k", width, size), ("attn_v", width, size), ("attn_output", size, size),
                                    ("ffn_gate", hidden, size), ("ffn_up", hidden, size), ("ffn_down", size, hidden)):
            matrix(f"blk.{layer}.{name}.weight", rows, columns)
    vector("output_norm.weight", size)
    if draw.random() < 0.7:
        matrix("output.weight", words, size)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return {"layers": layers, "size": size, "keys": width}


def differ(emplace, folder, draw):
    """Sentences on what differs in one random file."""
    facts = write(folder / "model.gguf", draw)
    parts = sorted(folder.glob("*.gguf"))
    tensors = {tensor.name: tensor for part in parts for tensor in gguf.GGUFReader(part).tensors}
    out = folder / "graph.json"
    ran = [subprocess.run([emplace, "graph", str(parts[0]), *more], capture_output=True, text=True, check=False, timeout=120)
           for more in (["--out", str(out)], ["--format", "json"])]
    if any(run.returncode for run in ran):
        return [ran[0].stderr or ran[1].stderr]
    ops, totals = {op["name"]: op for op in json.loads(out.read_text())["ops"]}, json.loads(ran[1].stdout)
    wrong = []

    def expect(what, here, there):
        if here != there:
            wrong.append(f"{what}: {there} says the package, {here} says Emplace")

    for name, tensor in tensors.items():
        op = ops.get(name) or ops.get(name.removesuffix(".weight"))  # a table that is the head, too, is an op of its own
        held = op and op["persistent_bytes"]
        expect(f"{name} ({tensor.tensor_type.name})", held, int(tensor.n_bytes))
    expect("elements", totals["parameter_count"], sum(int(tensor.n_elements) for tensor in tensors.values()))
    expect("bytes", totals["parameter_bytes"], sum(int(tensor.n_bytes) for tensor in tensors.values()))
    expect("layers", sum(op["type"] == "Attention" for op in ops.values()), facts["layers"])
    for layer in range(facts["layers"]):
        expect(f"keys of layer {layer}", ops[f"blk.{layer}.attn_k"]["outputs"][0]["shape"], [1, facts["keys"]])
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("emplace")
    parser.add_argument("--files", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw, agree = random.Random(options.seed), 0
    for i in range(options.files):
        with tempfile.TemporaryDirectory() as folder:
            wrong = differ(options.emplace, pathlib.Path(folder), draw)
        agree += not wrong
        for sentence in wrong[:5]:
            print(f"file {i}: {sentence}")
    print(f"{agree} of {options.files} agree")
    return 0 if agree == options.files else 1


if __name__ == "__main__":
    sys.exit(main())
