// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/models/hf.h"

#include <stdio.h>
#include <string.h>

#include "base/io/input.h"
#include "base/mem.h"
#include "base/text/file.h"
#include "base/text/spec.h"
#include "graphs/import/models/config.h"
#include "graphs/import/models/gguf_model.h"
#include "graphs/import/models/quantised.h"
#include "graphs/import/models/safetensors.h"
#include "graphs/transformer/build.h"

enum { SEQUENCE_DEFAULT = 2048 };

static const char prefix[] = "hf:";

typedef struct {
    int32_t phase, batch, sequence, dtype, optimizer, master;
} hf_values;

static const emp_option options[] = {
    EMP_WORD_OPTION("phase", hf_values, phase, EMP_TRANSFORMER_PHASE_WORDS,
                    "a training step, the reading of prompts, or one token more",
                    EMP_PHASE_TRAIN),
    EMP_INTEGER_OPTION("batch", hf_values, batch, 1, 1 << 20, "sequences", 8),
    EMP_INTEGER_OPTION(
        "seq", hf_values, sequence, 0, 1 << 24,
        "tokens of a sequence; 0 = 2048, or the model's positions if fewer", 0),
    EMP_WORD_OPTION("dtype", hf_values, dtype, "config|fp32|fp16|bf16",
                    "element type of weights and activations", 0),
    EMP_WORD_OPTION("optimizer", hf_values, optimizer, EMP_TRANSFORMER_UPDATE_WORDS,
                    "what updates the weights", EMP_UPDATE_ADAM),
    EMP_INTEGER_OPTION("master", hf_values, master, 0, 1,
                       "whether Adam keeps float32 copies of weights of another type", 1),
    EMP_NO_OPTION};

const emp_option *emp_hf_options(void) { return options; }

bool emp_hf_is_spec(const char *source)
{
    return strcmp(source, "hf") == 0 || strncmp(source, prefix, sizeof prefix - 1) == 0;
}

/* Texts of a spec. */
enum { PATH, WEIGHTS };

static const char *const text_keys[] = {"path=", "weights=", NULL};

static emp_status cut_spec(emp_spec_parts *parts, const char *spec, emp_error *err)
{
    EMP_CHECK(emp_spec_cut(parts, spec, text_keys, err));
    if (parts->text[PATH][0] != '\0') return EMP_OK;
    return EMP_ERROR(
        EMP_EINVAL,
        "hf needs the path of a config, as in hf:path=config.json,phase=train");
}

/* ---- the step ---- */

static emp_dtype dtype_of(const hf_values *v, emp_dtype of_config)
{
    static const emp_dtype given[] = {EMP_DTYPE_NONE, EMP_DTYPE_FLOAT, EMP_DTYPE_HALF,
                                      EMP_DTYPE_BFLOAT16};

    if (v->dtype > 0) return given[v->dtype];
    return of_config != EMP_DTYPE_NONE ? of_config : EMP_DTYPE_FLOAT;
}

static emp_transformer_step step_of(const hf_values *v, const emp_transformer_model *m,
                                    emp_dtype of_config)
{
    emp_transformer_step step = {.phase = (emp_transformer_phase)v->phase,
                                 .batch = v->batch,
                                 .sequence = v->sequence,
                                 .dtype = dtype_of(v, of_config),
                                 .update = (emp_transformer_update)v->optimizer,
                                 .has_master = v->master != 0};

    if (step.sequence > 0) return step;
    step.sequence = SEQUENCE_DEFAULT;
    if (m->positions > 0 && m->positions < SEQUENCE_DEFAULT) step.sequence = m->positions;
    return step;
}

static emp_status build(emp_graph **out, const emp_json *config, const hf_values *v,
                        const emp_weight_types *types, emp_error *err)
{
    emp_status            st = EMP_OK;
    emp_transformer_model m = {0};
    emp_dtype             dtype;
    emp_quantised         quantised = emp_quantised_read(config);
    emp_weight_types      of_config = {emp_quantised_find_type, &quantised};

    EMP_TRY(emp_config_read(&m, &dtype, config, err));
    emp_transformer_step step = step_of(v, &m, dtype);
    /* weights that are trained, and those of a type that is asked for, are not quantised */
    if (types == NULL && v->dtype == 0 && step.phase != EMP_PHASE_TRAIN)
        types = &of_config;
    EMP_TRY(emp_transformer_graph_create(out, &m, &step, types, err));

cleanup:
    emp_transformer_model_clear(&m);
    return st;
}

emp_status emp_hf_build_config(emp_graph **out, const emp_json *config, emp_error *err)
{
    const emp_option_table table = {"hf", NULL, options};
    hf_values              v;

    *out = NULL;
    EMP_CHECK(emp_options_parse(&v, &table, NULL, NULL, err));
    return build(out, config, &v, NULL, err);
}

/* ---- GGUF files ---- */

/* Whether the spec says nothing of a key that is another thing than of a config. */
static void adapt_to_gguf(hf_values *v, const char *given)
{
    if (strstr(given, "phase=") == NULL) v->phase = EMP_PHASE_DECODE;
    if (strstr(given, "batch=") == NULL) v->batch = 1;
}

