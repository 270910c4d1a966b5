/** \file graphs/transformer/model.h
 * What a transformer consists of, whatever file or spec says it: sizes, kinds of norms, attention
 * and feed-forward layers, and the names of its modules.
 *
 * A front end takes emp_transformer_model_init(), fills the fields, and asks
 * emp_transformer_model_check(). graphs/transformer/stack.h makes a graph of it.
 *
 * Sizes are counts of elements. A size of 0 is a part that the model does not have.
 * Threads. Plain data; share it freely after the check.
 */
#ifndef EMP_GRAPHS_TRANSFORMER_MODEL_H
#define EMP_GRAPHS_TRANSFORMER_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "sim/graph/graph.h"

/* The names of a transformer's modules, by the program whose files it comes from. Ops have
 * the paths of their modules, so that a device map by module path can be made of a placement. */

/** Names of modules; those behind `layer` are within a layer. */
typedef struct {
    const char *embedding, *positions, *types, *embedding_norm;
    const char *final_norm, *head;
    const char *layer; /**< "model.layers", behind which come its number and a dot */
    const char *attention, *norm_1, *post_1, *norm_2, *post_2;
    const char *q, *k, *v, *qkv, *output, *q_norm, *k_norm;
    const char *gate, *up, *gate_up, *down;
    const char *router, *correction;
    /* "mlp.experts.*_proj": with gate, up, gate_up or down for the star */
    const char *experts, *shared, *shared_gate;
    /* products before and behind experts of another size, and the norm between */
    const char *expert_in, *expert_out, *expert_norm;
    const char *sinks, *output_gate;
    const char *indexer; /**< what the names of its parts begin with */
    const char
        *scan; /**< of a layer whose mixer scans; its parts have names of their own */
    const char *q_a, *q_a_norm, *q_b, *kv_a, *kv_a_norm,
        *kv_b;             /**< of latent attention */
    const char *k_b, *v_b; /**< the two halves of kv_b, where they are apart */
    /* of attention to what an encoder has read */
    const char *cross, *cross_norm, *cross_q, *cross_k, *cross_v, *cross_output;
    const char *relative; /**< table of biases by distance */
    /* what a head has before its product: the module, and the leaf of its norm */
    const char *transform, *transform_norm;
    const char *pooler; /**< of one token; NULL: what a head has before its product */
} emp_transformer_names;

extern const emp_transformer_names emp_names_llama; /**< Hugging Face, most decoders */
extern const emp_transformer_names emp_names_gpt2, emp_names_neox, emp_names_opt,
    emp_names_bert, emp_names_roberta, emp_names_falcon, emp_names_mpt;
extern const emp_transformer_names emp_names_gguf;

enum {
    EMP_TRANSFORMER_LAYERS_MAX = 2048,
    EMP_TRANSFORMER_SIZE_MAX =
        1 << 22, /**< of a hidden state, a layer's inside, heads x size */
    EMP_TRANSFORMER_VOCABULARY_MAX = 1 << 24,
    EMP_TRANSFORMER_EXPERTS_MAX = 1 << 14,
    EMP_TRANSFORMER_ALTERNATES_MAX = 8
};

typedef enum {
    EMP_ACTIVATION_SILU,
    EMP_ACTIVATION_GELU,
    EMP_ACTIVATION_GELU_NEW, /**< by tanh, of eight ops where it is trained: GPT-2 */
    EMP_ACTIVATION_XIELU,    /**< with two trained numbers: Apertus */
    EMP_ACTIVATION_RELU,
    EMP_ACTIVATION_SQUARED_RELU
} emp_activation;

/** Where norms stand. */
typedef enum {
    EMP_NORMS_BEFORE,    /**< x + f(norm(x)): GPT-2, Llama */
    EMP_NORMS_AFTER,     /**< norm(x + f(x)): BERT */
    EMP_NORMS_SANDWICH,  /**< x + norm(f(norm(x))): Gemma 2 */
    EMP_NORMS_INSIDE,    /**< x + norm(f(x)): OLMo 2 */
    EMP_NORMS_AROUND,    /**< norm(x) + f(norm(x)): MiniMax-Text-01 */
    EMP_NORMS_PARALLEL,  /**< x + attention(norm(x)) + mlp(norm(x)), one norm: GPT-J */
    EMP_NORMS_PARALLEL_2 /**< the same with two norms: GPT-NeoX */
} emp_norm_places;

