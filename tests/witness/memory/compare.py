# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares the peak memory of training steps with PyTorch's: modules of transformers, run op by op on "meta".

    compare.py EMPLACE [--only NAME]

A dispatch mode adds the bytes of each storage when an op makes it and takes them away when PyTorch lets go of it, so
that what autograd keeps and when it is freed is PyTorch's own. Kernels are those of a GPU: attention is
FlashAttention. A row is a config, an element type and an optimizer; Emplace reads the config, or the step that
export_torch.py has written. Further rows have a small vocabulary, so that the peak is in a layer and not at the loss, and
layers that are checkpointed or not. Peaks must agree within 1 %, with exceptions. The last line is "N of M agree".
"""

import argparse
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings
import weakref

import torch
import transformers
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[2] / "scripts" / "export")]

from export_torch import export_step  # noqa: E402

TOLERANCE = {
    "gpt_neox": 0.04,  # PyTorch copies what attention gives where a part of a head is rotated, and Emplace does not
    "gptj": 0.04,  # too high where layers decide
    "olmo2": 0.04,  # likewise
}
OTHERS = 0.01
BATCH, TOKENS, VOCABULARY = 8, 256, 4000
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
SIZES = {
    "hidden_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "intermediate_size": 1376,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": TOKENS,
    "tie_word_embeddings": False,
    "bos_token_id": None,
    "eos_token_id": None,
    "pad_token_id": None,
}
GROUPED = {"num_key_value_heads": 2, "head_dim": 64}
GPT = {"n_embd": 512, "n_layer": 2, "n_head": 8, "n_inner": 1376, "n_positions": TOKENS, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
EXPERTS = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 688}
UNDROPPED = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
CONFIGS = {
    "llama": GROUPED,
    "mistral": {**GROUPED, "sliding_window": None},
    "mixtral": {**GROUPED, "num_local_experts": 8, "num_experts_per_tok": 2, "sliding_window": None},
    "qwen2": GROUPED,
    "qwen3": GROUPED,
    "qwen3_moe": {**GROUPED, **EXPERTS},
    "olmo": GROUPED,
    "olmo2": GROUPED,
    "granite": GROUPED,
    "starcoder2": {**GROUPED, "sliding_window": None, "residual_dropout": 0.0, "embedding_dropout": 0.0},
    "gpt_neox": {"rotary_pct": 0.25, "use_parallel_residual": True},
    "gpt2": {**GPT, "activation_function": "gelu_new"},
    "gptj": {**GPT, "rotary_dim": 32},
    "opt": {"ffn_dim": 1376, "word_embed_proj_dim": 512, "dropout": 0.0, "attention_dropout": 0.0},
    "bert": {**UNDROPPED, "architectures": ["BertForMaskedLM"]},
    "roberta": {**UNDROPPED, "architectures": ["RobertaForMaskedLM"], "max_position_embeddings": TOKENS + 2, "pad_token_id": 1},
}


class Meter(TorchDispatchMode):
    """Bytes of all storages, and the most that there were at once."""

    def __init__(self):
        super().__init__()
        self.bytes_of, self.now, self.peak = {}, 0, 0

    def add(self, tensors):
        for tensor in tensors:
            if not isinstance(tensor, torch.Tensor) or not tensor.is_meta:
                continue
            storage = tensor.untyped_storage()
            if storage._cdata not in self.bytes_of:
                self.bytes_of[storage._cdata] = storage.nbytes()
                self.now += storage.nbytes()
                weakref.finalize(storage, self.drop, storage._cdata)
        self.peak = max(self.peak, self.now)

    def drop(self, key):
        self.now -= self.bytes_of.pop(key, 0)

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        self.add(tree_leaves(result))
        return result


def attend(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    assert attn_mask is None
    return torch.ops.aten._scaled_dot_product_flash_attention(q, k, v, dropout_p, is_causal, scale=scale)[0]


def make_model(config, dtype):
    is_encoder = bool(config.architectures)
    kind = transformers.AutoModelForMaskedLM if is_encoder else transformers.AutoModelForCausalLM
    torch.set_default_dtype(DTYPES[dtype])
    try:
        with torch.device("meta"):
            return kind.from_config(config).train()
    finally:
        torch.set_default_dtype(torch.float32)


def peak_of_torch(config, dtype, optimizer, checkpointing=False):
    """Measures the second step, which finds the optimizer's states."""
    model = make_model(config, dtype)
    if checkpointing:
        model.gradient_checkpointing_enable()
    tokens = torch.zeros(BATCH, TOKENS, dtype=torch.int64, device="meta")
    make = {"adam": torch.optim.AdamW, "sgd": torch.optim.SGD}[optimizer]
    update = make(model.parameters(), lr=0.1, foreach=False)
    for _ in range(2):
        with Meter() as meter:
            meter.add([*model.parameters(), *model.buffers(), *tree_leaves([*update.state.values()])])
            model(input_ids=tokens, labels=tokens).loss.backward()
            update.step()
            update.zero_grad(set_to_none=True)
    return meter.peak


