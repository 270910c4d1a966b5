// SPDX-License-Identifier: GPL-3.0-or-later
#define _GNU_SOURCE /* strcasestr */
#include "baselines/expert_rules.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const output_words[] = {"attention", "memory_layer", "projection",
                                           "softmax"};

/* K of the path component "cell_K", or "cell_K_N" where TensorFlow made a scope unique;
 * -1 = there is none. */
static int32_t cell_of_name(const char *name)
{
    for (const char *at = strstr(name, "/cell_"); at != NULL;
         at = strstr(at + 1, "/cell_")) {
        char *end = NULL;
        long  cell = strtol(at + 6, &end, 10);
        if (end > at + 6 && (*end == '/' || *end == '_') && cell >= 0 &&
            cell <= INT32_MAX)
            return (int32_t)cell;
    }
    return -1;
}

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
    *cell = cell_of_name(name);
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

size_t emp_forward_of_gradient(const char *name, const char **forward)
{
    const char *slash = strchr(name, '/');

    if (strncmp(name, "gradients", 9) != 0 || slash == NULL) return 0;
    const char *end = strstr(slash, "_grad/");
    *forward = slash + 1;
    return end == NULL ? 0 : (size_t)(end - *forward);
}
