// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/load.h"

#include <ctype.h>
#include <malloc.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text/nearest.h"
#include "base/text/text.h"
#include "graphs/import/container.h"
#include "graphs/import/notes/readers.h"
#include "graphs/import/traces/kineto.h"
#include "graphs/sources.h"
#include "graphs/workloads/workloads.h"

/* ---- open files ---- */

/* A file with its content, or the header of it, and its format. */
typedef struct {
    emp_file                 file;
    emp_kineto               trace; /* with the document of JSON, whatever it is */
    emp_reading              reading;
    const emp_source_format *format;
} source_file;

/* A GraphDef may begin with a line feed and a brace, too. */
static bool is_json(emp_slice text)
{
    size_t i = 0;

    while (i < text.size && isspace((unsigned char)text.data[i])) i++;
    return i < text.size && (text.data[i] == '{' || text.data[i] == '[') &&
           emp_container_is_text(text);
}

static emp_status open_file(source_file *s, const char *path, emp_error *err)
{
    emp_reading *r = &s->reading;

    r->path = path;
    r->file = &s->file;
    EMP_CHECK(emp_file_open(&s->file, path, err));
    r->bytes = (emp_slice){s->file.bytes, s->file.size};
    s->format = emp_source_format_find(r, true);
    if (s->format != NULL) return EMP_OK;
    EMP_CHECK(emp_file_read(&s->file, EMP_FILE_ALL, err));
    r->bytes = (emp_slice){s->file.bytes, s->file.size};
    if (is_json(r->bytes)) {
        EMP_CHECK(emp_kineto_parse(&s->trace, &s->file.bytes, s->file.size, err));
        r->json = s->trace.document.root;
        r->trace = &s->trace;
    }
    s->format = emp_source_format_find(r, false);
    return EMP_OK;
}

static void close_file(source_file *s)
{
    emp_kineto_clear(&s->trace);
    emp_file_close(&s->file);
}

/* ---- reading files ---- */

/* By a reader that adds to a builder. */
static emp_status build(emp_graph **out, const emp_source_format *format, emp_reading *r,
                        emp_error *err)
{
    emp_status         st = EMP_OK;
    emp_graph_builder *builder = NULL;
    emp_graph         *graph = NULL;

    EMP_TRY(emp_graph_builder_create(&builder, err));
    EMP_TRY(format->read(builder, r, err));
    if (!format->marks_targets) emp_graph_builder_leave_targets(builder);
    EMP_TRY(emp_graph_builder_finish(builder, &graph, err));
    if (!format->marks_targets) EMP_TRY(emp_instance_set_targets(graph, err));
    *out = graph;
    graph = NULL;

cleanup:
    emp_graph_destroy(graph);
    emp_graph_builder_destroy(builder);
    return st;
}

/* The options of a file that is named without a spec. */
static emp_status set_defaults(void *values, const emp_source_format *format,
                               emp_error *err)
{
    const emp_source_prefix *prefix =
        format->prefix == NULL ? NULL : emp_source_prefix_of(format->prefix);

    if (prefix == NULL) return EMP_OK;
    const emp_option_table table = {prefix->name, NULL, prefix->options};
    return emp_options_parse(values, &table, NULL, NULL, err);
}

static emp_status refuse_folder(const char *path, emp_error *err)
{
    struct stat info;

    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) return EMP_OK;
    return EMP_ERROR(
        EMP_EIO, "a directory, not a graph file; of a SavedModel name saved_model.pb");
}

static emp_status read_file(emp_graph **out, const emp_source_prefix *prefix,
                            void *values, source_file *s, emp_error *err)
{
    emp_reading *r = &s->reading;

    EMP_CHECK(refuse_folder(r->path, err));
    EMP_CHECK(open_file(s, r->path, err));
    const emp_source_format *format = s->format;
    EMP_CHECK(emp_source_check(format, prefix, r, err));
    if (prefix == NULL) EMP_CHECK(set_defaults(values, format, err));
    EMP_CHECK(format->read != NULL ? build(out, format, r, err)
                                   : format->load(out, r, err));
    if (format->source != EMP_SOURCE_PROGRAM) (*out)->source = format->source;
    return r->params->targets == NULL ? EMP_OK
                                      : emp_targets_parse(*out, r->params->targets, err);
}

/* Reads the file that a spec, or its own path, names. Every message names the file, and none can upset
 * a terminal with what a file holds. */