def peak_of_emplace(program, spec):
    command = [program, "simulate", spec, "--machine", "h200x8", "--placement", "gpu", "--runtime", "torch-eager", "--format", "json"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return json.loads(run.stdout)["peak_bytes"]["gpu:0"] if run.returncode == 0 else None


class Logits(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens):
        return self.model(input_ids=tokens).logits


def cross_entropy(is_encoder):
    def loss(logits, labels):
        logits = logits if is_encoder else logits.float()
        return torch.nn.functional.cross_entropy(logits.view(-1, logits.shape[-1]), labels.view(-1))

    return loss


def export(config, dtype, optimizer, path):
    tokens = torch.zeros(BATCH, TOKENS, dtype=torch.int64, device="meta")
    export_step(Logits(make_model(config, dtype)), cross_entropy(bool(config.architectures)), (tokens,), tokens, str(path), optimizer=optimizer)
    return str(path)


def read_config(name, folder, **sizes):
    config = transformers.AutoConfig.for_model(name, **{**SIZES, **CONFIGS[name], **sizes})
    config.use_cache, config._attn_implementation = False, "sdpa"
    fields = {**json.loads(config.to_json_string(use_diff=False)), "model_type": name}
    (folder / f"{name}.json").write_text(json.dumps(fields))
    return config


def rows_of(program, name, folder):
    config = read_config(name, folder)
    for dtype in DTYPES:
        for optimizer in ("adam", "sgd"):
            want = peak_of_torch(config, dtype, optimizer)
            keys = f"phase=train,batch={BATCH},seq={TOKENS},dtype={dtype},optimizer={optimizer},master=0"
            forms = {"config": f"hf:path={folder / name}.json,{keys}"}
            if dtype == "bf16" and optimizer == "adam":
                forms["export"] = export(config, dtype, optimizer, folder / f"{name}.fx.json.gz")
            for form, spec in forms.items():
                yield f"{name}, {dtype}, {optimizer}, {form}", want, peak_of_emplace(program, spec)


def rows_of_layers(program, name, folder):
    config = read_config(name, folder, vocab_size=100, num_hidden_layers=4)
    for dtype in DTYPES:
        for checkpointing in (0, 1):
            want = peak_of_torch(config, dtype, "sgd", checkpointing)
            keys = f"phase=train,batch={BATCH},seq={TOKENS},dtype={dtype},optimizer=sgd,checkpointing={checkpointing}"
            label = f"{name}, {dtype}, {'checkpointed ' * checkpointing}layers"
            yield label, want, peak_of_emplace(program, f"hf:path={folder / name}.json,{keys}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", metavar="EMPLACE")
    parser.add_argument("--only", metavar="NAME", choices=CONFIGS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    torch.nn.functional.scaled_dot_product_attention = attend
    transformers.masking_utils.find_packed_sequence_indices = lambda *_: None  # "meta" has no values to look for borders in
    count = agreed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in [options.only] if options.only else CONFIGS:
            arguments = options.program, name, pathlib.Path(folder)
            for label, want, got in itertools.chain(rows_of(*arguments), rows_of_layers(*arguments)):
                is_near = got is not None and abs(got / want - 1) <= TOLERANCE.get(name, OTHERS)
                count, agreed = count + 1, agreed + is_near
                error = "refused" if got is None else f"{got / 2**20:9.1f} {100 * (got / want - 1):+7.2f} %"
                print(f"{label:34} {want / 2**20:9.1f} {error}{'' if is_near else '  differs'}", flush=True)
    print(f"{agreed} of {count} agree")
    return agreed < count


if __name__ == "__main__":
    sys.exit(main())
