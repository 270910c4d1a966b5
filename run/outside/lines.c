// SPDX-License-Identifier: GPL-3.0-or-later
/* A method that speaks lines of JSON; docs/extending.md has them all. */
#define _GNU_SOURCE /* open_memstream(), PATH_MAX, readlink() */
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "run/outside/outside.h"

enum { NUMBER_BYTES = 12, OTHER_BYTES = 1 << 16 }; /* of an answer, at most */
enum { COMMAND_BYTES = 16384 };
enum { MOST_METRICS = 16, METRIC_BYTES = 64 }; /* as in run records */

typedef struct {
    emp_outsider      base;            /* first, as all share it */
    emp_device_id    *device_of_class; /* of the row that is read */
    bool              has_answered;
    int32_t           metric_count; /* which the first answer fixes */
    emp_method_metric metric[MOST_METRICS];
    char              metric_name[MOST_METRICS][METRIC_BYTES];
} speaker;

static void clear(void *state)
{
    speaker *s = state;

    emp_channel_close(&s->base.channel);
    emp_free(s->device_of_class);
}

/* ---- what is said ---- */

/* A line under way. */
typedef struct {
    FILE  *stream;
    char  *text;
    size_t size;
} message;

static emp_status begin(message *m, emp_error *err)
{
    *m = (message){0};
    m->stream = open_memstream(&m->text, &m->size);
    return m->stream != NULL ? EMP_OK : EMP_ERROR(EMP_ENOMEM, "a line to a method");
}

/* Ends it with a newline, sends it, frees it. */
static emp_status send(emp_outsider *o, message *m, emp_error *err)
{
    const emp_channel_wait wait = emp_outsider_wait(o);
    emp_status             st = EMP_OK;

    fputc('\n', m->stream);
    const bool is_whole = ferror(m->stream) == 0;
    if (fclose(m->stream) != 0 || !is_whole)
        st = EMP_ERROR(EMP_ENOMEM, "a line to a method");
    else
        st = emp_channel_send(&o->channel, m->text, m->size, &wait, err);
    free(m->text);
    return st;
}

/* Names may be any bytes; what is no UTF-8 becomes null. */
static void write_text(FILE *stream, const char *text)
{
    if (!emp_json_write_string(stream, text)) fputs("null", stream);
}

static const char *comma(int32_t i) { return i == 0 ? "" : ","; }

static void write_devices(FILE *stream, const emp_problem *problem)
{
    const emp_machine *machine = problem->machine;

    fputs(",\"devices\":[", stream);
    for (emp_device_id d = 0; d < machine->device_count; d++) {
        fprintf(stream, "%s{\"name\":", comma(d));
        write_text(stream, machine->device[d].name);
        fprintf(stream,
                ",\"kind\":\"%s\",\"memory_bytes\":%" PRId64 ",\"peak_flops_per_s\":",
                machine->device[d].kind == EMP_DEVICE_GPU ? "gpu" : "cpu",
                machine->device[d].memory_bytes);
        emp_number_write(stream, machine->device[d].peak_flops_per_s);
        fputs(",\"time_ns\":[", stream);
        for (emp_op_id op = 0; op < problem->graph->op_count; op++)
            fprintf(stream, "%s%" PRId64, comma(op),
                    emp_problem_op_time_ns(problem, op, d));
        fputs("]}", stream);
    }
    fputs("]", stream);
}

static const char *kinds_word(const emp_problem *problem, int32_t class)
{
    switch (problem->kinds_of_class[class]) {
    case EMP_KIND_CPU: return "cpu";
    case EMP_KIND_GPU: return "gpu";
    default: return "any";
    }
}

static void write_classes(FILE *stream, const emp_problem *problem)
{
    const int32_t count = problem->graph->class_count;

    fprintf(stream, ",\"class_count\":%d,\"class_kinds\":[", count);
    for (int32_t c = 0; c < count; c++)
        fprintf(stream, "%s\"%s\"", comma(c), kinds_word(problem, c));
    fputs("]", stream);
}