static emp_status load_file(emp_graph **out, emp_import_devices *devices,
                            const char *path, const emp_source_prefix *prefix,
                            const emp_spec_parts *spec, void *values,
                            const emp_import_params *params, emp_error *err)
{
    emp_import_notes own = {0};
    emp_error        reason = {0};
    source_file      s = {.reading = {.path = path,
                                      .spec = spec,
                                      .values = values,
                                      .params = params,
                                      .devices = devices,
                                      .notes = params->notes != NULL ? params->notes : &own}};

    *out = NULL;
    *devices = (emp_import_devices){0};
    emp_status                     st = read_file(out, prefix, values, &s, &reason);
    const emp_source_format *const format = s.format;
    close_file(&s);
    emp_import_notes_clear(&own);
    if (st == EMP_OK) return EMP_OK;
    emp_graph_destroy(*out);
    *out = NULL;
    for (char *c = reason.msg; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || (unsigned char)*c >= '\x7f') *c = '?';
    const char *advice = emp_source_advice(format, st, reason.msg);
    if (advice != NULL &&
        strlen(path) + strlen(reason.msg) + strlen(advice) + 5 > EMP_ERROR_MSG_BYTES)
        advice = NULL; /* what is wrong is not to be cut off */
    return emp_error_set(err, st, reason.file, reason.line, "%s: %s%s%s", path,
                         reason.msg, advice != NULL ? "; " : "",
                         advice != NULL ? advice : "");
}

/* ---- specs ---- */

/* Values of options, of any table. */
typedef union {
    int64_t align;
    char    bytes[EMP_READING_VALUES_BYTES];
} spec_values;

emp_status emp_import_load(emp_graph **out, emp_import_devices *devices, const char *path,
                           const emp_import_params *params, emp_error *err)
{
    static const emp_spec_parts nothing;
    emp_import_devices          own;
    spec_values                 values = {0};

    if (params->batch_hint < 1)
        return EMP_ERROR(EMP_EINVAL, "%s: a batch hint of %lld, need at least 1", path,
                         (long long)params->batch_hint);
    return load_file(out, devices != NULL ? devices : &own, path, NULL, &nothing, &values,
                     params, err);
}

static emp_status cut_spec(emp_spec_parts *parts, const emp_source_prefix *prefix,
                           const char *spec, emp_error *err)
{
    EMP_CHECK(emp_spec_cut(parts, spec, prefix->keys, err));
    if (parts->text[0][0] != '\0') return EMP_OK;
    return EMP_ERROR(EMP_EINVAL, "%s needs the path of a file, as in %s", prefix->name,
                     prefix->example);
}

/* "hf:path=FILE,phase=decode" */
static emp_status load_spec(emp_graph **out, emp_import_devices *devices,
                            const emp_import_params *params,
                            const emp_source_prefix *prefix, const char *spec,
                            emp_error *err)
{
    emp_status             st = EMP_OK;
    const emp_option_table table = {prefix->name, NULL, prefix->options};
    spec_values            values = {0};
    emp_spec_parts        *parts = EMP_NEW(emp_spec_parts);

    if (parts == NULL) return EMP_ERROR(EMP_ENOMEM, "the parts of a spec");
    EMP_TRY(cut_spec(parts, prefix, spec, err));
    EMP_TRY(emp_options_parse(&values, &table, NULL, parts->rest, err));
    EMP_TRY(load_file(out, devices, parts->text[0], prefix, parts, &values, params, err));

cleanup:
    emp_free(parts);
    return st;
}

const char *emp_source_file(char path[EMP_SPEC_BYTES], const char *source)
{
    const emp_source_prefix *prefix = emp_source_prefix_of(source);
    emp_spec_parts          *parts = EMP_NEW(emp_spec_parts);
    const char              *file = source;

    if (parts != NULL && prefix != NULL &&
        cut_spec(parts, prefix, source, NULL) == EMP_OK)
        file = strcpy(path, parts->text[0]);
    emp_free(parts);
    return file;
}

const emp_source_format *emp_source_format_of(const char *source)
{
    char        path[EMP_SPEC_BYTES];
    source_file s = {0};

    if (open_file(&s, emp_source_file(path, source), NULL) != EMP_OK) s.format = NULL;
    close_file(&s);
    return s.format;
}

/* ---- sources ---- */

