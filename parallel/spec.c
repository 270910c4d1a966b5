// SPDX-License-Identifier: GPL-3.0-or-later
#include "parallel/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/nearest.h"
#include "base/text/text.h"
#include "graphs/import/models/quantised.h"
#include "graphs/workloads/workloads.h"

enum { TEXT_BYTES = 4096, CHUNK_DEFAULT = 2048 };

const emp_option emp_serving_options[] = {
    EMP_WORD_OPTION("phase", emp_serving, phase, EMP_TRANSFORMER_PHASE_WORDS,
                    "a training step, the reading of prompts, or one token more",
                    EMP_PHASE_TRAIN),
    EMP_WORD_OPTION("quant", emp_serving, quant, "config|" EMP_QUANTISED_WORDS,
                    "how weights are stored", 0),
    EMP_WORD_OPTION("cache_dtype", emp_serving, cache_dtype, EMP_CACHE_DTYPE_WORDS,
                    "element type of cached keys and values; auto: that of activations",
                    0),
    EMP_INTEGER_OPTION("ubatch", emp_serving, chunk, 1, 1 << 20,
                       "tokens of prompts that the server reads together", CHUNK_DEFAULT),
    EMP_NO_OPTION};

/* ---- items ---- */

/* "key=value" of a spec; neither is terminated. */
typedef struct {
    const char *key, *value;
    size_t      key_length, value_length;
} item;

/* Takes the item at \a *at, and moves behind it. \return false at the end. */
static bool next_item(item *i, const char **at)
{
    if (**at == '\0') return false;
    const size_t length = strcspn(*at, ",");
    i->key = *at;
    i->key_length = strcspn(*at, "=,");
    i->value = *at + i->key_length + (i->key_length < length);
    i->value_length = length - (size_t)(i->value - i->key);
    *at += length + ((*at)[length] == ',');
    return true;
}

static bool is_key(const item *i, const char *key)
{
    return strlen(key) == i->key_length && memcmp(key, i->key, i->key_length) == 0;
}

static int32_t find_key(const item *i, const emp_option *list)
{
    for (int32_t k = 0; list[k].name != NULL; k++)
        if (is_key(i, list[k].name)) return k;
    return -1;
}

static int32_t find_degree(const item *i) { return find_key(i, emp_degrees_options); }

/* Where the items begin: behind the colon, if what is before it is no path with one. */
static const char *items_of(const char *text)
{
    const char *colon = strchr(text, ':');

    return colon == NULL ? text + strlen(text) : colon + 1;
}

bool emp_parallel_spec_is(const char *text)
{
    const char *at = items_of(text);
    item        i;

    if (strncmp(text, "hf:", 3) != 0 && strncmp(text, "transformer:", 12) != 0 &&
        !emp_parallel_model_is(text, strcspn(text, ":")))
        return false;
    while (next_item(&i, &at)) {
        if (is_key(&i, "seq") || is_key(&i, "dtype") || is_key(&i, "home") ||
            is_key(&i, "update"))
            continue; /* of other specs, too */
        if (find_degree(&i) >= 0 || is_key(&i, "stages") || is_key(&i, "loads"))
            return true;
    }
    return false;
}

bool emp_parallel_spec_has(const emp_parallel_spec *spec, const char *key)
{
    for (int32_t k = 0; emp_degrees_options[k].name != NULL; k++)
        if (strcmp(emp_degrees_options[k].name, key) == 0)
            return (spec->given >> k & 1) != 0;
    return false;
}

/* ---- reading ---- */

typedef struct {
    emp_parallel_spec *spec;
    const char        *text;
    char               model[TEXT_BYTES], degrees[TEXT_BYTES], sizes[TEXT_BYTES];
    char               serving[TEXT_BYTES];
    int32_t            layers;
    bool               is_by_sizes; /* a transformer by its sizes; else a config */
} reader;

static emp_status copy(char *to, size_t size, const item *i, emp_error *err)
{
    if (i->value_length == 0 || i->value_length >= size)
        return EMP_ERROR(EMP_EINVAL, "%.*s= wants a value of at most %zu characters",
                         (int)i->key_length, i->key, size - 1);
    memcpy(to, i->value, i->value_length);
    to[i->value_length] = '\0';
    return EMP_OK;
}

static emp_status read_number(int32_t *to, const item *i, int32_t most, emp_error *err)
{
    char text[32], *end;
    long value;

    EMP_CHECK(copy(text, sizeof text, i, err));
    value = strtol(text, &end, 10);
    if (*end != '\0' || value < 1 || value > most)
        return EMP_ERROR(EMP_EINVAL, "%.*s=%s, want 1 to %d", (int)i->key_length, i->key,
                         text, most);
    *to = (int32_t)value;
    return EMP_OK;
}