static void write_ops(FILE *stream, const emp_problem *problem)
{
    const emp_graph *graph = problem->graph;

    fputs(",\"ops\":{\"name\":[", stream);
    for (emp_op_id op = 0; op < graph->op_count; op++) {
        fputs(comma(op), stream);
        write_text(stream, graph->name[op]);
    }
    fputs("],\"type\":[", stream);
    for (emp_op_id op = 0; op < graph->op_count; op++) {
        fputs(comma(op), stream);
        write_text(stream, graph->type_name[graph->type[op]]);
    }
    fputs("],\"class\":[", stream);
    for (emp_op_id op = 0; op < graph->op_count; op++)
        fprintf(stream, "%s%d", comma(op), graph->op[op].colocation_class);
    fputs("],\"is_folded\":[", stream);
    for (emp_op_id op = 0; op < graph->op_count; op++)
        fprintf(stream, "%s%s", comma(op), graph->op[op].is_folded ? "true" : "false");
    fputs("]}", stream);
}

static void write_edges(FILE *stream, const emp_graph *graph)
{
    bool is_first = true;

    fputs(",\"edges\":[", stream);
    for (emp_op_id op = 0; op < graph->op_count; op++) {
        for (int32_t i = graph->input_offset[op]; i < graph->input_offset[op + 1]; i++) {
            const emp_tensor *tensor = &graph->tensor[graph->input[i]];
            fprintf(stream, "%s[%d,%d,%" PRId64 "]", is_first ? "" : ",",
                    tensor->producer, op, tensor->copy_bytes);
            is_first = false;
        }
    }
    fputs("]", stream);
}

static emp_status greet(emp_outsider *o, const emp_method_params *params, emp_error *err)
{
    const emp_problem *problem = o->problem;
    message            m;

    EMP_CHECK(begin(&m, err));
    fputs("{\"hello\":1,\"workload\":", m.stream);
    write_text(m.stream, problem->workload);
    fputs(",\"machine\":", m.stream);
    write_text(m.stream, problem->machine->name);
    fputs(",\"machine_file\":", m.stream);
    write_text(m.stream, problem->machine->text != NULL ? problem->machine->text : "");
    fputs(",\"runtime\":", m.stream);
    write_text(m.stream, problem->runtime.name);
    fprintf(m.stream,
            ",\"seed\":%" PRIu64 ",\"budget\":%" PRId64 ",\"options\":", params->seed,
            params->budget_evaluations);
    write_text(m.stream, params->options == NULL ? "" : params->options);
    write_devices(m.stream, problem);
    write_classes(m.stream, problem);
    write_ops(m.stream, problem);
    write_edges(m.stream, problem->graph);
    fputs("}", m.stream);
    return send(o, &m, err);
}

/* ---- the command of the shell ---- */

/* Adds the folders with the package emplace that lie where a build tree and a prefix have it. */
static void add_folders(emp_text *text)
{
    static const char *const places[] = {"/../python", "/../lib/python3*/*-packages"};
    char                     here[PATH_MAX / 2] = "", pattern[PATH_MAX];
    const ssize_t            length = readlink("/proc/self/exe", here, sizeof here - 1);

    if (length <= 0 || strrchr(here, '/') == NULL) return;
    *strrchr(here, '/') = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        glob_t found = {0};
        snprintf(pattern, sizeof pattern, "%s%s/emplace/agent.py", here, places[i]);
        if (glob(pattern, 0, NULL, &found) == 0) {
            for (size_t k = 0; k < found.gl_pathc; k++) {
                char *folder = found.gl_pathv[k];
                folder[strlen(folder) - strlen("/emplace/agent.py")] = '\0';
                emp_text_add(text, ":");
                emp_text_add_word(text, folder);
            }
        }
        globfree(&found);
    }
}

