/** \file tests/graphs/import/models/known.h
 * FLOPs and bytes of published models on paper. Their configs are in tests/data/published_models.tsv.
 */
#ifndef EMP_TESTS_GRAPHS_IMPORT_MODELS_KNOWN_H
#define EMP_TESTS_GRAPHS_IMPORT_MODELS_KNOWN_H

#include <stdint.h>

/** Models whose layers are of one kind. */
typedef struct {
    const char *name;       /**< of the published model */
    int64_t     parameters; /**< by a formula; 0: none */
    int32_t     layers;
    double per_layer; /**< weights of a layer that a token is multiplied by, on average */
    double head;      /**< of the head: vocabulary x hidden */
    double heads;     /**< of attention: heads x (size of keys + size of values) */
    int32_t windowed; /**< layers with a window; 0 = none */
    int32_t window;
} known_model;

extern const known_model known_models[];
extern const int32_t     known_model_count;

enum { HYBRID_TOKENS = 4096 }; /* of the sequence, with the one that is written */

/** Models whose layers differ in kind, or whose attention sees some of the keys. */
typedef struct {
    const char *name;
    int64_t     parameters; /**< by a formula; 0: none */
    double      flops;      /**< of one token */
    int64_t     kept;       /**< bytes of caches, states and tables in bfloat16 */
} known_hybrid;

extern const known_hybrid known_hybrids[];
extern const int32_t      known_hybrid_count;

#endif /* EMP_TESTS_GRAPHS_IMPORT_MODELS_KNOWN_H */
