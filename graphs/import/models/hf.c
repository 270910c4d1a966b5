// SPDX-License-Identifier: GPL-3.0-or-later
/* Hugging Face's models: a config, "hf:path=config.json,phase=train,batch=8,seq=2048,dtype=bf16", or a
 * GGUF file, whose weights keep their types. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text/units.h"
#include "graphs/import/models/families.h"
#include "graphs/import/models/gguf.h"
#include "graphs/import/models/quantised.h"
#include "graphs/import/models/safetensors.h"
#include "graphs/import/notes/readers.h"
#include "graphs/transformer/stack.h"

/* The default of llama.cpp, whose files GGUF files are. */
enum { GGUF_MICRO_BATCH = 512, GGUF_CACHE_GRANULE = 256, PATH_BYTES = 4096 };

/* The text of a spec behind the path. */
enum { WEIGHTS = 1 };

typedef struct {
    int32_t phase, batch, sequence, source, micro_batch, dtype, quant, sample, optimizer,
        master;
    int32_t update, cache, cache_dtype, home, ahead, checkpointing;
} hf_values;

_Static_assert(sizeof(hf_values) <= EMP_READING_VALUES_BYTES, "values of a spec");

const emp_option emp_hf_options[] = {
    EMP_WORD_OPTION("phase", hf_values, phase, EMP_TRANSFORMER_PHASE_WORDS,
                    "a training step, the reading of prompts, or one token more",
                    EMP_PHASE_TRAIN),
    EMP_INTEGER_OPTION("batch", hf_values, batch, 1, 1 << 20, "sequences", 8),
    EMP_INTEGER_OPTION(
        "seq", hf_values, sequence, 0, 1 << 24,
        "tokens of a sequence; 0 = 2048, or the model's positions if fewer", 0),
    EMP_INTEGER_OPTION("source", hf_values, source, 0, 1 << 24,
                       "tokens that the encoder reads of a sequence, if the model has an "
                       "encoder beside a decoder; 0 = 2048, or its positions if fewer",
                       0),
    EMP_INTEGER_OPTION(
        "ubatch", hf_values, micro_batch, -1, 1 << 24,
        "tokens of a micro-batch of prompts; 0 = all, -1 = 512 of a GGUF file, else all",
        -1),
    EMP_WORD_OPTION("dtype", hf_values, dtype, "config|fp32|fp16|bf16",
                    "element type of weights and activations", 0),
    EMP_WORD_OPTION("quant", hf_values, quant, "config|" EMP_QUANTISED_WORDS,
                    "how the weights of prompts and tokens are stored", 0),
    EMP_WORD_OPTION("sample", hf_values, sample, "auto|host|device|top-p",
                    "where the next token is drawn: on the host of a GGUF file's "
                    "program, on the device of any other; top-p: there, from sorted "
                    "probabilities",
                    0),
    EMP_WORD_OPTION("optimizer", hf_values, optimizer, EMP_TRANSFORMER_UPDATE_WORDS,
                    "what updates the weights", EMP_UPDATE_ADAM),
    EMP_INTEGER_OPTION("master", hf_values, master, 0, 1,
                       "whether Adam keeps float32 copies of weights of another type", 1),
    EMP_WORD_OPTION("update", hf_values, update, "device|host",
                    "where Adam's states are and the update is done: on the device of a "
                    "weight, or by a CPU, which takes gradients and sends weights",
                    0),
    EMP_INTEGER_OPTION("checkpointing", hf_values, checkpointing, 0, 1,
                       "whether a layer of a training step keeps only its input, and "
                       "runs again for its gradients",
                       0),
    EMP_WORD_OPTION("cache", hf_values, cache, "device|host",
                    "the memory of keys and values: that of attention's device, or a "
                    "host's, from which they are streamed",
                    0),
    EMP_WORD_OPTION("cache_dtype", hf_values, cache_dtype, EMP_CACHE_DTYPE_WORDS,
                    "element type of cached keys and values; auto: that of activations",
                    0),
    EMP_WORD_OPTION(
        "home", hf_values, home, EMP_WEIGHT_HOME_WORDS,
        "the memory of matrices: their device's, a host's, from which they are "
        "streamed, or as a placement says for each",
        EMP_HOME_READER),
    EMP_INTEGER_OPTION("ahead", hf_values, ahead, -1, EMP_AHEAD_MAX,
                       "layers whose weights are streamed before their turn; -1 = 0 of a "
                       "GGUF file, else 1",
                       -1),
    EMP_NO_OPTION};