/** The parameters of a norm. */
typedef enum {
    EMP_NORM_RMS,         /**< a factor */
    EMP_NORM_LAYER,       /**< a factor and a bias */
    EMP_NORM_LAYER_PLAIN, /**< a factor */
    EMP_NORM_LAYER_BARE   /**< none: OLMo */
} emp_norm_kind;

/** Norms of queries and keys. */
typedef enum {
    EMP_QK_NORM_NONE,
    EMP_QK_NORM_HEAD, /**< over each head: Qwen3 */
    EMP_QK_NORM_ALL   /**< over all heads at once: OLMo 2 */
} emp_qk_norm;

/** What trains the table of positions. */
typedef enum {
    EMP_POSITIONS_LEARNED,
    EMP_POSITIONS_FROZEN, /**< a parameter that nothing trains: Whisper's encoder, Marian */
    EMP_POSITIONS_BUFFER /**< no parameter, made anew by each program: M2M-100 */
} emp_position_kind;

/** The part of a layer that mixes the tokens of a sequence. */
typedef enum {
    EMP_MIXER_ATTENTION,
    EMP_MIXER_COMPRESSED,  /**< attention to keys of tokens and of windows: DeepSeek-V4 */
    EMP_MIXER_DELTA_RULE,  /**< Gated DeltaNet, Kimi Delta Attention */
    EMP_MIXER_STATE_SPACE, /**< Mamba-2 */
    EMP_MIXER_SELECTIVE,   /**< Mamba: a state for each channel */
    EMP_MIXER_LIGHTNING,   /**< attention without a softmax: MiniMax-Text-01 */
    EMP_MIXER_BOTH, /**< attention and Mamba-2 of the same input, and their sum: Falcon-H1 */
    EMP_MIXER_CONVOLUTION, /**< a short convolution between two gates: LFM2 */
    EMP_MIXER_LINEAR,      /**< a matrix in place of attention: Nemotron-NAS */
    EMP_MIXER_NONE         /**< a layer that is a feed-forward part only */
} emp_mixer;

/** The factor of what attention gives, by the sigmoid of a product of its input. */
typedef enum {
    EMP_GATE_NONE,
    EMP_GATE_IN_QUERY, /**< the second half of the product of queries: Qwen3.5 */
    EMP_GATE_ALL,      /**< a product of its own: Kimi K3 */
    EMP_GATE_HEAD      /**< likewise, one factor a head: Step 3.5 */
} emp_attention_gate;

/** Sizes of the mixers that scan their sequence. Mamba-2's groups are key heads, and its state size is a
 * key's. */
typedef struct {
    int32_t key_heads, heads;
    int32_t key_size, value_size; /**< of a head */
    int32_t taps;                 /**< tokens of the causal convolution */
    int32_t chunk;                /**< tokens of a chunk of the scan; 0 = 64 */
    int32_t gate_rank;            /**< of Kimi's gate; 0 = full */
    int32_t step_rank; /**< of the product of steps of Mamba, whose heads are channels */
    bool    has_step_norms;    /**< of steps, keys and queries: Falcon-Mamba and Jamba */
    bool    has_step_weights;  /**< factors of these norms: Jamba */
    bool    has_channel_decay; /**< a decay for each channel of a key: Kimi */
    bool    has_float_state;   /**< the scan's state is float32 */
    bool    has_bias, has_taps_bias;
    bool    has_output_bias; /**< of the last product of Mamba-2 */
    bool    has_no_norm;     /**< a gate alone behind Mamba-2: Falcon-H1 */
    bool
        has_fused_products; /**< one for queries to gates, one for both factors: Qwen3-Next */
} emp_transformer_scan;

/** The choice of the keys that attention sees, by small heads. */
typedef enum {
    EMP_INDEXER_NONE, /**< attention sees all keys */
    EMP_INDEXER_OWN,
    EMP_INDEXER_SHARED /**< what the indexer of an earlier layer has chosen: GLM-5.2 */
} emp_indexer;

