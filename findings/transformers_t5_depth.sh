#!/usr/bin/env bash
# generate() of transformers fails for a T5 whose decoder has more layers than its encoder, which num_decoder_layers sets: it makes
# both caches by the config of the whole model, whose num_hidden_layers are the encoder's (generation/utils.py), and the
# first layer beyond them finds no cache. The forward pass makes its caches by the decoder's config and is right, and BART,
# whose config says "decoder_layers", generates. Seen with transformers 5.24.0 and torch 2.15.0:
#
#   T5, 2 and 3 layers: forward (1, 2, 50), generate IndexError; 3 and 2 layers: generate (1, 4); BART, 2 and 3: generate (1, 4)
#
# mT5 and UMT5 fail likewise. Emplace counts as many caches as the decoder has layers (graphs/import/models/families_encoders.c).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check transformers==5.24.0 torch==2.15.0
seen=$("$folder/venv/bin/python" - <<'P' 2>/dev/null | tail -n 1
import torch
from transformers import BartConfig, BartForConditionalGeneration, T5Config, T5ForConditionalGeneration

ids = torch.arange(3, 8)[None]
common = {"vocab_size": 50, "d_model": 16, "pad_token_id": 0, "decoder_start_token_id": 0, "eos_token_id": None, "forced_eos_token_id": None}


def generate(model):
    try:
        return f"generate {tuple(model.eval().generate(ids, max_new_tokens=3, do_sample=False).shape)}"
    except IndexError:
        return "generate IndexError"


def t5(encoder, decoder):
    return T5ForConditionalGeneration(T5Config(d_kv=8, d_ff=16, num_heads=2, num_layers=encoder, num_decoder_layers=decoder, **common)).eval()


bart = BartConfig(encoder_layers=2, decoder_layers=3, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=8,
                  decoder_ffn_dim=8, bos_token_id=0, **common)
deep = t5(2, 3)
forward = tuple(deep(ids, decoder_input_ids=torch.zeros(1, 2, dtype=torch.long)).logits.shape)
print(f"T5, 2 and 3 layers: forward {forward}, {generate(deep)}; 3 and 2 layers: {generate(t5(3, 2))}; "
      f"BART, 2 and 3: {generate(BartForConditionalGeneration(bart))}")
P
)
echo "$seen"
[[ $seen == "T5, 2 and 3 layers: forward (1, 2, 50), generate IndexError; 3 and 2 layers: generate (1, 4); BART, 2 and 3: generate (1, 4)" ]]
