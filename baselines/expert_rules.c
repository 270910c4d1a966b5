// SPDX-License-Identifier: GPL-3.0-or-later
#define _GNU_SOURCE /* strcasestr */
#include "baselines/expert_rules.h"

#include <string.h>
#include <strings.h>

#include "sim/graph/op.h"

static const char *const output_words[] = {"attention", "memory_layer", "projection",
                                           "softmax"};

/* A component may carry the optimizer's prefix: "Adam/update_emb_src/mul". */
static bool has_embedding_component(const char *name)
{
    for (const char *at = name; at != NULL; at = strchr(at, '/')) {
        if (*at == '/') at++;
        if (strncmp(at, "update_", 7) == 0) at += 7;
        if (strncasecmp(at, "emb", 3) == 0) return true;
    }
    return false;
}

emp_role emp_role_of_name(const char *name, int32_t *cell)
{
    size_t length;

    *cell = emp_cell_of_name(name, &length);
    if (*cell >= 0) return EMP_ROLE_CELL;
    if (has_embedding_component(name)) return EMP_ROLE_EMBEDDING;
    for (size_t i = 0; i < sizeof output_words / sizeof output_words[0]; i++) {
        if (strcasestr(name, output_words[i]) != NULL) return EMP_ROLE_OUTPUT;
    }
    return EMP_ROLE_NONE;
}

bool emp_name_is_in_decoder(const char *name)
{
    return strncmp(name, "decoder/", 8) == 0 || strstr(name, "/decoder/") != NULL;
}
