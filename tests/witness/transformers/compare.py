# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares Emplace's reading of configs with the models that transformers makes of them.

    compare.py EMPLACE [--models N] [--seed N] [--only TYPE,...] [--defaults] [--keep FOLDER] [--table FILE]

For each model type that Emplace reads, draws N configs at random. Parameters must be exact, and for small models the FLOPs
of products and attention of a prompt, and the bytes of the cache behind it. --table writes what transformers counts, as
tests/data/counted_models.tsv has it. With --defaults, the default config of each
language model of transformers: what Emplace reads must have the right number of parameters. The last line is
"N of M agree"; the exit status is 1 where N is less than M.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import warnings

os.environ["HF_HUB_OFFLINE"] = "1"
warnings.filterwarnings("ignore")

import torch  # noqa: E402
import transformers  # noqa: E402

import draws  # noqa: E402
import measure  # noqa: E402

BATCH = 2
PRODUCTS = ("Linear", "ExpertsMatMul", "BatchMatMul", "StreamWeights", "Conv")
# The differences that docs/witnesses/transformers.md explains.
OWN_ATTENTION = ("gpt_neo", "falcon", "bloom", "mpt", "deepseek_v4", "llama4_text")
OWN_CACHE = ("gpt_neo", "falcon", "deepseek_v4")
CHOSEN_BY_BLOCKS = ("minimax_m3_vl_text",)


# Members that change nothing that is counted.
IDLE = """initializer_range attention_dropout hidden_dropout resid_dropout embed_dropout embedding_dropout resid_pdrop embd_pdrop attn_pdrop
transformers_version bos_token_id eos_token_id pad_token_id rms_norm_eps layer_norm_eps layer_norm_epsilon norm_eps norm_epsilon use_cache
rope_parameters rope_theta router_aux_loss_coef router_jitter_noise output_router_logits routed_scaling_factor n_group topk_group norm_topk_prob
embedding_multiplier logits_scaling residual_multiplier attention_multiplier time_step_min time_step_max time_step_limit time_step_floor
hidden_dropout_prob attention_probs_dropout_prob pretraining_tp scoring_func hc_eps hc_sinkhorn_iters swiglu_limit swiglu_alpha""".split()

# Prompts that transformers fails to read.
unread = []
# Lines of the table: class, parameters, tokens of each of two prompts, those that an encoder reads before, FLOPs of products, bytes of the cache, config.
rows = []