/** Sizes of indexers. Where keys are chosen one by one, the heads choose together; where they are chosen by blocks, each
 * head chooses for itself. */
typedef struct {
    int32_t heads, size; /**< of queries and of the only key */
    int32_t chosen;      /**< keys of a query */
    int32_t block;       /**< keys that are chosen together; 0 and 1: one by one */
} emp_transformer_indexer;

typedef struct {
    emp_mixer mixer;
    bool      has_no_feed_forward;
    bool      is_sparse; /**< only gates far above their mean count: Gemma 3n */
    bool has_no_norm;    /**< before its mixer, as the embeddings have one: ModernBERT */
    bool is_feed_forward_linear; /**< a matrix in its place: Nemotron-NAS */

    int32_t heads, kv_heads;
    int32_t head_size;  /**< of queries and keys */
    int32_t value_size; /**< of values */
    int32_t
        window; /**< keys that a query sees; 0 = all. An encoder's has it in its middle */
    bool        keys_are_values; /**< no weights of values of its own: Gemma 4 */
    emp_indexer indexer;
    int32_t
        keys_of; /**< the earlier layer whose keys and values it reads; -1 = its own */

    int32_t inner;           /**< of the dense feed-forward layer; 0 = none */
    int32_t experts, chosen; /**< of a routed one; 0 = none */
    int32_t expert_inner;
    int32_t shared_inner; /**< of the experts that every token takes, together */
    int32_t stride;    /**< tokens of a compressed key; 0 = there are none: DeepSeek-V4 */
    bool    is_hashed; /**< a table of tokens chooses the experts: DeepSeek-V4 */
    bool
        has_parallel_norms; /**< dense and routed layer have norms of their own: Gemma 4 */
} emp_transformer_layer;

typedef struct emp_transformer_model {
    emp_transformer_names names;

    /** An encoder whose results all layers attend to, with names of its own; owned. NULL: there is none. */
    struct emp_transformer_model *encoder;

    int32_t                vocabulary, hidden;
    int32_t                position_rows; /**< of a learned table; 0 = none */
    emp_position_kind      position_kind;
    int32_t                positions; /**< the longest sequence; 0 = not said */
    int32_t                type_rows; /**< of token types */
    int32_t                layer_count;
    emp_transformer_layer *layer; /**< [layer_count]; owned */

    /* latent attention (DeepSeek-V2): ranks of queries and keys, and the rotated part of a head */
    int32_t query_rank, key_rank, rotary_size;
    /* of an encoder that hears: the sizes of a frame of sound, which two convolutions read; of them, and of no other
     * number, come `positions` tokens (Whisper) */
    int32_t sound_size;
    int32_t relative_buckets; /**< of distances, each with a bias a head: T5; 0 = none */
    emp_transformer_scan    scan;  /**< of layers whose mixer scans */
    emp_transformer_indexer index; /**< of layers that choose keys */
    /* embeddings of each layer (Gemma 4): size, and rows of their table */
    int32_t layer_embedding, layer_embedding_rows;

    int32_t
        alternates; /**< streams of a token, of which layers compute one: Gemma 3n; 0 = one */
    int32_t laurel_rank; /**< of the product beside attention: Gemma 3n */
    int32_t streams;     /**< of hyper-connections: DeepSeek-V4; 0 = plain residuals */
    int32_t
        residual_block; /**< layers of a block of attention residuals: Kimi K3; 0 = likewise */
    int32_t output_groups, output_rank; /**< of products behind compressed attention */

    emp_norm_kind      norm;
    emp_norm_places    places;
    emp_qk_norm        qk_norm;
    emp_activation     activation;
    emp_attention_gate gate;

    int32_t
        expert_size; /**< of what routed experts read and write; 0 = the hidden size */

    bool is_encoder; /**< every token sees all; a decoder's sees those before */
    bool is_gated;   /**< activation(gate x) (up x), else activation(up x) */
    bool has_rotary;
    bool
         has_wide_norm; /**< its weight multiplies in float32, and not in the model's type: Gemma */
    bool has_qk_norm_bias;
    bool has_value_norm; /**< without parameters: Gemma 4 */
    bool has_qkv_bias, has_output_bias, has_mlp_bias;
    bool lacks_key_bias;     /**< though queries and values have one: Whisper */
    bool is_relative_shared; /**< all layers take the biases of the first: T5 */
    bool has_fused_qkv, has_fused_gate; /**< one product for all of them */
    bool has_embedding_norm, has_final_norm;
    bool
        has_split_matrix; /**< of latent attention: the matrix of keys and values is two */
    bool has_sinks;       /**< a learned logit a head: gpt-oss */
    bool has_window_sinks; /**< only in layers with a window: MiMo-V2 */
    bool has_router_bias, has_expert_bias;
    bool has_correction_bias; /**< of the router's scores; no gradient: DeepSeek-V3 */
    bool has_shared_gate;     /**< a factor of the shared expert: Qwen2-MoE */
    bool has_expert_norm;     /**< of what experts of another size give: Kimi K3 */
    bool has_router_scales;   /**< of the router's input and of experts: Gemma 4 */
    bool has_layer_scale;     /**< a factor of each layer's output, untrained: Gemma 4 */
    bool
         has_sum_in_place; /**< a feed-forward part is added to what goes around it: phi3 of llama.cpp */
    bool has_logit_cap; /**< a tanh of the logits: Gemma 2 */
    bool has_head, is_head_tied, has_head_bias;
    bool has_head_transform; /**< dense, activation, norm before the head: BERT */
    bool lacks_transform_bias;
    bool
        has_pooler; /**< a dense layer of one token: an encoder's first, as BERT, a decoder's last, as BART */

    int32_t     head_rows;      /**< classes that the head has; 0 = the vocabulary */
    int32_t     pooled_classes; /**< of the pooler's output; 0 = none */
    const char *pooled_name;    /**< of the layer that makes them */
    const char *pooled_task;    /**< "next_sentence", by which its loss is named */
} emp_transformer_model;

