/** \file tests/graphs/import/models/known.h
 * Models whose parameters are published: what their configs say, and how many there are.
 */
#ifndef EMP_TESTS_GRAPHS_IMPORT_MODELS_KNOWN_H
#define EMP_TESTS_GRAPHS_IMPORT_MODELS_KNOWN_H

#include <stdint.h>

typedef struct {
    const char
        *file; /**< in profiles/modern/model_configs of the shared files; NULL: none */
    const char *config;     /**< the members that its size depends on */
    int64_t     parameters; /**< of the part that reads and writes text */
    const char *source;     /**< of that count */
    int32_t     layers;
    double per_layer; /**< weights of a layer that a token is multiplied by, on average */
    double head;      /**< of the head: vocabulary x hidden */
    double heads;     /**< of attention: heads x (size of keys + size of values) */
    int32_t windowed; /**< layers with a window; 0 = none */
    int32_t window;
} known_model;

extern const known_model known_models[];
extern const int32_t     known_model_count;

#endif /* EMP_TESTS_GRAPHS_IMPORT_MODELS_KNOWN_H */
