# SPDX-License-Identifier: GPL-3.0-or-later
"""Configs at random, from the classes of transformers.

Each member of a class's default config that sizes a part or says whether there is one is drawn anew; lists of a layer
each follow from the class. Members that change neither parameters, products nor caches stay as they are.
"""

import torch
import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

# The types that Emplace reads and transformers has. The parts of multimodal models that read text count by themselves.
TYPES = """llama mistral ministral ministral3 granite exaone qwen2 qwen3
qwen2_moe seed_oss qwen3_moe qwen3_5_text qwen3_5_moe_text mixtral olmo olmo2 olmo3 olmoe phi phi3
gpt_oss llama4_text gemma gemma2 gemma3_text gemma4_text deepseek_v2 deepseek_v3 glm glm4 glm4_moe deepseek_v32
glm_moe_dsa deepseek_v4 kimi_linear minimax_m2 minimax_m3_vl_text mimo_v2_flash smollm3 gpt2 gpt_bigcode gpt_neo gptj
gpt_neox opt bloom falcon mpt stablelm starcoder2 cohere cohere2 nemotron nemotron_h bert roberta xlm-roberta
camembert qwen2_vl_text qwen2_5_vl_text qwen3_vl_text qwen3_vl_moe_text step3p5 cwm hyperclovax ernie4_5 arcee helium exaone4
exaone_moe hunyuan_v1_dense hunyuan_v1_moe phimoe granitemoe granitemoeshared dots1 afmoe ernie4_5_moe bamba
granitemoehybrid mamba2 lfm2 lfm2_moe qwen3_next vaultgemma glm4_moe_lite solar_open
youtu sarvam_mla sarvam_moe minicpm3 flex_olmo codegen jais2 mellum iquestcoder internlm3 qwen2_5_omni_text glm4v_moe_text
paddleocr_vl_text modernbert mamba falcon_mamba jamba falcon_h1 apertus minimax gemma3n_text""".split()
# Types of an encoder and a decoder.
PAIRS = """t5 mt5 umt5 bart mbart marian m2m_100 pegasus plbart blenderbot blenderbot-small whisper""".split()
TYPES += PAIRS
# Types with the scan of Mamba.
SELECTIVE = ("mamba", "falcon_mamba", "jamba")

HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads", "decoder_attention_heads")
KEY_HEADS = ("num_key_value_heads", "num_kv_heads")
HIDDEN = ("hidden_size", "n_embd", "d_model")
LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
PAIR_LAYERS = ("encoder_layers", "decoder_layers", "num_decoder_layers")
INNER = ("encoder_ffn_dim", "decoder_ffn_dim", "d_ff", "intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size", "intermediate_size_mlp", "dense_intermediate_size")
EXPERT_INNER = ("moe_intermediate_size", "shared_expert_intermediate_size", "share_expert_dim", "shared_intermediate_size",
                "moe_shared_expert_intermediate_size")
EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
CHOSEN = ("num_experts_per_tok", "num_experts_per_token", "top_k_experts", "moe_k", "moe_topk")
VOCABULARY = ("vocab_size", "vocab_size_per_layer_input")
WINDOWS = ("sliding_window", "window_size", "attention_chunk_size")
# Other members and the numbers that they may be.
CHOICES = {
    "n_shared_experts": (0, 1, 2), "num_shared_experts": (1, 2), "first_k_dense_replace": (0, 1, 2),
    "decoder_sparse_step": (1, 2), "interleave_moe_layer_step": (1, 2), "kv_lora_rank": (16, 24, 32), "q_lora_rank": (16, 24, 40),
    "qk_nope_head_dim": (8, 16, 24), "qk_rope_head_dim": (8, 16), "v_head_dim": (8, 16, 24), "index_n_heads": (2, 4),
    "index_head_dim": (16, 32), "index_topk": (4, 8), "index_block_size": (4, 8), "index_topk_blocks": (2, 3),
    "linear_num_key_heads": (1, 2), "linear_num_value_heads": (2, 4), "linear_key_head_dim": (8, 16), "linear_value_head_dim": (8, 16),
    "linear_num_heads": (2, 4), "linear_head_dim": (8, 16), "linear_conv_kernel_dim": (2, 4), "conv_kernel": (2, 4),
    "ssm_state_size": (8, 16), "mamba_num_heads": (4, 8), "mamba_head_dim": (8, 16), "n_groups": (1, 2), "chunk_size": (8, 16),
    "hc_mult": (2, 4), "o_groups": (1, 2), "o_lora_rank": (8, 16), "moe_latent_size": (None, 24), "type_vocab_size": (1, 2, 3),
    "max_window_layers": (1, 2), "hidden_size_per_layer_input": (0, 16), "num_kv_shared_layers": (0, 1, 2), "expansion_ratio": (2, 4),
    "num_ln_in_parallel_attn": (None, 1, 2), "num_sliding_attention_heads": (4, 8), "num_nextn_predict_layers": (0, 1),
    "mamba_n_heads": (4, 8), "mamba_d_state": (8, 16), "mamba_n_groups": (1, 2), "mamba_d_conv": (2, 4), "mamba_chunk_size": (8, 16), "mamba_expand": (1, 2),
    "conv_L_cache": (2, 3, 4), "num_dense_layers": (0, 1, 2), "moe_num_shared_experts": (0, 1, 2), "moe_layer_start_index": (0, 1, 2),
    "moe_layer_interval": (1, 2), "state_size": (8, 16), "block_multiple_of": (8, 16), "block_ffn_dim_multiplier": (1.0, 1.3),
    "sliding_window_pattern": (2, 3), "global_attn_every_n_layers": (2, 3), "global_head_dim": (16, 32), "num_global_key_value_heads": (1, 2), "max_position_embeddings": (128, 200), "n_positions": (128, 200),
    "altup_num_inputs": (2, 3, 4), "laurel_rank": (8, 12), "block_size": (8, 16), "expand": (1, 2), "time_step_rank": ("auto", 5, 12), "mamba_dt_rank": ("auto", 5, 12), "attn_layer_period": (2, 3), "attn_layer_offset": (0, 1),
    "expert_layer_period": (2, 3), "expert_layer_offset": (0, 1), "local_attention": (4, 6, 16), "d_kv": (8, 16), "relative_attention_num_buckets": (8, 32), "feed_forward_proj": ("relu", "gated-gelu", "gated-silu"), "num_mel_bins": (8, 20),
    "max_source_positions": (11, 24), "max_target_positions": (128, 200), "decoder_vocab_size": (100, 130),
    "max_seq_len": (128, 200), "_sliding_window_pattern": (2, 3, 6), "final_logit_softcapping": (None, 30.0),
}
# Numbers of real models, in place of the small ones.
REAL = {"kv_lora_rank": (256, 512), "q_lora_rank": (1024, 1536), "qk_nope_head_dim": (128, 192), "qk_rope_head_dim": (64,), "v_head_dim": (128, 256),
        "index_n_heads": (32, 64), "index_head_dim": (128,), "index_topk": (512, 2048), "linear_num_key_heads": (16,), "linear_num_value_heads": (32, 64),
        "linear_key_head_dim": (128,), "linear_value_head_dim": (128,), "linear_num_heads": (32,), "linear_head_dim": (128,), "ssm_state_size": (128, 256),
        "mamba_num_heads": (64, 128), "mamba_head_dim": (64, 80), "n_groups": (2, 8), "o_groups": (8, 16), "o_lora_rank": (1024,),
        "d_kv": (64, 128), "max_source_positions": (1500,), "max_target_positions": (448,), "num_mel_bins": (80, 128), "decoder_vocab_size": (32000, 65001),
        "max_position_embeddings": (2048, 32768), "n_positions": (1024, 2048), "max_seq_len": (2048, 8192), "global_head_dim": (512,), "moe_latent_size": (None, 1024)}