static emp_status build_gguf(emp_graph **out, const emp_gguf *h, const hf_values *v,
                             emp_error *err)
{
    emp_status            st = EMP_OK;
    emp_transformer_model m = {0};
    emp_weight_types      types = {emp_gguf_find_type, h};
    emp_graph            *graph = NULL;

    EMP_TRY(emp_gguf_model_read(&m, h, err));
    if (v->phase == EMP_PHASE_TRAIN)
        EMP_FAIL(EMP_EUNSUPPORTED,
                 "weights of a GGUF file are not trained; its phases are "
                 "prefill and decode");
    if (v->phase == EMP_PHASE_PREFILL && m.has_split_matrix)
        EMP_FAIL(EMP_EUNSUPPORTED,
                 "a prompt by matrices of keys and values that are apart; "
                 "the phase is decode");
    emp_transformer_step step = step_of(v, &m, EMP_DTYPE_HALF);
    EMP_TRY(emp_transformer_graph_create(&graph, &m, &step, &types, err));
    EMP_TRY(emp_gguf_check_used(h, m.layer_count, err));
    *out = graph;
    graph = NULL;

cleanup:
    emp_graph_destroy(graph);
    emp_transformer_model_clear(&m);
    return st;
}

static emp_status load_gguf(emp_graph **out, const char *path, const hf_values *v,
                            emp_error *err)
{
    emp_gguf   h = {0};
    emp_error  reason = {0};
    emp_status st = emp_gguf_load(&h, path, err);

    if (st == EMP_OK) {
        st = build_gguf(out, &h, v, &reason);
        if (st != EMP_OK)
            (void)emp_error_set(err, st, reason.file, reason.line, "%s: %s", path,
                                reason.msg);
    }
    emp_gguf_clear(&h);
    return st;
}

emp_status emp_hf_build_gguf(emp_graph **out, const char *path, emp_error *err)
{
    const emp_option_table table = {"hf", NULL, options};
    hf_values              v;

    *out = NULL;
    EMP_CHECK(emp_options_parse(&v, &table, NULL, NULL, err));
    adapt_to_gguf(&v, "");
    return load_gguf(out, path, &v, err);
}

/* Whether a file begins as GGUF does; false if it cannot be read. */
static bool is_gguf_file(const char *path)
{
    char   first[4] = {0};
    FILE  *file;
    size_t got = 0;

    if (emp_input_open(&file, path, NULL) != EMP_OK) return false;
    got = fread(first, 1, sizeof first, file);
    (void)fclose(file);
    return emp_gguf_is(first, got);
}

/* ---- specs ---- */

/* A config may be packed by gzip, as every other file of a graph. */
static emp_status load_config(emp_json_document *config, const char *path, emp_error *err)
{
    emp_error  reason = {0};
    char      *bytes = NULL;
    size_t     size;
    emp_status st = emp_file_load(path, &bytes, &size, &reason);

    if (st == EMP_OK) st = emp_json_parse(config, bytes, size, &reason);
    if (st != EMP_OK)
        st = emp_error_set(err, st, reason.file, reason.line, "%s: %s", path, reason.msg);
    emp_free(bytes);
    return st;
}

static emp_status build_parts(emp_graph **out, const emp_spec_parts *parts,
                              emp_error *err)
{
    emp_status             st = EMP_OK;
    const emp_option_table table = {"hf", NULL, options};
    hf_values              v;
    emp_json_document      config = {0};
    emp_safetensors        weights = {0};
    emp_error              reason = {0};

    EMP_TRY(emp_options_parse(&v, &table, NULL, parts->rest, err));
    if (is_gguf_file(parts->text[PATH])) {
        adapt_to_gguf(&v, parts->rest);
        return load_gguf(out, parts->text[PATH], &v, err);
    }
    EMP_TRY(load_config(&config, parts->text[PATH], err));
    if (parts->text[WEIGHTS][0] != '\0')
        EMP_TRY(emp_safetensors_load(&weights, parts->text[WEIGHTS], err));
    emp_weight_types types = {emp_safetensors_find_type, &weights};
    st = build(out, config.root, &v, parts->text[WEIGHTS][0] != '\0' ? &types : NULL,
               &reason);
    if (st != EMP_OK)
        st = emp_error_set(err, st, reason.file, reason.line, "%s: %s", parts->text[PATH],
                           reason.msg);

cleanup:
    emp_safetensors_clear(&weights);
    emp_json_clear(&config);
    return st;
}

emp_status emp_hf_build(emp_graph **out, const char *spec, emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_spec_parts *parts = EMP_NEW(emp_spec_parts);

    *out = NULL;
    if (parts == NULL) EMP_FAIL(EMP_ENOMEM, "the parts of a spec");
    EMP_TRY(cut_spec(parts, spec, err));
    EMP_TRY(build_parts(out, parts, err));

cleanup:
    emp_free(parts);
    return st;
}