/* Values of "sample". */
enum { SAMPLE_AUTO, SAMPLE_ON_HOST, SAMPLE_ON_DEVICE, SAMPLE_TOP_P };

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
                                 .source = v->source,
                                 .micro_batch = v->micro_batch > 0 ? v->micro_batch : 0,
                                 .dtype = dtype_of(v, of_config),
                                 .update = (emp_transformer_update)v->optimizer,
                                 .samples_on_host = v->sample == SAMPLE_ON_HOST,
                                 .samples_top_p = v->sample == SAMPLE_TOP_P,
                                 .has_master = v->master != 0,
                                 .updates_on_host = v->update != 0,
                                 .caches_on_host = v->cache != 0,
                                 .cache_dtype = emp_cache_dtype_of(v->cache_dtype),
                                 .recomputes = v->checkpointing != 0,
                                 .home = (emp_weight_home)v->home,
                                 .ahead = v->ahead >= 0 ? v->ahead : 1};

    if (step.sequence == 0) step.sequence = emp_transformer_sequence(m);
    if (step.source == 0 && m->encoder != NULL)
        step.source = m->encoder->sound_size > 0 ? m->encoder->positions
                                                 : emp_transformer_sequence(m->encoder);
    return step;
}

/* Weights that count in another type than the config has them stored in. A type that the spec asks
 * for, or that a file of weights has, is no surprise. */
static void note_quantised(emp_import_notes *notes, const emp_quantised *q,
                           const emp_transformer_step *step, const emp_graph *graph)
{
    char size[32];

    if (q->method[0] == '\0') return;
    emp_units_format_bytes(graph->parameter_bytes, size, sizeof size);
    if (step->phase == EMP_PHASE_TRAIN)
        emp_import_notes_warn(notes,
                              "a training step holds weights as %s, %s in all: their "
                              "quantization (%s) is left out",
                              emp_dtype_name(step->dtype), size, q->method);
    else if (!q->is_read)
        emp_import_notes_warn(
            notes,
            "weights are quantized in a way that is not read (%s): they "
            "count as %s, %s in all",
            q->method, emp_dtype_name(step->dtype), size);
}

/* ---- hf_quant_config.json ---- */

/* The file that modelopt writes beside a config whose own members do not say how its weights are stored. */
typedef struct {
    char              path[PATH_BYTES];
    emp_json_document document; /* without a root: there is no such file */
} quant_file;

/* A type that the spec asks for leaves the file unread. */
static emp_status read_quant_file(quant_file *q, const emp_reading *r, emp_error *err)
{
    const hf_values *v = (const hf_values *)r->values;

    if (v->quant > 0 || v->dtype > 0) return EMP_OK;
    return emp_quantised_load_beside(&q->document, q->path, sizeof q->path, r->path,
                                     r->json, err);
}

static const emp_json *quantization_of(const quant_file *q)
{
    return emp_quantised_of_file(&q->document);
}

static void note_quant_file(emp_import_notes *notes, const quant_file *q,
                            const emp_quantised *quantised)
{
    if (q->document.root == NULL) return;
    if (quantization_of(q) == NULL)
        emp_import_notes_warn(notes,
                              "%s has no \"quantization\" as modelopt writes it, so that "
                              "it changes nothing",
                              q->path);
    else if (quantised->is_read)
        emp_import_notes_assume(notes, "weights are stored as %s says (%s)", q->path,
                                quantised->method);
}