FLAGS = """attention_bias mlp_bias bias use_bias qkv_bias use_qkv_bias attention_out_bias mamba_proj_bias use_conv_bias enable_bias no_bias
tie_word_embeddings use_qk_norm qk_layernorm use_sliding_window new_decoder_architecture parallel_attn multi_query alibi
use_parallel_residual do_layer_norm_before attention_k_eq_v enable_moe_block use_double_wide_mlp add_swa_attention_sink_bias
add_full_attention_sink_bias norm_topk_prob lm_head_bias mamba_conv_bias conv_bias use_expert_bias block_auto_adjust_ff_dim use_post_norm layer_norm_elementwise_affine _remove_final_layer_norm norm_bias decoder_bias classifier_bias mamba_rms_norm projectors_bias share_encoder_decoder_embeddings""".split()


ENCODERS = ("bert", "roberta", "xlm-roberta", "camembert", "modernbert")
# Types of the part that reads text, by the multimodal model that has it.
WITHIN = {"qwen2_vl_text": "qwen2_vl", "qwen2_5_vl_text": "qwen2_5_vl", "qwen3_vl_text": "qwen3_vl", "qwen3_vl_moe_text": "qwen3_vl_moe", "step3p5": "step3p7",
          "qwen2_5_omni_text": "qwen2_5_omni_thinker", "glm4v_moe_text": "glm4v_moe", "paddleocr_vl_text": "paddleocr_vl"}
AUTO = transformers.models.auto.modeling_auto


def pick_class(model_type, rng):
    """The class of models that a config of the type is drawn for: with a vocabulary's head, without one, or for classes."""
    if model_type in PAIRS:
        return pick_class_of_pair(model_type, rng)
    tables = [AUTO.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, AUTO.MODEL_MAPPING_NAMES, AUTO.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES,
              AUTO.MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES, AUTO.MODEL_FOR_QUESTION_ANSWERING_MAPPING_NAMES]
    if model_type in ENCODERS:
        tables += [AUTO.MODEL_FOR_MASKED_LM_MAPPING_NAMES, AUTO.MODEL_FOR_PRETRAINING_MAPPING_NAMES, AUTO.MODEL_FOR_MULTIPLE_CHOICE_MAPPING_NAMES]
    elif rng.random() < 0.7:
        tables = tables[:1]
    names = [table[model_type] for table in tables if model_type in table]
    return getattr(transformers, rng.choice([name for name in names if isinstance(name, str)]))


def pick_class_of_pair(model_type, rng):
    tables = [AUTO.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES, AUTO.MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES]
    if rng.random() < 0.4:
        tables = [AUTO.MODEL_MAPPING_NAMES, AUTO.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES, AUTO.MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES,
                  AUTO.MODEL_FOR_QUESTION_ANSWERING_MAPPING_NAMES, AUTO.MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES]
    names = [table[model_type] for table in tables if model_type in table]
    return getattr(transformers, rng.choice([name for name in names if isinstance(name, str)]))


def default_members(config_class):
    """Members of the class's default config. Some cannot be made without members that the class leaves open."""
    for members in ({}, {"num_experts_per_tok": 2}, {"num_key_value_heads": 8, "layer_types": ["full_attention"], "num_hidden_layers": 1}):
        try:
            return config_class(**members).to_dict()
        except (TypeError, ValueError):
            continue
    raise ValueError(config_class.__name__)