static emp_status refuse(const item *i, emp_error *err)
{
    static const char others[] = "path, layers, batch, stages, loads";
    char              names[512], hint[EMP_NEAREST_BYTES];
    emp_text          known = {names, sizeof names, 0};
    emp_nearest       near = emp_nearest_begin(i->key, i->key_length, "");

    for (const emp_option *o = emp_degrees_options; o->name != NULL; o++) {
        emp_text_add(&known, ", %s", o->name);
        emp_nearest_offer(&near, o->name, strlen(o->name));
    }
    for (const emp_option *o = emp_serving_options; o->name != NULL; o++) {
        emp_text_add(&known, ", %s", o->name);
        emp_nearest_offer(&near, o->name, strlen(o->name));
    }
    return EMP_ERROR(EMP_EINVAL,
                     "a model that is spread over GPUs has no key \"%.*s\"%s; "
                     "it has %s%s",
                     (int)i->key_length, i->key, emp_nearest_hint(&near, hint), others,
                     names);
}

static bool is_yaml(const item *i)
{
    return i->value_length > 5 && memcmp(i->value + i->value_length - 5, ".yaml", 5) == 0;
}

/* "stages=12,14" is two items, of which the second is a number. */
static bool continues_stages(const reader *r, const item *i)
{
    return r->spec->degrees.stages[0] != '\0' && i->value_length == 0 &&
           strspn(i->key, "0123456789") >= i->key_length && i->key_length > 0;
}

static emp_status add_stage(reader *r, const item *i, emp_error *err)
{
    char        *stages = r->spec->degrees.stages;
    const size_t used = strlen(stages);

    if (used + i->key_length + 2 > EMP_STAGES_BYTES)
        return EMP_ERROR(EMP_EINVAL, "stages= wants a value of at most %d characters",
                         EMP_STAGES_BYTES - 1);
    snprintf(stages + used, EMP_STAGES_BYTES - used, "/%.*s", (int)i->key_length, i->key);
    return EMP_OK;
}

static bool is_value(const item *i, const char *value)
{
    return strlen(value) == i->value_length &&
           memcmp(value, i->value, i->value_length) == 0;
}

static void append(char *text, const item *i)
{
    emp_text to = {text, TEXT_BYTES, strlen(text)};

    emp_text_add(&to, "%s%.*s=%.*s", to.used > 0 ? "," : "", (int)i->key_length, i->key,
                 (int)i->value_length, i->value);
}

/* Keys of other specs whose values say what holds here in any case. */
static bool says_default(const item *i)
{
    return (is_key(i, "optimizer") && is_value(i, "adam")) ||
           (is_key(i, "master") && is_value(i, "1")) ||
           (is_key(i, "dtype") && is_value(i, "config"));
}

/* A later value would win in silence. Further numbers of stages= have no value. */
static bool is_repeated(const reader *r, const item *i)
{
    const char *at = items_of(r->text);
    item        before;

    while (i->value_length > 0 && next_item(&before, &at) && before.key < i->key)
        if (before.key_length == i->key_length &&
            memcmp(before.key, i->key, i->key_length) == 0)
            return true;
    return false;
}

static emp_status take(reader *r, const item *i, emp_error *err)
{
    const int32_t degree = find_degree(i);

    if (is_repeated(r, i))
        return EMP_ERROR(EMP_EINVAL, "%.200s: %.*s is given twice", r->text,
                         (int)i->key_length, i->key);
    if (says_default(i)) return EMP_OK;
    if (continues_stages(r, i)) return add_stage(r, i, err);
    if (find_key(i, emp_serving_options) >= 0) {
        append(r->serving, i);
        return EMP_OK;
    }
    if (is_key(i, "batch")) return read_number(&r->spec->batch, i, 1 << 24, err);
    if (is_key(i, "loads")) {
        char path[256];
        EMP_CHECK(copy(path, sizeof path, i, err));
        emp_expert_loads_clear(&r->spec->loads);
        return emp_expert_loads_load(&r->spec->loads, path, err);
    }
    if (is_key(i, "stages"))
        return copy(r->spec->degrees.stages, EMP_STAGES_BYTES, i, err);
    if (is_key(i, "schedule") && is_yaml(i))
        return copy(r->spec->schedule, sizeof r->spec->schedule, i, err);
    if (degree >= 0) {
        append(r->degrees, i);
        r->spec->given |= UINT32_C(1) << degree;
        if (!is_key(i, "seq")) return EMP_OK;
    }
    if (r->is_by_sizes) {
        append(r->sizes, i);
        return EMP_OK;
    }
    if (degree >= 0) return EMP_OK;
    if (is_key(i, "path") && r->model[0] != '\0')
        return EMP_ERROR(EMP_EINVAL,
                         "%.200s: a step in parallel has the key path behind "
                         "hf: only",
                         r->text);
    if (is_key(i, "path")) return copy(r->model, sizeof r->model, i, err);
    if (is_key(i, "layers"))
        return read_number(&r->layers, i, EMP_TRANSFORMER_LAYERS_MAX, err);
    return refuse(i, err);
}

