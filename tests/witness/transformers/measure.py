# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts what transformers makes of a config: parameters on the device `meta`, and products, attention and caches of a prompt that
a small model reads on the CPU."""

import inspect
import sys

import torch
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils.flop_counter import FlopCounterMode
from transformers import AttentionInterface, AttentionMaskInterface, DynamicCache, EncoderDecoderCache
from transformers.masking_utils import eager_mask

from draws import ENCODERS, PAIRS

# FLOPs of attention in the prompt that is being read, by the pairs of a query and a key that masks leave.
seen = {"attention": 0.0}


def attend(module, query, key, value, attention_mask, **_):
    """Attention, whose products FlopCounterMode does not see: it would count the pairs that a mask drops."""
    batch, heads, queries, _ = query.shape
    keys = key.shape[-2]
    with _disable_current_modes():
        if attention_mask is None:
            allowed = torch.ones(batch, 1, queries, keys, dtype=torch.bool)
        else:
            mask = attention_mask[..., :keys]
            allowed = mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2
        pairs = allowed.expand(batch, heads, queries, keys).sum().item()
        seen["attention"] += 2.0 * pairs * (key.shape[-1] + value.shape[-1])
        groups = heads // key.shape[1]
        weights = torch.softmax(query @ key.repeat_interleave(groups, 1).mT, -1)
        out = weights @ value.repeat_interleave(groups, 1)
    return out.transpose(1, 2).contiguous(), None


def scan(hidden_states, dt, A, B, *_, return_last_state=False, **__):
    """The scan of Mamba, whose products are no matter of FlopCounterMode: kernels have none."""
    state = hidden_states.new_zeros(*hidden_states.shape[:2], B.shape[1], dtype=torch.float32)
    return (hidden_states, state) if return_last_state else hidden_states


AttentionInterface.register("eager", attend)
AttentionMaskInterface.register("eager", eager_mask)


def build(model_class, config, device):
    with torch.device(device):
        model = model_class._from_config(config)
    model.tie_weights()
    return model.eval()


def count_parameters(model):
    """Parameters that read text, and the biases of routers, which are buffers: a file of weights has both."""
    biases = sum(buffer.numel() for name, buffer in model.named_buffers() if name.endswith(("correction_bias", "expert_bias")))
    weights = {name: weight.numel() for name, weight in model.named_parameters()}
    if any("language_model" in name for name in weights):  # the other parts of a multimodal model are left out
        weights = {name: size for name, size in weights.items() if "language_model" in name or "lm_head" in name}
    return sum(weights.values()), biases


def tensors_of(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for part in value for tensor in tensors_of(part)]
    return [value] if isinstance(value, torch.Tensor) and value.numel() > 1 else []


def cache_bytes(cache, tokens):
    """Bytes of keys, values and states. A window of W tokens keeps W - 1 of them here, since the next one comes with the next
    token, and a convolution all of its taps, of which the oldest is not read again; Emplace keeps W and one tap less."""
    total = 0
    for layer in cache.layers:
        for name, value in vars(layer).items():
            for tensor in tensors_of(value):
                size = tensor.numel() * tensor.element_size()
                if name in ("keys", "values") and getattr(layer, "is_sliding", False) and tokens >= layer.sliding_window:
                    size = size // (layer.sliding_window - 1) * layer.sliding_window
                if name == "conv_states":
                    size = size // tensor.shape[-1] * (tensor.shape[-1] - 1)
                total += size
    return total + sum(state.numel() * state.element_size() for state in tensors_of(getattr(cache, "linear_cache", [])))


def inputs_of_pair(model, config, batch, tokens, source):
    """What an encoder of `source` tokens and a decoder of `tokens` read. Classes of sequences look for its end."""
    accepted = inspect.signature(model.forward).parameters
    # numbers above those of padding and of the end
    source_ids, ids = (torch.randint(3, 90, (batch, length)) for length in (source, tokens))
    if "input_features" in accepted:
        return {"input_features": torch.zeros(batch, config.num_mel_bins, 2 * source), "decoder_input_ids": ids}
    if "decoder_input_ids" not in accepted:
        return {"input_ids": ids}
    source_ids[:, -1] = config.eos_token_id
    if "ForSequenceClassification" in type(model).__name__ or "ForQuestionAnswering" in type(model).__name__:
        return {"input_ids": source_ids}
    return {"input_ids": source_ids, "decoder_input_ids": ids}


def read_prompt_of_pair(model_class, config, batch, tokens, source):
    """The same as read_prompt() of an encoder and a decoder."""
    config._attn_implementation = "eager"
    torch.manual_seed(0)
    config.decoder_start_token_id, config.eos_token_id = 1, 2
    model = build(model_class, config, "cpu")
    options = inputs_of_pair(model, config, batch, tokens, source)
    cache = None
    if "decoder_input_ids" in options and model.get_output_embeddings() is not None:
        cache = EncoderDecoderCache(DynamicCache(), DynamicCache())  # a config would make as many layers as the encoder has
        options |= {"cache": cache, "use_cache": True}
    seen["attention"] = 0.0
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(**options)
    by_kind = {str(op): flops for op, flops in counter.get_flop_counts().get("Global", {}).items()}
    if cache is None:
        return by_kind, seen["attention"], None
    both = (cache.self_attention_cache, cache.cross_attention_cache)
    return by_kind, seen["attention"], sum(cache_bytes(part, 0) for part in both)


def read_prompt(model_class, config, batch, tokens, source=0):
    """FLOPs of matrix products by kind, those of attention, and the bytes of the cache behind a prompt. `source`: the tokens that
    an encoder reads before."""
    if config.model_type in PAIRS:
        return read_prompt_of_pair(model_class, config, batch, tokens, source)
    config._attn_implementation = "eager"
    for part in (config, config.get_text_config()):
        part._experts_implementation = "eager"
    torch.manual_seed(0)
    model = build(model_class, config, "cpu")
    module = sys.modules[type(model).__module__]
    if hasattr(module, "mamba_selective_scan"):
        module.mamba_selective_scan = scan
    options = {"input_ids": torch.randint(1, config.get_text_config().vocab_size, (batch, tokens))}
    accepted = inspect.signature(model.forward).parameters
    writes = "logits_to_keep" in accepted and config.model_type not in ENCODERS
    cache = getattr(module, "MiniMaxCache", lambda: DynamicCache(config=config.get_text_config()))() if writes else None
    if cache is not None:
        name = next(name for name in ("cache", "past_key_values", "cache_params") if name in accepted)
        # Gemma 4 takes the last token alone through layers that read the keys of others
        options |= {name: cache, "use_cache": True, "logits_to_keep": 0 if "Gemma4" in model_class.__name__ else 1}
    seen["attention"] = 0.0
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(**options)
    by_kind = {str(op): flops for op, flops in counter.get_flop_counts().get("Global", {}).items()}
    return by_kind, seen["attention"], cache_bytes(cache, tokens) if cache is not None else None