def read(emplace, config, options):
    """Emplace's numbers of a config and its ops, or a sentence."""
    spec, out = f"hf:path={config},{options}", config.with_suffix(".graph.json")
    command = [emplace, "graph", spec, "--json", "--out", str(out), "--force"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if ran.returncode != 0:
        return None, (ran.stderr.strip().splitlines() or [f"exit status {ran.returncode}"])[-1].replace(str(config), config.name)
    ops = json.loads(out.read_text())["ops"]
    out.unlink()
    return {"parameters": json.loads(ran.stdout)["parameter_count"], "ops": ops}, ""


def by_type(ops, key):
    total = collections.Counter()
    for op in ops:
        total[op["type"]] += op[key]
    return total


def factor_of_absorbed(text, tokens):
    """Emplace takes the matrix of keys into queries where attention chooses keys of a longer prompt: heads are then wider."""
    if tokens <= (getattr(text, "index_topk", None) or tokens) or not hasattr(text, "kv_lora_rank"):
        return 1.0
    own = 2 * text.kv_lora_rank + text.qk_rope_head_dim
    return own / (text.qk_nope_head_dim + text.qk_rope_head_dim + text.v_head_dim)


def complain(name, seen, expected, relative=0.0):
    return "" if abs(seen - expected) <= relative * expected else f"{name}: {expected:.12g}, Emplace says {seen:.12g}"


def source_of(model_class, config, tokens):
    """The tokens that an encoder reads for a decoder of `tokens`; 0: there is none."""
    name = model_class.__name__
    if config.model_type not in draws.PAIRS or name.endswith(("EncoderModel", "ForTokenClassification")):
        return 0
    if hasattr(config, "max_source_positions"):
        return config.max_source_positions
    return tokens if name.endswith(("ForSequenceClassification", "ForQuestionAnswering")) else 3 * tokens // 2


def differ_in_work(emplace, path, model_class, config, tokens):
    """Sentences on the prompt and the cache of a small model."""
    text, kind = config.get_text_config(), config.get_text_config().model_type
    source = source_of(model_class, config, tokens)
    try:
        kinds, attention, cache = measure.read_prompt(model_class, config, BATCH, tokens, source)
    except Exception as error:  # noqa: BLE001  the class makes models that it cannot run
        unread.append(f"{kind} ({type(error).__name__}: {str(error)[:60]})")
        return []
    products = kinds.get("aten.mm", 0) + kinds.get("aten.addmm", 0)
    if source > 0 and hasattr(config, "max_source_positions"):  # Emplace counts the sums with the biases of convolutions
        products += kinds["aten.convolution"] + 3 * BATCH * source * config.d_model
    if kind in draws.SELECTIVE:  # the product of steps
        products += kinds.get("aten.bmm", 0)
    if kind == "llama4_text":  # all experts read all tokens there, by zeros
        products += kinds.get("aten.bmm", 0) * text.num_experts_per_tok / text.num_local_experts
    if model_class.__name__.endswith(("Gemma4ForCausalLM", "ForConditionalGeneration", "MTModel")):  # read with the logits of all tokens
        words = getattr(text, "decoder_vocab_size", 0) if not getattr(text, "share_encoder_decoder_embeddings", True) else 0
        products -= 2 * BATCH * (tokens - 1) * text.hidden_size * (words or text.vocab_size)
    lengths = f"batch={BATCH},seq={tokens}" + (f",source={source}" if source > 0 else "")
    prompt, sentence = read(emplace, path, f"phase=prefill,{lengths},dtype=fp32")
    if prompt is None:
        return [f"refused: {sentence}"]
    flops = by_type(prompt["ops"], "flops")
    shown = {name: value for name, value in json.loads(path.read_text()).items() if name not in IDLE}
    held_here = cache if cache is not None and kind not in OWN_CACHE else "-"
    rows.append((model_class.__name__, prompt["parameters"], tokens, source or "-", int(products), held_here, json.dumps(shown, separators=(",", ":"))))
    complaints = [complain("products", sum(flops[name] for name in PRODUCTS), products)]
    if kind not in OWN_ATTENTION:
        own = sum(value for name, value in flops.items() if name.endswith("Attention"))
        slack = 0.3 if kind in CHOSEN_BY_BLOCKS else 1e-6
        complaints.append(complain("attention", own, attention * factor_of_absorbed(text, tokens), slack))
    token, sentence = read(emplace, path, f"phase=decode,{lengths},dtype=fp32")
    if token is not None and cache is not None and kind not in OWN_CACHE:
        held = by_type(token["ops"], "persistent_bytes")
        complaints.append(complain("cache", held["KeyValueCache"] + held["RecurrentState"], cache))
    return [complaint for complaint in complaints if complaint]


def differ(emplace, path, model_class, config, tokens):
    """Sentences on what differs; tokens of 0 compare parameters alone."""
    expected = measure.count_parameters(measure.build(model_class, config, "meta"))
    seen, sentence = read(emplace, path, "phase=prefill,batch=1,seq=16,dtype=fp32")
    if seen is None:
        return [f"refused: {sentence}"]
    if seen["parameters"] not in (expected[0], sum(expected)):
        return [complain("parameters", seen["parameters"], expected[0])]
    return differ_in_work(emplace, path, model_class, config, tokens) if tokens > 0 else []


def save(config, model_class, folder, name):
    config.architectures = [model_class.__name__]
    path = folder / name
    path.mkdir(parents=True, exist_ok=True)
    config.save_pretrained(path)
    return path / "config.json"


def compare_draws(args, folder):
    agree = count = 0
    for kind in args.only.split(",") if args.only else draws.TYPES:
        right, lines, small = 0, [], 0
        for i in range(args.models):
            rng = random.Random(f"{args.seed} {kind} {i}")
            is_real = rng.random() < 0.25
            drawn = draws.draw(kind, rng, is_real)
            if drawn is None:
                continue
            path = save(drawn[1], drawn[0], folder, f"{kind}.{i}")
            sentences = differ(args.emplace, path, *drawn, 0 if is_real or kind in draws.WITHIN else rng.randint(9, 40))
            count, small = count + 1, small + (not is_real and kind not in draws.WITHIN)
            right += not sentences
            lines += [f"  {kind}.{i}: {sentence}" for sentence in sentences]
        agree += right
        print(f"{kind:<20} {right:>3} of {right + len({line.split(':')[0] for line in lines})}, prompts of {small}", flush=True)
        print("\n".join(lines), end="\n" if lines else "", flush=True)
    return agree, count


def compare_defaults(args, folder):
    agree = count = 0
    refused = []
    for kind, model_class, config in draws.default_models():
        path = save(config, model_class, folder, f"default.{kind}")
        sentences = differ(args.emplace, path, model_class, config, 0)
        if sentences and sentences[0].startswith("refused"):
            refused.append((kind, sentences[0]))
            continue
        count, agree = count + 1, agree + (not sentences)
        if sentences:
            print(f"{kind} ({model_class.__name__}): {sentences[0]}", flush=True)
    unknown = [kind for kind, sentence in refused if "is not known; docs/models.md" in sentence]
    print(f"{len(unknown)} types that Emplace does not read: {' '.join(unknown)}")
    for kind, sentence in refused:
        if kind not in unknown:
            print(f"{kind}: {sentence}")
    return agree, count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("emplace")
    parser.add_argument("--models", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only")
    parser.add_argument("--defaults", action="store_true")
    parser.add_argument("--keep")
    parser.add_argument("--table")
    args = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(args.keep or scratch)
        agree, count = (compare_defaults if args.defaults else compare_draws)(args, folder)
    if args.table:
        heads = ("class", "parameters", "tokens", "source", "products", "cache", "config")
        pathlib.Path(args.table).write_text("".join("\t".join(map(str, row)) + "\n" for row in [heads, *rows]))
    if unread:
        print(f"{len(unread)} models that transformers makes and cannot run: {'; '.join(sorted(set(unread)))}")
    print(f"{agree} of {count} agree")
    return 0 if agree == count else 1


if __name__ == "__main__":
    sys.exit(main())