/** \a layer_count layers, all sizes 0. Clear it also after a failure.
 * \retval EMP_EINVAL  Not 1 to EMP_TRANSFORMER_LAYERS_MAX layers. \retval EMP_ENOMEM */
emp_status emp_transformer_model_init(emp_transformer_model *model, int64_t layer_count,
                                      emp_error *err);
/** Adds an encoder of \a layer_count layers like the decoder's first, with its sizes and without a head.
 * \retval EMP_EINVAL  Not 1 to EMP_TRANSFORMER_LAYERS_MAX layers. \retval EMP_ENOMEM */
emp_status emp_transformer_model_add_encoder(emp_transformer_model *model,
                                             int64_t layer_count, emp_error *err);
void       emp_transformer_model_clear(emp_transformer_model *model);

/** Whether sizes are in range and fit each other: heads in groups, chosen experts among those
 * that there are, inner sizes of what there is.
 * \retval EMP_EINVAL  The message names the layer and the size. */
emp_status emp_transformer_model_check(const emp_transformer_model *model,
                                       emp_error                   *err);

/** Whether keys and values come from a latent vector. */
static inline bool emp_transformer_is_latent(const emp_transformer_model *model)
{
    return model->key_rank > 0;
}

/** Takes the encoder in place of the decoder and it. */
void emp_transformer_model_keep_encoder(emp_transformer_model *model);

/** Tokens of a sequence where nothing else is said: 2048, or the model's positions if fewer. */
static inline int32_t emp_transformer_sequence(const emp_transformer_model *model)
{
    const int32_t most = 2048;

    return model->positions > 0 && model->positions < most ? model->positions : most;
}

/** Whether some layer sends tokens to experts. O(layers). */
static inline bool emp_transformer_has_experts(const emp_transformer_model *model)
{
    for (int32_t l = 0; l < model->layer_count; l++)
        if (model->layer[l].experts > 0) return true;
    return false;
}

/** Whether all attention is to keys of its own for each token, so that prompts can be read in micro-batches. */
bool emp_transformer_has_plain_keys(const emp_transformer_model *model);

#endif /* EMP_GRAPHS_TRANSFORMER_MODEL_H */
