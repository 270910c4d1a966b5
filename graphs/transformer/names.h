/** \file graphs/transformer/names.h
 * What the modules of a transformer are called, by the program whose files it comes from. Ops have
 * the paths of their modules, so that a device map by module path can be made of a placement.
 */
#ifndef EMP_GRAPHS_TRANSFORMER_NAMES_H
#define EMP_GRAPHS_TRANSFORMER_NAMES_H

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
    const char *sinks;
    const char *q_a, *q_a_norm, *q_b, *kv_a, *kv_a_norm,
        *kv_b;             /**< of latent attention */
    const char *k_b, *v_b; /**< the two halves of kv_b, where they are apart */
} emp_transformer_names;

extern const emp_transformer_names emp_names_llama; /**< Hugging Face, most decoders */
extern const emp_transformer_names emp_names_gpt2, emp_names_neox, emp_names_opt,
    emp_names_bert, emp_names_roberta, emp_names_falcon, emp_names_mpt;
extern const emp_transformer_names emp_names_gguf;

#endif /* EMP_GRAPHS_TRANSFORMER_NAMES_H */
