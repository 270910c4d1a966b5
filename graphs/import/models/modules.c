// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/models/modules.h"

#include <ctype.h>
#include <fnmatch.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

/* What a path begins with in a multimodal model, and in a model of text. */
static const char tower[] = "language_model.", inner[] = "model.language_model.",
                  plain[] = "model.";

static bool begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* ---- spellings ---- */

/* Room for one spelling more. */
static char *add_spelling(emp_module *m) { return m->spelling[m->count++]; }

/* Writes PATH.experts.NAME as PATH.experts.0.NAME, and with w1, w2 or w3 for the product. */
static void spell_expert(emp_module *m, const char *whole)
{
    static const char *const products[][2] = {
        {"gate_proj", "w1"}, {"down_proj", "w2"}, {"up_proj", "w3"}};
    const char *experts = strstr(whole, "experts.");

    if (experts == NULL || strstr(whole, "shared") != NULL) return;
    const char  *product = experts + strlen("experts.");
    const int    before = (int)(product - whole);
    const size_t room = EMP_MODULE_BYTES;
    if (strlen(whole) + 3 > room || isdigit((unsigned char)*product)) return;
    (void)snprintf(add_spelling(m), room, "%.*s0.%s", before, whole, product);
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        if (strcmp(product, products[i][0]) == 0)
            (void)snprintf(add_spelling(m), room, "%.*s0.%s", before, whole,
                           products[i][1]);
}

/* Writes model.layers.N.mlp.NAME as layers.N.ffn.NAME, and self_attn as attn. */
static void spell_native(emp_module *m, const char *whole)
{
    static const char *const parts[][2] = {{".mlp.", ".ffn."}, {".self_attn.", ".attn."}};

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *at = strstr(whole, parts[i][0]);
        if (at == NULL || !begins(whole, plain)) continue;
        const char *from = whole + strlen(plain);
        (void)snprintf(add_spelling(m), EMP_MODULE_BYTES, "%.*s%s%s", (int)(at - from),
                       from, parts[i][1], at + strlen(parts[i][0]));
        return;
    }
}

emp_module emp_module_of_weight(const char *weight)
{
    emp_module   m = {.count = 0};
    char         whole[EMP_MODULE_BYTES];
    const size_t length = strlen(weight), ending = strlen(".weight");

    if (length < ending || length - ending >= sizeof whole ||
        strcmp(weight + length - ending, ".weight") != 0)
        return m;
    memcpy(whole, weight, length - ending);
    whole[length - ending] = '\0';
    memcpy(add_spelling(&m), whole, length - ending + 1);
    spell_native(&m, whole);
    spell_expert(&m, whole);
    return m;
}

/* A name of a config without "language_model."; \a room where it is written anew. */
static const char *without_tower(const char *name, char room[EMP_MODULE_BYTES])
{
    if (begins(name, tower)) return name + strlen(tower);
    if (!begins(name, inner) || strlen(name) >= EMP_MODULE_BYTES) return name;
    (void)snprintf(room, EMP_MODULE_BYTES, "%s%s", plain, name + strlen(inner));
    return room;
}

/* ---- lists ---- */

/* The regular expressions of Python that POSIX has, too; others match nothing. */
static bool matches_regex(const char *pattern, const emp_module *m)
{
    regex_t regex;
    bool    matches = false;

    if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0) return false;
    for (int32_t i = 0; i < m->count && !matches; i++)
        matches = regexec(&regex, m->spelling[i], 0, NULL, 0) == 0;
    regfree(&regex);
    return matches;
}

/* True if \a part is a run of whole components of the name. */
static bool has_components(const char *module, const char *part)
{
    const size_t length = strlen(part);

    for (const char *at = module; length > 0 && (at = strstr(at, part)) != NULL; at++)
        if ((at == module || at[-1] == '.') && (at[length] == '\0' || at[length] == '.'))
            return true;
    return false;
}

static bool matches(const char *name, const emp_module *m)
{
    char        room[EMP_MODULE_BYTES];
    const char *pattern = without_tower(name, room);
    const bool  is_pattern = strpbrk(pattern, "*?[") != NULL;

    if (strncmp(name, "re:", 3) == 0) return matches_regex(name + 3, m);
    for (int32_t i = 0; i < m->count; i++)
        if (is_pattern ? fnmatch(pattern, m->spelling[i], 0) == 0
                       : has_components(m->spelling[i], pattern))
            return true;
    return false;
}

bool emp_module_is_listed(const emp_json *list, const emp_module *module)
{
    for (const emp_json *i = emp_json_first(list); i != NULL; i = emp_json_next(i)) {
        const char *name = emp_json_string(i);
        if (name != NULL && matches(name, module)) return true;
    }
    return false;
}

/* ---- tables ---- */

/* True if the module is the named one or lies in it. Copies nothing: tables have entries by the ten thousand. */
static bool is_within(const char *module, const char *name)
{
    if (begins(name, tower)) {
        name += strlen(tower);
    } else if (begins(name, inner)) {
        if (!begins(module, plain)) return false;
        name += strlen(inner);
        module += strlen(plain);
    }
    while (*name != '\0' && *name == *module) {
        name++;
        module++;
    }
    return *name == '\0' && (*module == '\0' || *module == '.');
}

const emp_json *emp_module_find(const emp_json *object, const emp_module *module)
{
    for (const emp_json *i = emp_json_first(object); i != NULL; i = emp_json_next(i)) {
        const char *name = emp_json_key(i);
        for (int32_t s = 0; name != NULL && s < module->count; s++)
            if (is_within(module->spelling[s], name)) return i;
    }
    return NULL;
}
