/** \file tests/graphs/import/models/known_hybrid.h
 * Models whose layers differ in kind, or whose attention sees some of the keys: on paper, what a token costs and what a
 * sequence keeps. Their configs are in tests/data/published_models.tsv.
 */
#ifndef EMP_TESTS_GRAPHS_IMPORT_MODELS_KNOWN_HYBRID_H
#define EMP_TESTS_GRAPHS_IMPORT_MODELS_KNOWN_HYBRID_H

#include <stdint.h>

enum { HYBRID_TOKENS = 4096 }; /* of the sequence, with the one that is written */

typedef struct {
    const char *name;       /**< of the published model */
    int64_t     parameters; /**< by a formula; 0: none */
    double      flops;      /**< of one token */
    int64_t     kept;       /**< bytes of caches, states and tables in bfloat16 */
} known_hybrid;

extern const known_hybrid known_hybrids[];
extern const int32_t      known_hybrid_count;

#endif /* EMP_TESTS_GRAPHS_IMPORT_MODELS_KNOWN_HYBRID_H */