/* Warns of a cache in 8 bits that the config asks for: a step holds keys and values as the spec says. */
static void note_cache(emp_import_notes *notes, const emp_quantised *q,
                       const emp_transformer_step *step)
{
    static const char *const keys[] = {"kv_cache_scheme", "kv_cache_quant_algo"};

    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        const emp_json *scheme = emp_json_get(q->object, keys[k]);
        const char     *name = emp_json_string(scheme);
        const int64_t   bits = emp_json_integer(emp_json_get(scheme, "num_bits"));
        char            scheme_text[32];
        if ((bits <= 0 && name == NULL) || step->cache_dtype != EMP_DTYPE_NONE) continue;
        if (name != NULL)
            snprintf(scheme_text, sizeof scheme_text, "%.24s", name);
        else
            snprintf(scheme_text, sizeof scheme_text, "%" PRId64 " bits", bits);
        emp_import_notes_warn(notes,
                              "keys and values are cached as %s: \"%s\" (%s) is left "
                              "out; cache_dtype=fp8 takes 8 bits",
                              emp_dtype_name(step->dtype), keys[k], scheme_text);
        return;
    }
}

static void note_odd(emp_import_notes *notes, int32_t odd, const emp_quantised *q,
                     const emp_transformer_step *step)
{
    if (odd == 0) return;
    emp_import_notes_warn(notes,
                          "%d matrices have rows that are no whole groups of their "
                          "quantization (%s): they count as %s",
                          odd, q->method, emp_dtype_name(step->dtype));
}

/* ---- files of weights ---- */

/* Weights of a config that are looked up in a file. */
typedef struct {
    const emp_safetensors *file; /* NULL: there is none */
    const emp_quantised
            *otherwise; /* for those that it has packed or not at all; or NULL */
    int32_t *asked, *found;
} weights_in_file;

/* The type of the file's tensor, unless that is a part of what a quantisation makes of a weight. */
static emp_status find_in_file(const void *context, const char *name,
                               const emp_shape *shape, emp_dtype *dtype, emp_error *err)
{
    const weights_in_file *w = context;
    const emp_safetensor  *t = emp_safetensors_find(w->file, name);
    emp_dtype              type = EMP_DTYPE_NONE;

    ++*w->asked;
    *w->found += t != NULL;
    if (w->otherwise != NULL && (t == NULL || !emp_dtype_is_float(t->dtype)))
        EMP_CHECK(emp_quantised_find_type(w->otherwise, name, shape, &type, err));
    if (type == EMP_DTYPE_NONE)
        return emp_safetensors_find_type(w->file, name, shape, dtype, err);
    *dtype = type;
    return EMP_OK;
}

static emp_status build(emp_graph **out, emp_reading *r, const quant_file *beside,
                        weights_in_file *file, emp_error *err)
{
    emp_status            st = EMP_OK;
    emp_transformer_model m = {0};
    emp_import_notes     *notes = r->notes;
    const hf_values      *v = (const hf_values *)r->values;
    emp_dtype             dtype;
    int32_t               odd = 0;
    emp_quantised     quantised = emp_quantised_read(r->json, quantization_of(beside));
    emp_weight_types  of_config = {emp_quantised_find_type, &quantised};
    emp_weight_types  of_file = {find_in_file, file};
    emp_weight_types *types = file->file != NULL ? &of_file : NULL;

    EMP_TRY(emp_config_read(&m, &dtype, r->json, err));
    if (dtype == EMP_DTYPE_NONE && quantization_of(beside) != NULL)
        dtype = EMP_DTYPE_BFLOAT16;
    quantised.model = &m;
    if (v->quant > 0) quantised = emp_quantised_named(v->quant - 1, &m);
    emp_transformer_step step = step_of(v, &m, dtype);
    /* trained weights, and weights of a type that is asked for, are not quantised */
    quantised.odd = &odd;
    if (v->quant > 0 && step.phase == EMP_PHASE_TRAIN)
        EMP_FAIL(EMP_EUNSUPPORTED,
                 "quant is for phase=prefill and phase=decode; a training step has "
                 "weights that it updates");
    if (v->dtype == 0 && step.phase != EMP_PHASE_TRAIN) file->otherwise = &quantised;
    if (v->quant > 0 || (types == NULL && v->dtype == 0 && step.phase != EMP_PHASE_TRAIN))
        types = &of_config;
    EMP_TRY(emp_transformer_graph_create(out, &m, &step, types, err));
    if (v->quant == 0 && v->dtype == 0 && (types == NULL || types == &of_config))
        note_quantised(notes, &quantised, &step, *out);
    if (step.phase == EMP_PHASE_DECODE && m.encoder != NULL)
        emp_import_notes_assume(notes,
                                "the encoder has read %" PRId64
                                " tokens before: its weights are no part of the step",
                                step.source);
    if (step.phase != EMP_PHASE_TRAIN) note_quant_file(notes, beside, &quantised);
    note_odd(notes, odd, &quantised, &step);
    if (step.phase != EMP_PHASE_TRAIN) note_cache(notes, &quantised, &step);
    emp_towers_note(notes, r->json, step.dtype);

cleanup:
    emp_transformer_model_clear(&m);
    return st;
}