class Draw:
    """Keyword arguments for a config class."""

    def __init__(self, members, rng, real):
        self.members, self.rng, self.real, self.out = members, rng, real, {}

    def put(self, names, value):
        for name in names:
            if name in self.members:
                self.out[name] = value

    def pick(self, small, real):
        return self.rng.choice(real if self.real else small)

    def sizes(self):
        heads = self.pick((2, 4, 8), (16, 32, 64))
        size = self.pick((8, 16, 32), (64, 128))
        fits = [k for k in (1, 2, 4, 8, heads) if heads % k == 0]
        self.put(HEADS, heads)
        self.put(KEY_HEADS, self.rng.choice(fits))
        has_own = "head_dim" in self.members and self.rng.random() < 0.7
        self.put(HIDDEN, self.pick((32, 48, 64), (1024, 2560, 4096)) // heads // 2 * 2 * heads if has_own else heads * size)
        if "head_dim" in self.members:
            self.out["head_dim"] = size
        self.put(LAYERS, self.pick((2, 3, 4, 6), (8, 13, 24, 48)))
        for name in PAIR_LAYERS:
            self.put((name,), self.pick((1, 2, 3, 5), (6, 12, 24)))
        for name in INNER + EXPERT_INNER:
            self.put((name,), self.pick((24, 40, 64), (1408, 5632, 14336)))
        self.put(VOCABULARY, self.pick((100, 129), (32000, 151936)))

    def experts(self):
        experts = self.pick((4, 8), (16, 64, 128))
        self.put(EXPERTS, experts)
        self.put(CHOSEN, self.rng.choice((1, 2, 4)))
        self.put(("n_group", "topk_group", "num_expert_group"), 1)

    def others(self):
        if self.rng.random() < 0.7:
            self.put(WINDOWS, self.pick((4, 8), (512, 4096)))
        for name, choices in CHOICES.items():
            if name in self.members:
                self.out[name] = self.rng.choice(REAL.get(name, choices) if self.real else choices)
        for name in FLAGS:
            if isinstance(self.members.get(name), bool) and self.rng.random() < 0.5:
                self.out[name] = not self.members[name]

    def all(self):
        self.sizes()
        self.experts()
        self.others()
        return self.out


def draw(model_type, rng, real):
    """A class and its config, or None where the class refuses what has been drawn."""
    whole = WITHIN.get(model_type)
    config_class = type(CONFIG_MAPPING[whole]().get_text_config()) if whole else CONFIG_MAPPING[model_type]
    members = Draw(default_members(config_class), rng, real).all()
    fit(model_type, members, rng)
    try:
        config = config_class(pad_token_id=0, **members)
        model_class = getattr(transformers, AUTO.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES[whole]) if whole else pick_class(model_type, rng)
        if whole:
            config = CONFIG_MAPPING[whole](text_config=config, tie_word_embeddings=getattr(config, "tie_word_embeddings", False))
    except Exception:  # noqa: BLE001  members that do not fit each other
        return None
    return model_class, config


def default_models():
    """Each language model with its default config, where transformers can make it."""
    for table in (AUTO.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, AUTO.MODEL_FOR_MASKED_LM_MAPPING_NAMES, AUTO.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
                  AUTO.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES):
        for kind, name in table.items():
            try:
                model_class = getattr(transformers, name if isinstance(name, str) else name[0])
                config = CONFIG_MAPPING[kind]()
                if model_class.config_class and not isinstance(config, model_class.config_class):
                    config = config.get_text_config()
                with torch.device("meta"):
                    model_class._from_config(config)
            except Exception:  # noqa: BLE001  sizes that the default leaves open, packages that are not there
                continue
            yield kind, model_class, config


def fit(model_type, members, rng):
    """Makes members fit each other where a class asks for more than sizes."""
    layers = next(members[name] for name in LAYERS if name in members) if any(n in members for n in LAYERS) else None
    if model_type == "gpt_neo":
        members["attention_types"] = [[["global", "local"], layers // 2]]
        members["num_layers"] = layers // 2 * 2
    if model_type == "nemotron_h":
        members["layers_block_type"] = ["full_attention"] + [rng.choice(("linear_attention", "full_attention", "mlp", "moe")) for _ in range(rng.randint(2, 7))]
    if model_type == "deepseek_v2" and members["n_shared_experts"] == 0:
        members["mlp_bias"] = False  # or a shared expert of no width has a bias
    if model_type in ENCODERS or model_type in PAIRS:
        members.pop("tie_word_embeddings", None)
    if "decoder_attention_heads" in members:
        heads = members["encoder_attention_heads"]
        members["decoder_attention_heads"] = rng.choice((heads, heads // 2))
    if model_type == "nemotron_h":
        members.pop("attention_bias", None)
    if model_type in ("deepseek_v2", "deepseek_v3", "deepseek_v32", "glm_moe_dsa"):
        members.pop("head_dim", None)
    if model_type == "gptj":
        members["rotary_dim"] = members["n_embd"] // members["n_head"]
    if model_type in ("qwen3_5_text", "qwen3_5_moe_text", "kimi_linear"):
        kinds = [rng.choice(("full_attention", "linear_attention")) for _ in range(layers)]
        members["layer_types"] = ["full_attention", *kinds[1:]]
    if model_type == "gemma3n_text":
        members["num_hidden_layers"] = layers = 5 * rng.randint(1, 3)
        members["num_kv_shared_layers"] = rng.choice((0, layers - 5))
        members["hidden_size_per_layer_input"] = 16
        members["intermediate_size"] = [rng.choice((24, 40)) for _ in range(layers)]
    if model_type == "minimax":
        members["sliding_window"] = None  # its cache would keep all tokens
        members["layer_types"] = [rng.choice(("full_attention", "linear_attention")) for _ in range(layers)]
    if model_type == "falcon_h1":
        members["mamba_d_ssm"] = members["mamba_n_heads"] * rng.choice((8, 16))
    elif "mamba_n_heads" in members:
        members["mamba_n_heads"] = 4
        members["mamba_d_head"] = members["hidden_size"] * members["mamba_expand"] // 4
        members["layer_types"] = ["full_attention"] + [rng.choice(("full_attention", "linear_attention")) for _ in range(layers - 1)]
    if model_type == "bamba":
        members["attn_layer_indices"] = [i for i, kind in enumerate(members.pop("layer_types")) if kind == "full_attention"]
    if model_type == "mamba2":
        members["head_dim"] = members["hidden_size"] * 2 // members["num_heads"]
    if model_type in ("lfm2", "lfm2_moe"):
        members["layer_types"] = ["full_attention"] + [rng.choice(("full_attention", "conv")) for _ in range(layers - 1)]
    if model_type == "qwen3_next":
        members["layer_types"] = ["full_attention"] + [rng.choice(("full_attention", "linear_attention")) for _ in range(layers - 1)]
    if model_type == "granitemoehybrid":
        members["num_local_experts"] *= rng.randint(0, 1)
        members["position_embedding_type"] = rng.choice((None, "rope"))
    if model_type == "helium":
        members["head_dim"] = members["hidden_size"] // members["num_attention_heads"]
    if model_type == "phimoe":
        members["num_experts_per_tok"] = 2  # whatever the config says
    if model_type == "codegen":
        members["rotary_dim"] = members["n_embd"] // members["n_head"]
    if model_type in ("youtu", "sarvam_mla", "minicpm3", "glm4_moe_lite"):
        members.pop("head_dim", None)
    if model_type == "mpt":
        members.pop("expansion_ratio", None)
    if model_type == "minimax_m3_vl_text":
        members["layer_types"] = [rng.choice(("full_attention", "minimax_m3_sparse")) for _ in range(layers)]
        members["mlp_layer_types"] = [rng.choice(("dense", "sparse")) for _ in range(layers)]
    if model_type == "deepseek_v4":
        members["n_shared_experts"] = 1
        members["layer_types"] = [rng.choice(("sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention")) for _ in range(layers)]
    if model_type == "mimo_v2_flash":
        members["num_key_value_heads"] = 1
    if model_type == "gemma4_text":
        members["num_hidden_layers"] = 6 * rng.randint(2, 3)
    if model_type == "opt":
        members["word_embed_proj_dim"] = members["hidden_size"]