static emp_status refuse_source(const char *source, emp_error *err)
{
    emp_nearest              near = emp_nearest_begin(source, strcspn(source, ":"), "");
    int32_t                  family_count = 0, prefix_count = 0;
    const emp_workload      *family = emp_workload_table(&family_count);
    const emp_source_prefix *prefix = emp_source_prefixes(&prefix_count);
    char                     names[256], hint[EMP_NEAREST_BYTES];
    emp_text                 text = {names, sizeof names, 0};

    for (int32_t i = 0; i < family_count; i++)
        emp_text_add(&text, "%s%s", i == 0 ? "" : ", ", family[i].name);
    for (int32_t i = 0; i < prefix_count; i++)
        emp_text_add(&text, "%s%s", i == 0 ? "; of a file: " : ", ", prefix[i].name);
    for (int32_t i = 0; i < family_count; i++)
        emp_nearest_offer(&near, family[i].name, strlen(family[i].name));
    for (int32_t i = 0; i < prefix_count; i++)
        emp_nearest_offer(&near, prefix[i].name, strlen(prefix[i].name));
    if (near.name != NULL)
        emp_nearest_hint(&near, hint);
    else
        emp_nearest_file(source, hint);
    return EMP_ERROR(EMP_EIO, "\"%s\" is neither a file nor a workload family%s (%s)",
                     source, hint, names);
}

/* A workload of the papers is TensorFlow's, unless the builder of transformers has made it. */
static emp_status build_workload(emp_graph **whole, const char *source, emp_error *err)
{
    EMP_CHECK(emp_workload_build(whole, source, err));
    if ((*whole)->stated != NULL)
        (*whole)->source = EMP_SOURCE_STATED;
    else if ((*whole)->source == EMP_SOURCE_PROGRAM)
        (*whole)->source = EMP_SOURCE_TENSORFLOW;
    return EMP_OK;
}

static emp_status load_whole(emp_graph **whole, emp_import_devices *devices,
                             emp_import_notes *notes, const char *source, emp_error *err)
{
    const emp_source_prefix *prefix = emp_source_prefix_of(source);
    emp_import_params        params = emp_import_params_default();

    params.notes = notes;
    if (emp_workload_is_spec(source)) return build_workload(whole, source, err);
    if (prefix != NULL) return load_spec(whole, devices, &params, prefix, source, err);
    if (access(source, F_OK) != 0) return refuse_source(source, err);
    return emp_import_load(whole, devices, source, &params, err);
}

static bool computes(const emp_graph *g, emp_op_id op)
{
    if (g->op[op].is_folded) return false;
    if (emp_graph_is_collective(g, op)) return true;
    if (g->stated != NULL) return g->stated[op].gpu_ns > 0 || g->stated[op].cpu_ns > 0;
    return g->op[op].cost->kernels > 0 || g->op[op].cost->cpu_cycles > 0;
}

/* A graph of only constants and inputs takes the runtime's own time, which looks like a step. */
static void warn_of_nothing(emp_import_notes *notes, const emp_graph *step,
                            const char *source)
{
    for (emp_op_id op = 0; op < step->op_count; op++)
        if (computes(step, op)) return;
    emp_import_notes_warn(notes,
                          "%s: nothing is computed in a step: each of its %d ops has no "
                          "kernel, or is a constant that is computed before it",
                          source, step->op_count);
}

emp_status emp_source_load_noted(emp_graph **step, emp_graph **whole,
                                 emp_import_devices *devices, emp_import_notes *notes,
                                 const char *source, emp_error *err)
{
    emp_status         st = EMP_OK;
    emp_graph         *made = NULL;
    emp_import_devices stated = {0};

    *step = NULL;
    EMP_TRY(load_whole(&made, &stated, notes, source, err));
    malloc_trim(0); /* a graph takes a fraction of what its making took */
    EMP_TRY(emp_graph_prune(step, made, err));
    warn_of_nothing(notes, *step, source);
    if (devices != NULL) *devices = stated;
    if (whole != NULL) {
        *whole = made;
        made = NULL;
    }

cleanup:
    emp_graph_destroy(made);
    return st;
}

emp_status emp_source_load(emp_graph **step, emp_graph **whole,
                           emp_import_devices *devices, const char *source,
                           emp_error *err)
{
    return emp_source_load_noted(step, whole, devices, NULL, source, err);
}

emp_status emp_graph_load(emp_graph **out, const char *spec_or_path, emp_error *err)
{
    EMP_NEED(out);
    *out = NULL;
    EMP_NEED(spec_or_path);
    return emp_source_load(out, NULL, NULL, spec_or_path, err);
}
