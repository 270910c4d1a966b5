#!/usr/bin/env bash
# A config.json of a multimodal model that transformers 5 writes may say both that the table of tokens is the head and that it
# is not: the member tie_word_embeddings stands in the whole and in its text_config, and only the first one has the value that
# the config was made with. The second one is the default of the text model, which is True for Gemma 3 and False for Llama. A
# reader that takes the text_config for the model, as the text model's own class does, counts a table too few or too many: a
# billion parameters of Gemma 3 12B. Seen with transformers 5.24.0:
#
#   Gemma3Config(False): whole False, text True; LlavaConfig(True): whole True, text False
#
# Emplace takes the head for tied if either says so (graphs/import/models/config.c).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check transformers==5.24.0
seen=$("$folder/venv/bin/python" - "$folder" <<'P' 2>/dev/null | tail -n 1
import json
import sys

from transformers import Gemma3Config, LlavaConfig

said = []
for kind, is_tied in ((Gemma3Config, False), (LlavaConfig, True)):
    kind(tie_word_embeddings=is_tied).save_pretrained(sys.argv[1])
    with open(sys.argv[1] + "/config.json", encoding="utf-8") as file:
        config = json.load(file)
    whole, text = config["tie_word_embeddings"], config["text_config"]["tie_word_embeddings"]
    said.append(f"{kind.__name__}({is_tied}): whole {whole}, text {text}")
print("; ".join(said))
P
)
echo "$seen"
[[ $seen == "Gemma3Config(False): whole False, text True; LlavaConfig(True): whole True, text False" ]]
