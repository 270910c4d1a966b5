# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes small GGUF files of several kinds of decoders, all weights 0."""

import gguf
import numpy as np

T = gguf.GGMLQuantizationType


class Model:
    """Sizes of a decoder, and what sets its kind apart."""

    def __init__(self, name, arch, kind, layers=6, width=512, heads=8, kv_heads=2, ffn=1536, vocab=32768, **more):
        self.name, self.arch, self.kind = name, arch, kind
        self.layers, self.width, self.heads, self.kv_heads, self.ffn, self.vocab = layers, width, heads, kv_heads, ffn, vocab
        self.head = width // heads
        self.experts = self.used = self.expert_ffn = self.shared = self.window = 0
        self.is_tied = self.has_bias = self.has_head_norms = self.has_post_norms = self.is_fused = self.has_sinks = False
        self.has_positions = False
        self.extra = 0  # layers that predict more tokens
        self.micro_batch = 512
        for key, value in more.items():
            assert hasattr(self, key), key
            setattr(self, key, value)

    def tensors(self):
        """Names, shapes with the rows last, and types: matrices have the kind's, vectors float32."""
        d, q, kv, one = self.width, self.heads * self.head, self.kv_heads * self.head, T.F32
        yield "token_embd.weight", (d, self.vocab), self.kind
        if self.has_positions:
            yield "position_embd.weight", (d, 2048), T.F32
        yield "output_norm.weight", (d,), one
        if self.has_positions:
            yield "output_norm.bias", (d,), one
        if not self.is_tied:
            yield "output.weight", (d, self.vocab), self.kind
        for i in range(self.layers + self.extra):
            for name, shape, kind in self.layer(d, q, kv, one):
                yield f"blk.{i}.{name}", shape, kind
        for i in range(self.layers, self.layers + self.extra):
            yield f"blk.{i}.nextn.eh_proj.weight", (2 * d, d), self.kind
            yield f"blk.{i}.nextn.enorm.weight", (d,), one
            yield f"blk.{i}.nextn.hnorm.weight", (d,), one

    def layer(self, d, q, kv, one):
        norms = ["attn_norm"] + ([] if self.has_sinks or self.extra else ["ffn_norm"])
        norms += ["post_attention_norm"] if self.has_post_norms or self.has_sinks or self.extra else []
        norms += ["post_ffw_norm"] if self.has_post_norms else []
        for name in norms:
            yield f"{name}.weight", (d,), one
            if self.has_positions:
                yield f"{name}.bias", (d,), one
        if self.has_head_norms:
            yield "attn_q_norm.weight", (self.head,), one
            yield "attn_k_norm.weight", (self.head,), one
        if self.is_fused:
            yield "attn_qkv.weight", (d, q + 2 * kv), self.kind
            if self.has_positions:
                yield "attn_qkv.bias", (q + 2 * kv,), one
        else:
            for name, rows in (("attn_q", q), ("attn_k", kv), ("attn_v", kv)):
                yield f"{name}.weight", (d, rows), self.kind
                if self.has_bias:
                    yield f"{name}.bias", (rows,), one
        yield "attn_output.weight", (q, d), self.kind
        if self.has_sinks or self.has_positions:
            yield "attn_output.bias", (d,), one
        if self.has_sinks:
            yield "attn_sinks.weight", (self.heads,), one
        yield from self.experts_of(d, one) if self.experts else self.dense(d, one)

    def dense(self, d, one):
        if self.has_positions:
            pairs = (("ffn_up", (d, self.ffn)), ("ffn_down", (self.ffn, d)))
        elif self.is_fused:
            pairs = (("ffn_up", (d, 2 * self.ffn)), ("ffn_down", (self.ffn, d)))
        else:
            pairs = (("ffn_gate", (d, self.ffn)), ("ffn_up", (d, self.ffn)), ("ffn_down", (self.ffn, d)))
        for name, shape in pairs:
            yield f"{name}.weight", shape, self.kind
            if self.has_positions:
                yield f"{name}.bias", shape[1:], one

    def experts_of(self, d, one):
        n, f, s = self.experts, self.expert_ffn, self.shared
        yield "ffn_gate_inp.weight", (d, n), T.F32
        if self.has_sinks:
            yield "ffn_gate_inp.bias", (n,), one
        if self.extra:
            yield "exp_probs_b.bias", (n,), one
        for name, shape in (("ffn_gate", (d, f, n)), ("ffn_up", (d, f, n)), ("ffn_down", (f, d, n))):
            yield f"{name}_exps.weight", shape, T.MXFP4 if self.has_sinks else self.kind
            if self.has_sinks:
                yield f"{name}_exps.bias", shape[1:], one
        if s:
            if not self.extra:
                yield "ffn_gate_inp_shexp.weight", (d,), one
            for name, shape in (("ffn_gate", (d, s)), ("ffn_up", (d, s)), ("ffn_down", (s, d))):
                yield f"{name}_shexp.weight", shape, self.kind

    def write(self, path):
        w = gguf.GGUFWriter(path, self.arch)
        w.add_context_length(2048)
        w.add_embedding_length(self.width)
        w.add_block_count(self.layers + self.extra)
        w.add_feed_forward_length(self.ffn)
        w.add_head_count(self.heads)
        w.add_head_count_kv(self.kv_heads)
        w.add_key_length(self.head)
        w.add_value_length(self.head)
        if self.has_positions:
            w.add_layer_norm_eps(1e-5)
        else:
            w.add_layer_norm_rms_eps(1e-6)
            w.add_rope_dimension_count(self.head)
        w.add_vocab_size(self.vocab)
        w.add_tokenizer_model("none")
        if self.experts:
            w.add_expert_count(self.experts)
            w.add_expert_used_count(self.used)
            w.add_expert_feed_forward_length(self.expert_ffn)
        if self.shared:
            w.add_expert_shared_feed_forward_length(self.shared)
        if self.extra:
            w.add_nextn_predict_layers(self.extra)
            w.add_expert_shared_count(1)
        if self.window:
            w.add_sliding_window(self.window)
        for name, shape, kind in self.tensors():
            block, size = gguf.GGML_QUANT_SIZES[kind]
            bytes_of_row = shape[0] // block * size
            w.add_tensor(name, np.zeros((*shape[:0:-1], bytes_of_row), np.uint8), raw_dtype=kind)
        w.write_header_to_file()
        w.write_kv_data_to_file()
        w.write_tensors_to_file()
        w.close()


