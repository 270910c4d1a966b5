/** \file graphs/transformer/parts.h
 * The parts of a transformer in the names of its ops: "model.layers.3.mlp.up_proj/act" is of layer 3 and of the
 * module mlp.up_proj in it. The names come from emp_transformer_names, whichever family they are of.
 *
 * Threads. Functions without state; borrowed texts.
 */
#ifndef EMP_GRAPHS_TRANSFORMER_PARTS_H
#define EMP_GRAPHS_TRANSFORMER_PARTS_H

#include <stddef.h>

#include "graphs/transformer/model.h"

typedef enum {
    EMP_PART_OTHER,     /**< ids, positions, the loss, the drawing of a token */
    EMP_PART_EMBEDDING, /**< tables of tokens, positions and types, and their norm */
    EMP_PART_LAYER,
    EMP_PART_HEAD /**< the last norm, and what follows it up to the logits */
} emp_part_kind;

enum { EMP_PART_NAME_BYTES = 64 };

typedef struct {
    emp_part_kind                kind;
    const emp_transformer_names *names; /**< the family; NULL: of no part */
    int32_t                      layer; /**< its number; -1 = it is of no layer */
    /** The first bytes of the op's name that are the path of its module, in a layer or not. The name of a
     * parameter ("weight") or of a cache is no part of it, nor is what follows a slash. */
    size_t      path_length;
    const char *module;        /**< behind the layer's number: "mlp.up_proj" */
    size_t      module_length; /**< 0: it names no module within a layer */
    /** The text after the first slash: "act"; "" = nothing. The number of a micro-batch is no part of it. */
    char role[EMP_PART_NAME_BYTES];
    bool is_cache; /**< of keys or values */
} emp_model_part;

/** Which part of a model the op of that name is. O(length). */
emp_model_part emp_model_part_of(const char *op_name);

/** Whether it is a matrix of a layer that has a name in GGUF files: projections of the attention, the layers of
 * a feed-forward block, routers, experts. Writes that name without ".weight" and without the layer,
 * "ffn_down_exps". */
bool emp_model_part_gguf(char name[EMP_PART_NAME_BYTES], const emp_model_part *part);

/** Whether it is of the experts that a router chooses from, or what is computed between their matrices. */
bool emp_model_part_is_expert(const emp_model_part *part);

/** Whether it decides which experts a token takes, or scales a shared one: a few rows beside them. */
bool emp_model_part_is_router(const emp_model_part *part);

#endif /* EMP_GRAPHS_TRANSFORMER_PARTS_H */
