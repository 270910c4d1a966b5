// SPDX-License-Identifier: GPL-3.0-or-later
/* Model types that differ in one or two parts from those of families.c: norms, biases, gates, shared experts. Sources: the
 * configurations and models of huggingface/transformers 5.24, of which each function names what is peculiar to its type. */
#include "graphs/import/models/families.h"

/* Experts that have as many shared ones as the member of that name says, by a bias of the router's choice. */
static void experts_with_shared(emp_fields *f, emp_transformer_model *m, int32_t first,
                                const char *shared)
{
    const int32_t inner = emp_fields_integer(f, "moe_intermediate_size", -1);
    const int32_t count = emp_fields_integer(f, shared, 0);

    m->has_correction_bias = true;
    emp_model_experts(f, m, first, 1, emp_model_product(count, inner));
}

/* ---- dense ---- */

void emp_model_arcee(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    m->is_gated = false;
}

void emp_model_helium(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    m->has_wide_norm = true;
    m->has_output_bias = false;
}

/* Norms behind attention and feed-forward layers, and of heads. */
void emp_model_exaone4(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    m->places = EMP_NORMS_INSIDE;
    m->qk_norm = EMP_QK_NORM_HEAD;
    m->has_qkv_bias = m->has_output_bias = m->has_mlp_bias = false;
    emp_model_windows(f, m, emp_model_but_the_last,
                      emp_fields_integer(f, "sliding_window_pattern", 4));
}

void emp_model_hunyuan(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    m->has_mlp_bias = false;
    m->qk_norm = EMP_QK_NORM_HEAD;
    m->names.q_norm = "self_attn.query_layernorm";
    m->names.k_norm = "self_attn.key_layernorm";
}

void emp_model_hyperclovax(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    if (!emp_fields_flag(f, "use_post_norm", true)) return;
    m->places = EMP_NORMS_SANDWICH;
    m->names.norm_2 = "post_attention_layernorm";
    m->names.post_1 = "post_norm1";
    m->names.post_2 = "post_norm2";
}

/* ---- with experts ---- */

/* The shared expert is as wide as a routed one. */
void emp_model_hunyuan_moe(emp_fields *f, emp_transformer_model *m)
{
    const int32_t inner = m->layer[0].inner;

    emp_model_hunyuan(f, m);
    m->names.router = "mlp.gate.wg";
    m->names.shared = "mlp.shared_mlp.*_proj";
    m->names.shared_gate = "mlp.shared_mlp";
    emp_model_experts(f, m, 0, 1, inner);
}

void emp_model_phimoe(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    m->norm = EMP_NORM_LAYER;
    m->has_mlp_bias = false;
    m->has_head_bias = emp_fields_flag(f, "lm_head_bias", false);
    m->names.router = "mlp.router";
    emp_model_windows(f, m, emp_model_in_all, 0);
    emp_model_experts(f, m, 0, 1, 0);
}

void emp_model_granitemoe(emp_fields *f, emp_transformer_model *m)
{
    const int32_t shared = emp_fields_integer(f, "shared_intermediate_size", 0);

    emp_model_llama_like(f, m);
    m->has_mlp_bias = false;
    m->names.router = "block_sparse_moe.router";
    m->names.experts = "block_sparse_moe.experts.*_proj";
    m->names.shared = "shared_mlp.*_proj";
    m->names.shared_gate = "shared_mlp";
    if (emp_fields_integer(f, "num_local_experts", 0) > 0) {
        emp_model_experts(f, m, 0, 1, shared);
        return;
    }
    m->has_fused_gate = true;
    m->names.gate_up = "shared_mlp.input_linear";
    m->names.down = "shared_mlp.output_linear";
    for (int32_t i = 0; i < m->layer_count; i++) m->layer[i].inner = shared;
}

void emp_model_dots1(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    m->has_mlp_bias = false;
    m->qk_norm = EMP_QK_NORM_HEAD;
    experts_with_shared(f, m, emp_fields_integer(f, "first_k_dense_replace", 0),
                        "n_shared_experts");
    (void)emp_model_layer_types(f, m);
}

void emp_model_exaone_moe(emp_fields *f, emp_transformer_model *m)
{
    emp_model_exaone4(f, m);
    m->places = EMP_NORMS_BEFORE;
    experts_with_shared(f, m, emp_fields_integer(f, "first_k_dense_replace", 1),
                        "num_shared_experts");
}

/* Arcee's Trinity: norms around both parts, and a gate of what attention gives. */
void emp_model_afmoe(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    m->has_wide_norm = true;
    m->has_mlp_bias = false;
    m->places = EMP_NORMS_SANDWICH;
    m->qk_norm = EMP_QK_NORM_HEAD;
    m->gate = EMP_GATE_ALL;
    m->names.output_gate = "self_attn.gate_proj";
    m->names.norm_2 = "pre_mlp_layernorm";
    m->names.post_2 = "post_mlp_layernorm";
    m->names.router = "mlp.router.gate";
    m->names.correction = "mlp.expert_bias";
    experts_with_shared(f, m, emp_fields_integer(f, "num_dense_layers", 1),
                        "num_shared_experts");
    emp_model_windows(f, m, emp_model_but_the_last,
                      emp_fields_integer(f, "global_attn_every_n_layers", 4));
}

/* Baidu's members begin with "moe_". */
void emp_model_ernie_moe(emp_fields *f, emp_transformer_model *m)
{
    const int32_t count = emp_fields_integer(f, "moe_num_shared_experts", 0);
    const int32_t inner = emp_fields_integer(f, "moe_intermediate_size", -1);
    const int32_t dense = m->layer[0].inner;
    const int32_t last = emp_fields_integer(f, "moe_layer_end_index", m->layer_count - 1);

    emp_model_llama_like(f, m);
    m->has_correction_bias = true;
    m->has_head_bias = emp_fields_flag(f, "use_bias", false);
    m->names.correction = "mlp.gate.moe_statics.e_score_correction_bias";
    emp_model_experts(f, m, emp_fields_integer(f, "moe_layer_start_index", 1),
                      emp_fields_integer(f, "moe_layer_interval", 1),
                      emp_model_product(count, inner));
    for (int32_t i = last + 1; i < m->layer_count && last >= 0; i++) {
        m->layer[i].experts = 0;
        m->layer[i].inner = dense;
    }
}