/* Writes the command of the shell that speaks for the method of an address: the command of "cmd:...", or one
 * that runs a file of Python by the module emplace.agent, which is sought on Python's own path and then in the
 * build tree or prefix of the program. EMPLACE_PYTHON names another interpreter than python3.
 * \retval EMP_EINVAL  It is too long. */
static emp_status write_command(char command[COMMAND_BYTES], const char *address,
                                emp_error *err)
{
    emp_text    text = {command, COMMAND_BYTES, 0};
    const char *colon = strrchr(address, ':');
    char        file[PATH_MAX];

    if (strncmp(address, "cmd:", 4) == 0) {
        emp_text_add(&text, "%s", address + 4);
    } else {
        const size_t length = emp_text_ends_in(address, ".py") || colon == NULL
                                  ? strlen(address)
                                  : (size_t)(colon - address);
        snprintf(file, sizeof file, "%.*s", (int)length, address);
        emp_text_add(&text, "PYTHONPATH=\"$PYTHONPATH\"");
        add_folders(&text);
        emp_text_add(&text, " \"${EMPLACE_PYTHON:-python3}\" -m emplace.agent ");
        emp_text_add_word(&text, file);
        if (address[length] == ':') {
            emp_text_add(&text, " ");
            emp_text_add_word(&text, address + length + 1);
        }
    }
    if (text.used + 1 < COMMAND_BYTES) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL, "method %.40s...: its command is too long", address);
}

static emp_status connect(emp_outsider *o, emp_error *err)
{
    char command[COMMAND_BYTES];

    if (strncmp(o->address, "socket:", 7) == 0)
        return emp_channel_adopt(&o->channel, atoi(strchr(o->address, ':') + 1), err);
    EMP_CHECK(write_command(command, o->address, err));
    return emp_channel_start(&o->channel, command, err);
}

static emp_status init(void *state, const emp_problem *problem,
                       const emp_method_params *params, emp_error *err)
{
    speaker      *s = state;
    emp_outsider *o = &s->base;
    emp_error     why = {0};

    EMP_CHECK(EMP_ALLOC(s->device_of_class, (size_t)problem->graph->class_count));
    EMP_CHECK(emp_outsider_init(o, problem, params, err));
    emp_status st = connect(o, &why);
    if (st == EMP_OK) st = greet(o, params, &why);
    if (st == EMP_OK) return EMP_OK;
    return EMP_ERROR(st, "method %s: %s", o->name, why.msg);
}

/* ---- what is answered ---- */

/* The rows of an answer. */
typedef struct {
    const emp_json *rows;
    bool are_by_class;       /* a device for each colocation class, not for each op */
    const emp_json *metrics; /* OPTIONAL */
} answer;

static emp_status read_members(answer *a, const emp_json *root, emp_error *err)
{
    *a = (answer){0};
    if (!emp_json_is(root, EMP_JSON_OBJECT))
        return EMP_ERROR(EMP_EFORMAT,
                         "its program answers with no object; {\"placements\": [...]} is "
                         "one");
    for (const emp_json *m = emp_json_first(root); m != NULL; m = emp_json_next(m)) {
        const bool is_by_class = strcmp(emp_json_key(m), "classes") == 0;
        if (strcmp(emp_json_key(m), "metrics") == 0) {
            a->metrics = m;
            continue;
        }
        if (!is_by_class && strcmp(emp_json_key(m), "placements") != 0)
            return EMP_ERROR(
                EMP_EFORMAT,
                "its program answers with \"%.40s\"; an answer has "
                "\"placements\" or \"classes\", and perhaps \"metrics\", and the scores "
                "are the oracle's",
                emp_json_key(m));
        if (a->rows != NULL)
            return EMP_ERROR(EMP_EFORMAT,
                             "its program answers with \"placements\" and \"classes\"; "
                             "one is enough");
        a->rows = m;
        a->are_by_class = is_by_class;
    }
    if (!emp_json_is(a->rows, EMP_JSON_ARRAY))
        return EMP_ERROR(EMP_EFORMAT, "its program answers without a list of placements");
    return EMP_OK;
}

