/** \file tests/graphs/import/models/configs.h
 * Configs of language models: those of tests/data/published_models.tsv, and graphs of any.
 *
 * A config is a JSON text that may have ' in place of ".
 */
#ifndef EMP_TESTS_GRAPHS_IMPORT_MODELS_CONFIGS_H
#define EMP_TESTS_GRAPHS_IMPORT_MODELS_CONFIGS_H

#include "tests/graphs/graphs.h"

typedef struct {
    char    name[64]; /**< "Qwen/Qwen3.5-27B" */
    int64_t parameters;
    char    source[96];   /**< of that count */
    char    config[6144]; /**< the members that a graph depends on */
} published_model;

/** All rows; they stay valid until the program ends. */
const published_model *published_models(int32_t *count);

/** The model of that name; fails the test if the table has none. */
const published_model *published_model_named(const char *name);

/* ---- graphs ---- */

/** Writes the config to the scratch folder. \a options: ",phase=decode,...".
 * \return the spec of its step; valid until the next call. */
const char *config_spec(const char *config, const char *options);

/** The step of the config, and the graph that it is a part of. */
emp_graph *config_load(const char *config, const char *options);
emp_graph *config_load_whole(const char *config, const char *options);

/** Bytes that ops hold from step to step. */
int64_t config_persistent_bytes(const emp_graph *g);

#endif /* EMP_TESTS_GRAPHS_IMPORT_MODELS_CONFIGS_H */