/* Servers take the folder of a checkpoint, whose config has the name config.json. */
static void note_folder(const reader *r)
{
    static const char ending[] = "/config.json";

    if (emp_text_ends_in(r->model, ending) &&
        strlen(r->model) < sizeof r->spec->folder + strlen(ending))
        snprintf(r->spec->folder, sizeof r->spec->folder, "%.*s",
                 (int)(strlen(r->model) - strlen(ending)), r->model);
}

static emp_status read_model(reader *r, emp_error *err)
{
    if (r->is_by_sizes) return emp_workload_transformer(&r->spec->model, r->sizes, err);
    if (r->model[0] == '\0')
        return EMP_ERROR(EMP_EINVAL, "%.200s names no model; hf:path=config.json does",
                         r->text);
    note_folder(r);
    return emp_parallel_model_load(&r->spec->model, &r->spec->files, r->model, r->layers,
                                   err);
}

/* Keys of training say nothing of a model that is served, and the other way round. */
static emp_status check_phase(const emp_parallel_spec *spec, const char *serving,
                              emp_error *err)
{
    static const char both[] = "tp,pp,ep,etp,cp,dp,seq,home,first,last";

    if (!emp_parallel_spec_serves(spec) && strpbrk(serving, "=") != NULL &&
        strcmp(serving, "phase=train") != 0)
        return EMP_ERROR(EMP_EINVAL,
                         "quant, cache_dtype and ubatch are of a model that is served; "
                         "give the SPEC phase=decode or phase=prefill");
    if (!emp_parallel_spec_serves(spec)) return EMP_OK;
    for (int32_t k = 0; emp_degrees_options[k].name != NULL; k++)
        if ((spec->given >> k & 1) != 0 &&
            !emp_word_list_has(both, emp_degrees_options[k].name))
            return EMP_ERROR(
                EMP_EINVAL,
                "%s is a key of training; a model that is served has tp, "
                "pp, ep, etp, cp, dp, seq, batch, home, stages, first, last, "
                "quant, cache_dtype and ubatch",
                emp_degrees_options[k].name);
    if (spec->loads.share == NULL && spec->schedule[0] == '\0') return EMP_OK;
    return EMP_ERROR(EMP_EINVAL, "loads and schedule are keys of training; leave them "
                                 "out of a model that is served");
}

emp_status emp_parallel_spec_read(emp_parallel_spec *spec, const char *text,
                                  emp_error *err)
{
    static const emp_option_table table = {"a step in parallel", NULL,
                                           emp_degrees_options};
    static const emp_option_table serving = {"a model that is served", NULL,
                                             emp_serving_options};
    const char                   *at = items_of(text);
    reader                        r = {.spec = spec, .text = text};
    item                          i;
    char                          stages[EMP_STAGES_BYTES];

    if (strlen(text) >= TEXT_BYTES)
        return EMP_ERROR(EMP_EINVAL, "a spec of more than %d characters", TEXT_BYTES - 1);
    r.is_by_sizes =
        strncmp(text, "transformer", 11) == 0 && (text[11] == ':' || text[11] == '\0');
    if (!r.is_by_sizes && strncmp(text, "hf:", 3) != 0)
        snprintf(r.model, sizeof r.model, "%.*s", (int)strcspn(text, ":"), text);
    while (next_item(&i, &at)) EMP_CHECK(take(&r, &i, err));
    memcpy(stages, spec->degrees.stages, sizeof stages);
    EMP_CHECK(emp_options_parse(&spec->degrees, &table, NULL, r.degrees, err));
    memcpy(spec->degrees.stages, stages, sizeof stages);
    EMP_CHECK(emp_options_parse(&spec->serving, &serving, NULL, r.serving, err));
    EMP_CHECK(check_phase(spec, r.serving, err));
    EMP_CHECK(read_model(&r, err));
    if (emp_parallel_spec_serves(spec) && !emp_parallel_spec_has(spec, "seq"))
        spec->degrees.sequence = emp_transformer_sequence(&spec->model);
    return EMP_OK;
}

void emp_parallel_spec_clear(emp_parallel_spec *spec)
{
    emp_transformer_model_clear(&spec->model);
    emp_model_files_clear(&spec->files);
    emp_expert_loads_clear(&spec->loads);
}
