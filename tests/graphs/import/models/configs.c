// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/graphs/import/models/configs.h"

#include "tests/support/facts.h"
#include "tests/test.h"

enum { MODELS_MAX = 96 };

const published_model *published_models(int32_t *count)
{
    static published_model models[MODELS_MAX];
    static int32_t         read;
    fact_table             t;

    if (read == 0)
        for (fact_table_open(&t, "published_models.tsv"); fact_table_next(&t); read++) {
            published_model *m = &models[read];
            cr_assert(read < MODELS_MAX && t.count == 4);
            snprintf(m->name, sizeof m->name, "%s", t.cell[0]);
            m->parameters = strtoll(t.cell[1], NULL, 10);
            snprintf(m->source, sizeof m->source, "%s", t.cell[2]);
            cr_assert(strlen(t.cell[3]) < sizeof m->config, "%s", m->name);
            strcpy(m->config, t.cell[3]);
        }
    *count = read;
    return models;
}

const published_model *published_model_named(const char *name)
{
    int32_t                count;
    const published_model *m = published_models(&count);

    for (int32_t i = 0; i < count; i++)
        if (strcmp(m[i].name, name) == 0) return &m[i];
    cr_assert_fail("tests/data/published_models.tsv has no model %s", name);
    return NULL;
}

const char *config_spec(const char *config, const char *options)
{
    scratch_write_json("config.json", config);
    return scratch_print("hf:path=%s%s", scratch_path("config.json"), options);
}

emp_graph *config_load(const char *config, const char *options)
{
    emp_graph *step = NULL;

    ASSERT_OK(emp_source_load(&step, NULL, NULL, config_spec(config, options), &err));
    return step;
}

emp_graph *config_load_whole(const char *config, const char *options)
{
    emp_graph *whole = NULL, *step = NULL;

    ASSERT_OK(emp_source_load(&step, &whole, NULL, config_spec(config, options), &err));
    emp_graph_destroy(step);
    return whole;
}

int64_t config_persistent_bytes(const emp_graph *g)
{
    int64_t bytes = 0;

    for (emp_op_id op = 0; op < g->op_count; op++) bytes += g->op[op].persistent_bytes;
    return bytes;
}