static emp_status read_row(emp_device_id *to, int32_t length, const emp_json *row,
                           int32_t number, emp_error *err)
{
    int32_t i = 0;

    if (!emp_json_is(row, EMP_JSON_ARRAY) || emp_json_count(row) != length)
        return EMP_ERROR(EMP_EFORMAT,
                         "its placement %d is no list of %d devices, but has %d", number,
                         length, emp_json_count(row));
    for (const emp_json *v = emp_json_first(row); v != NULL; v = emp_json_next(v)) {
        const int64_t device = emp_json_integer(v);
        if (!emp_json_is(v, EMP_JSON_INTEGER) || device < INT32_MIN || device > INT32_MAX)
            return EMP_ERROR(EMP_EFORMAT, "entry %d of its placement %d is no device", i,
                             number);
        to[i++] = (emp_device_id)device;
    }
    return EMP_OK;
}

static void spread(const emp_graph *graph, const emp_device_id *device_of_class,
                   emp_device_id *device_of_op)
{
    for (emp_op_id op = 0; op < graph->op_count; op++)
        device_of_op[op] = device_of_class[graph->op[op].colocation_class];
}

static emp_status read_rows(speaker *s, const answer *a,
                            const emp_owned_decision *candidates, int32_t max,
                            int32_t *count, emp_error *err)
{
    const emp_graph *graph = s->base.problem->graph;
    const int32_t    length = a->are_by_class ? graph->class_count : graph->op_count;
    int32_t          i = 0;

    if (emp_json_count(a->rows) > max)
        return EMP_ERROR(EMP_EFORMAT,
                         "its program answers with %d placements, and is asked for %d at "
                         "most",
                         emp_json_count(a->rows), max);
    for (const emp_json *row = emp_json_first(a->rows); row != NULL;
         row = emp_json_next(row), i++) {
        emp_device_id *to = candidates[i].device_of_op;
        EMP_CHECK(
            read_row(a->are_by_class ? s->device_of_class : to, length, row, i, err));
        if (a->are_by_class) spread(graph, s->device_of_class, to);
        EMP_CHECK(emp_outsider_check(&s->base, i, to, err));
    }
    *count = i;
    return EMP_OK;
}

/* ---- metrics ---- */

static int32_t find_metric(const speaker *s, const char *name)
{
    int32_t i = 0;

    while (i < s->metric_count && strcmp(s->metric_name[i], name) != 0) i++;
    return i;
}

/* The first answer has all names, as the records of a run have the same metrics throughout. */
static emp_status read_metric(speaker *s, const emp_json *value, emp_error *err)
{
    const char   *name = emp_json_key(value);
    const int32_t i = find_metric(s, name);
    const bool    is_null = emp_json_is(value, EMP_JSON_NULL);

    if (!is_null && !emp_json_is(value, EMP_JSON_INTEGER) &&
        !emp_json_is(value, EMP_JSON_REAL))
        return EMP_ERROR(EMP_EFORMAT, "its metric \"%.40s\" is no number", name);
    if (i == s->metric_count) {
        if (s->has_answered)
            return EMP_ERROR(
                EMP_EFORMAT,
                "its metric \"%.40s\" is not among those of its first "
                "answer; give all metrics there, null for those not yet known",
                name);
        if (i == MOST_METRICS || strlen(name) >= sizeof s->metric_name[i])
            return EMP_ERROR(
                EMP_EFORMAT,
                "it has more than %d metrics, or one with a name of more than "
                "%zu bytes",
                MOST_METRICS, sizeof s->metric_name[i] - 1);
        snprintf(s->metric_name[i], sizeof s->metric_name[i], "%s", name);
        s->metric[i].name = s->metric_name[i];
        s->metric_count++;
    }
    s->metric[i].value = is_null ? NAN : emp_json_number(value);
    return EMP_OK;
}

