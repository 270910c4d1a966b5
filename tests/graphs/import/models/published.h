/** \file tests/graphs/import/models/published.h
 * The models of tests/data/published_models.tsv: the members of their configs that a graph depends on, and how many
 * parameters the part that reads and writes text has.
 */
#ifndef EMP_TESTS_GRAPHS_IMPORT_MODELS_PUBLISHED_H
#define EMP_TESTS_GRAPHS_IMPORT_MODELS_PUBLISHED_H

#include <stdint.h>

typedef struct {
    char    name[64]; /**< "Qwen/Qwen3.5-27B" */
    int64_t parameters;
    char    source[96]; /**< of that count */
    char    config[6144];
} published_model;

/** All rows; they stay valid until the program ends. */
const published_model *published_models(int32_t *count);

/** The model of that name; fails the test if the table has none. */
const published_model *published_model_named(const char *name);

#endif /* EMP_TESTS_GRAPHS_IMPORT_MODELS_PUBLISHED_H */