MODELS = [
    Model("llama-f16", "llama", T.F16),
    Model("llama-tied-q8_0", "llama", T.Q8_0, is_tied=True, layers=7),
    Model("mixtral-q4_0", "llama", T.Q4_0, experts=8, used=2, expert_ffn=512, ffn=512),
    Model("qwen2-bias-q6_k", "qwen2", T.Q6_K, has_bias=True, kv_heads=4),
    Model("qwen2moe-shared-q4_k", "qwen2moe", T.Q4_K, has_bias=True, experts=16, used=4, expert_ffn=256, shared=768),
    Model("gemma3-window-q5_0", "gemma3", T.Q5_0, is_tied=True, window=512, has_head_norms=True, has_post_norms=True, layers=12),
    Model("gpt-oss-mxfp4", "gpt-oss", T.Q8_0, experts=8, used=4, expert_ffn=512, window=128, has_sinks=True, has_bias=True, layers=8),
    Model("phi3-window-bf16", "phi3", T.BF16, is_fused=True, window=256, kv_heads=8),
    Model("glm4moe-nextn-q5_k", "glm4moe", T.Q5_K, experts=8, used=2, expert_ffn=512, shared=512, extra=1),
    Model("qwen3-q3_k", "qwen3", T.Q3_K, has_head_norms=True),
    Model("gpt2-f32", "gpt2", T.F32, has_positions=True, is_fused=True, kv_heads=8, is_tied=True),
    # other widths, heads, vocabularies and micro-batches, in which activations are most of a buffer
    Model("llama-768", "llama", T.Q4_0, layers=5, width=768, heads=12, kv_heads=4, ffn=2560, vocab=5000),
    Model("llama-1024-ub256", "llama", T.Q8_0, width=1024, heads=16, kv_heads=16, ffn=2048, vocab=16000, micro_batch=256),
    Model("mixtral-256", "llama", T.Q4_0, width=256, heads=4, kv_heads=4, experts=4, used=2, expert_ffn=1024, ffn=1024, vocab=3000),
    Model("qwen2moe-640-ub1024", "qwen2moe", T.Q8_0, has_bias=True, layers=4, width=640, heads=10, kv_heads=5, experts=12, used=3,
          expert_ffn=384, shared=896, vocab=7000, micro_batch=1024),
    Model("gemma3-384-ub256", "gemma3", T.Q5_0, is_tied=True, window=256, has_head_norms=True, has_post_norms=True, layers=12, width=384,
          heads=6, kv_heads=3, ffn=1024, vocab=6000, micro_batch=256),
    Model("gpt-oss-768", "gpt-oss", T.Q8_0, experts=6, used=3, expert_ffn=768, window=64, has_sinks=True, has_bias=True, width=768,
          heads=12, kv_heads=4, vocab=9000),
    Model("qwen3-896", "qwen3", T.Q5_0, has_head_norms=True, width=896, heads=14, kv_heads=2, ffn=3072, vocab=12000),
    Model("gpt2-768", "gpt2", T.F16, has_positions=True, is_fused=True, heads=12, kv_heads=12, width=768, ffn=3072, is_tied=True, vocab=5000),
]