/* ---- GGUF files ---- */

/* True if the spec's list of options names the key. */
static bool names_key(const char *given, const char *key)
{
    const size_t length = strlen(key);

    for (const char *at = given; *at != '\0'; at += *at == ',') {
        if (strncmp(at, key, length) == 0 && at[length] == '=') return true;
        at += strcspn(at, ",");
    }
    return false;
}

/* Sets the defaults that differ from those of a config. */
static void adapt_to_gguf(hf_values *v, const char *given)
{
    if (!names_key(given, "phase")) v->phase = EMP_PHASE_DECODE;
    if (!names_key(given, "batch")) v->batch = 1;
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
    if (v->sample == SAMPLE_AUTO) step.samples_on_host = true;
    if (v->ahead < 0) step.ahead = 0;
    if (v->micro_batch < 0 && step.phase == EMP_PHASE_PREFILL &&
        emp_transformer_has_plain_keys(&m))
        step.micro_batch = GGUF_MICRO_BATCH;
    step.cache_granule = GGUF_CACHE_GRANULE;
    step.window_spare = v->micro_batch > 0 ? v->micro_batch : GGUF_MICRO_BATCH;
    EMP_TRY(emp_transformer_graph_create(&graph, &m, &step, &types, err));
    EMP_TRY(emp_gguf_check_used(h, m.layer_count, err));
    *out = graph;
    graph = NULL;

cleanup:
    emp_graph_destroy(graph);
    emp_transformer_model_clear(&m);
    return st;
}

emp_status emp_gguf_load(emp_graph **out, emp_reading *r, emp_error *err)
{
    hf_values v = *(const hf_values *)r->values;
    emp_gguf  h = {0};

    if (v.quant > 0 || r->spec->text[WEIGHTS][0] != '\0')
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "quant and weights are for a config: the header of a GGUF file "
                         "says how its weights are stored");
    emp_status st = emp_gguf_header_read(&h, r->file, err);
    adapt_to_gguf(&v, r->spec->rest);
    if (st == EMP_OK) st = emp_gguf_parts_read(&h, r->path, err);
    if (st == EMP_OK) st = build_gguf(out, &h, &v, err);
    emp_gguf_clear(&h);
    return st;
}

/* ---- configs ---- */

static void note_missing(emp_import_notes *notes, const weights_in_file *w,
                         const char *path)
{
    if (*w->found == *w->asked) return;
    if (*w->found == 0)
        emp_import_notes_warn(
            notes,
            "%s: none of its %d tensors has the name of a weight of the "
            "config, so that it changes nothing",
            path, w->file->count);
    else
        emp_import_notes_warn(notes,
                              "%s: it has %d of the %d weights of the config; the others "
                              "are stored as the config says",
                              path, *w->found, *w->asked);
}

emp_status emp_config_load(emp_graph **out, emp_reading *r, emp_error *err)
{
    emp_status      st = EMP_OK;
    const char     *path = r->spec->text[WEIGHTS];
    emp_safetensors weights = {0};
    int32_t         asked = 0, found = 0;
    weights_in_file in_file = {.asked = &asked, .found = &found};
    quant_file      beside = {.document = {0}};

    if (path[0] != '\0') {
        EMP_TRY(emp_safetensors_load(&weights, path, err));
        in_file.file = &weights;
    }
    EMP_TRY(read_quant_file(&beside, r, err));
    EMP_TRY(build(out, r, &beside, &in_file, err));
    if (path[0] != '\0' && asked == 0)
        emp_import_notes_warn(
            r->notes, "%s changes nothing: quant= says how all weights are stored", path);
    else
        note_missing(r->notes, &in_file, path);

cleanup:
    emp_json_clear(&beside.document);
    emp_safetensors_clear(&weights);
    return st;
}
