// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the specs of workloads. Those of a large graph are parsed and not built.
#include <string.h>

#include "graphs/workloads/workloads.h"
#include "tests/support/fuzz_file.h"

enum { SPEC_BYTES = 512, SMALL = 8 };

static bool is_small(const emp_workload *family, const emp_workload_values *given)
{
    for (int32_t i = 0; family->params[i].name != NULL; i++) {
        const emp_option *param = &family->params[i];
        double            usual = emp_option_default(param, 0);

        if (param->kind == EMP_OPTION_INTEGER && given->value[i] > SMALL &&
            given->value[i] > usual)
            return false;
    }
    return true;
}

/* The family that a spec names; NULL = none. */
static const emp_workload *family_of(const char *spec)
{
    int32_t             count;
    const emp_workload *families = emp_workload_table(&count);
    size_t              length = strcspn(spec, ":");

    for (int32_t i = 0; i < count; i++)
        if (strlen(families[i].name) == length &&
            memcmp(families[i].name, spec, length) == 0)
            return &families[i];
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char                spec[SPEC_BYTES] = "";
    emp_workload_values given;
    emp_graph          *graph = NULL;
    emp_error           err;

    if (size >= sizeof spec) return -1;
    if (size > 0) memcpy(spec, bytes, size);
    const emp_workload *family = family_of(spec);
    if (family != NULL) {
        const emp_option_table table = {family->name, NULL, family->params};
        const char            *text = spec + strlen(family->name);

        if (emp_options_parse(&given, &table, NULL, *text == ':' ? text + 1 : text,
                              &err) == EMP_OK &&
            !is_small(family, &given))
            return 0;
    }
    (void)emp_workload_build(&graph, spec, &err);
    emp_graph_destroy(graph);
    return 0;
}