static emp_status read_metrics(speaker *s, const emp_json *metrics, emp_error *err)
{
    for (int32_t i = 0; i < s->metric_count; i++) s->metric[i].value = NAN;
    if (metrics != NULL && !emp_json_is(metrics, EMP_JSON_OBJECT))
        return EMP_ERROR(EMP_EFORMAT, "its metrics are no object of numbers");
    const emp_json *m = metrics != NULL ? emp_json_first(metrics) : NULL;
    for (; m != NULL; m = emp_json_next(m)) EMP_CHECK(read_metric(s, m, err));
    s->has_answered = true;
    return EMP_OK;
}

static const emp_method_metric *metrics(const void *state, int32_t *count)
{
    const speaker *s = state;

    *count = s->metric_count;
    return s->metric;
}

static emp_status read_answer(speaker *s, const char *line, size_t length,
                              const emp_owned_decision *candidates, int32_t max,
                              int32_t *count, emp_error *err)
{
    emp_status        st = EMP_OK;
    emp_json_document document = {0};
    emp_error         why = {0};
    answer            a;

    st = emp_json_parse(&document, line, length, &why);
    if (st == EMP_EFORMAT)
        EMP_FAIL(st, "its program answers \"%.60s\", which is no JSON: %s", line,
                 why.msg);
    if (st != EMP_OK) EMP_FAIL(st, "its program's answer: %s", why.msg);
    EMP_TRY(read_members(&a, document.root, err));
    EMP_TRY(read_metrics(s, a.metrics, err));
    EMP_TRY(read_rows(s, &a, candidates, max, count, err));

cleanup:
    emp_json_clear(&document);
    return st;
}

static emp_status exchange(speaker *s, const emp_owned_decision *candidates, int32_t max,
                           int32_t *count, emp_error *err)
{
    emp_outsider    *o = &s->base;
    const size_t     ops = (size_t)o->problem->graph->op_count;
    const size_t     most = OTHER_BYTES + (size_t)max * ops * NUMBER_BYTES;
    emp_channel_wait wait;
    message          m;
    char            *line;
    size_t           length;

    EMP_CHECK(begin(&m, err));
    fprintf(m.stream, "{\"ask\":%d}", max);
    EMP_CHECK(send(o, &m, err));
    wait = emp_outsider_wait(o);
    EMP_CHECK(emp_channel_receive_line(&o->channel, &line, &length, most, &wait, err));
    return read_answer(s, line, length, candidates, max, count, err);
}

static emp_status ask(void *state, const emp_owned_decision *candidates, int32_t max,
                      int32_t *count, emp_error *err)
{
    emp_outsider *o = state;
    emp_error     why = {0};

    *count = 0;
    emp_status st = exchange(state, candidates, max, count, &why);
    return st == EMP_OK ? EMP_OK : emp_outsider_fail(o, st, &why, err);
}

static emp_status tell(void *state, const emp_score *scores, int32_t count,
                       emp_error *err)
{
    emp_outsider *o = state;
    emp_error     why = {0};
    message       m;

    EMP_CHECK(begin(&m, err));
    fputs("{\"told\":[", m.stream);
    for (int32_t i = 0; i < count; i++) {
        fprintf(m.stream, "%s{\"step_time_s\":", comma(i));
        emp_number_write(m.stream, scores[i].step_time_s);
        fprintf(m.stream,
                ",\"fits\":%s,\"overflow\":", scores[i].is_feasible ? "true" : "false");
        emp_number_write(m.stream, scores[i].overflow_frac);
        fputs("}", m.stream);
    }
    fputs("]}", m.stream);
    emp_status st = send(o, &m, &why);
    return st == EMP_OK ? EMP_OK : emp_outsider_fail(o, st, &why, err);
}

const emp_method emp_outside_lines = {
    .name = "cmd:",
    .description = "a program that speaks lines of JSON",
    .advice = "a method in any language",
    .uses_budget = true,
    .uses_seed = true,
    .is_outside = true,
    .state_bytes = sizeof(speaker),
    .init = init,
    .ask = ask,
    .tell = tell,
    .clear = clear,
    .metrics = metrics,
};
