// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/serve/desk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/collections.h"
#include "base/io/input.h"
#include "base/mem.h"
#include "base/text/options.h"
#include "base/text/units.h"
#include "cli/options/inputs.h"
#include "cli/report/report.h"
#include "run/loop.h"
#include "run/methods.h"
#include "run/sheet/sheet.h"

/* ---- a request of `emplace serve`: one line of JSON, read and checked ---- */

/* The requests. */
#define CLI_VERB_LIST(X)  \
    X(LOAD, "load")       \
    X(SCORE, "score")     \
    X(EXPLAIN, "explain") \
    X(PLACE, "place")     \
    X(DROP, "drop")       \
    X(STATUS, "status")

typedef enum {
#define X(name, word) CLI_VERB_##name,
    CLI_VERB_LIST(X)
#undef X
        CLI_VERBS
} cli_verb;

enum { CLI_REQUEST_BUDGET_MAX = 10000000, CLI_REQUEST_ROWS_MAX = 4096 };

/* Zero-initialise; cli_request_clear() releases it, also after a failure. Texts are borrowed from the
 * document. */
typedef struct {
    emp_json_document document;
    const emp_json   *id; /**< an integer or a string to be given back; NULL: none */
    cli_verb          verb;
    const char       *graph, *machine, *runtime; /**< load */
    int64_t           problem;                   /**< all but load and status */
    const emp_json   *placements, *classes;      /**< score: rows; one of the two */
    const emp_json   *placement;                 /**< explain: a row */
    const char       *method, *options, *preset; /**< place */
    int64_t           budget, seed;              /**< place */
} cli_request;

enum { ID_BYTES = 64 };

static const char *const word_of_verb[] = {CLI_VERB_LIST(EMP_LIST_SECOND)};

#define FOR(verb) (1u << CLI_VERB_##verb)
enum { EVERY = (1u << CLI_VERBS) - 1 };

/* A member of a request: which verbs have it, and which of them must. */
typedef struct {
    const char   *key;
    unsigned      has, needs;
    emp_json_kind kind;
    int64_t       low, high; /* of integers */
    size_t        offset;    /* of the text, the integer or the value in cli_request */
} member;

#define TEXT(key, has, needs)                                               \
    {                                                                       \
#key, has, needs, EMP_JSON_STRING, 0, 0, offsetof(cli_request, key) \
    }
#define INTEGER(key, has, needs, low, high)                                       \
    {                                                                             \
#key, has, needs, EMP_JSON_INTEGER, low, high, offsetof(cli_request, key) \
    }
#define ARRAY(key, has, needs)                                             \
    {                                                                      \
#key, has, needs, EMP_JSON_ARRAY, 0, 0, offsetof(cli_request, key) \
    }

static const member members[] = {
    TEXT(graph, FOR(LOAD), FOR(LOAD)),
    TEXT(machine, FOR(LOAD), FOR(LOAD)),
    TEXT(runtime, FOR(LOAD), 0),
    INTEGER(problem, EVERY & ~FOR(LOAD) & ~FOR(STATUS), EVERY & ~FOR(LOAD) & ~FOR(STATUS),
            1, INT64_MAX),
    ARRAY(placements, FOR(SCORE), 0),
    ARRAY(classes, FOR(SCORE), 0),
    ARRAY(placement, FOR(EXPLAIN), FOR(EXPLAIN)),
    TEXT(method, FOR(PLACE), FOR(PLACE)),
    TEXT(options, FOR(PLACE), 0),
    TEXT(preset, FOR(PLACE), 0),
    INTEGER(budget, FOR(PLACE), FOR(PLACE), 1, CLI_REQUEST_BUDGET_MAX),
    INTEGER(seed, FOR(PLACE), 0, 0, INT64_MAX),
};
enum { MEMBERS = sizeof members / sizeof *members };

static emp_status read_id(cli_request *r, const emp_json *value, emp_error *err)
{
    const bool is_text = emp_json_is(value, EMP_JSON_STRING);

    if (!is_text && !emp_json_is(value, EMP_JSON_INTEGER))
        return EMP_ERROR(EMP_EFORMAT, "\"id\" is neither a whole number nor a text");
    if (is_text && strlen(emp_json_string(value)) > ID_BYTES)
        return EMP_ERROR(EMP_EFORMAT, "\"id\" has more than %d bytes", ID_BYTES);
    r->id = value;
    return EMP_OK;
}

static emp_status read_verb(cli_request *r, emp_error *err)
{
    const char *word = emp_json_string(emp_json_get(r->document.root, "do"));

    for (int v = 0; word != NULL && v < CLI_VERBS; v++) {
        r->verb = (cli_verb)v;
        if (strcmp(word, word_of_verb[v]) == 0) return EMP_OK;
    }
    if (word == NULL)
        return EMP_ERROR(EMP_EFORMAT,
                         "a request has \"do\": load, score, explain, place, drop or "
                         "status");
    return EMP_ERROR(
        EMP_EFORMAT,
        "\"do\" is \"%.40s\"; it is load, score, explain, place, drop or status", word);
}

static emp_status read_member(cli_request *r, const member *m, const emp_json *value,
                              emp_error *err)
{
    static const char *const kind[] = {[EMP_JSON_STRING] = "text",
                                       [EMP_JSON_INTEGER] = "whole number",
                                       [EMP_JSON_ARRAY] = "list"};
    void                    *to = (char *)r + m->offset;

    if (!emp_json_is(value, m->kind))
        return EMP_ERROR(EMP_EFORMAT, "\"%s\" is no %s", m->key, kind[m->kind]);
    if (m->kind == EMP_JSON_STRING) {
        *(const char **)to = emp_json_string(value);
    } else if (m->kind == EMP_JSON_ARRAY) {
        *(const emp_json **)to = value;
    } else {
        const int64_t number = emp_json_integer(value);
        if (number < m->low || number > m->high)
            return EMP_ERROR(EMP_EFORMAT,
                             "\"%s\" is %" PRId64 ", and not from %" PRId64
                             " to %" PRId64,
                             m->key, number, m->low, m->high);
        *(int64_t *)to = number;
    }
    return EMP_OK;
}

static const member *find(const char *key, cli_verb verb)
{
    for (int i = 0; i < MEMBERS; i++) {
        if (members[i].has >> verb & 1u && strcmp(members[i].key, key) == 0)
            return &members[i];
    }
    return NULL;
}

static emp_status read_members(cli_request *r, emp_error *err)
{
    const emp_json *root = r->document.root;

    for (const emp_json *v = emp_json_first(root); v != NULL; v = emp_json_next(v)) {
        const char *key = emp_json_key(v);
        if (strcmp(key, "id") == 0 || strcmp(key, "do") == 0) continue;
        const member *m = find(key, r->verb);
        if (m == NULL)
            return EMP_ERROR(EMP_EFORMAT, "\"%s\" has no member \"%.40s\"",
                             word_of_verb[r->verb], key);
        EMP_CHECK(read_member(r, m, v, err));
    }
    for (int i = 0; i < MEMBERS; i++) {
        if (members[i].needs >> r->verb & 1u &&
            emp_json_get(root, members[i].key) == NULL)
            return EMP_ERROR(EMP_EFORMAT, "\"%s\" needs \"%s\"", word_of_verb[r->verb],
                             members[i].key);
    }
    return EMP_OK;
}

/* Checks that need more than one member. */
static emp_status check_rows(const cli_request *r, emp_error *err)
{
    const emp_json *rows = r->placements != NULL ? r->placements : r->classes;

    if (r->verb != CLI_VERB_SCORE) return EMP_OK;
    if ((r->placements != NULL) == (r->classes != NULL))
        return EMP_ERROR(EMP_EFORMAT,
                         "\"score\" needs one of \"placements\" and \"classes\"");
    if (emp_json_count(rows) > CLI_REQUEST_ROWS_MAX)
        return EMP_ERROR(EMP_EFORMAT, "%d placements; a request has %d at most",
                         emp_json_count(rows), CLI_REQUEST_ROWS_MAX);
    return EMP_OK;
}

/* Reads a line.
 * \retval EMP_EFORMAT  No JSON, no object, an unknown verb or member, a value of another kind or out
 *                      of its range, or a member that is missing; the message names it.
 * \retval EMP_ENOMEM */
static emp_status cli_request_parse(cli_request *r, const char *line, size_t length,
                                    emp_error *err)
{
    r->seed = 1;
    EMP_CHECK(emp_json_parse(&r->document, line, length, err));
    if (!emp_json_is(r->document.root, EMP_JSON_OBJECT))
        return EMP_ERROR(EMP_EFORMAT, "a request is an object, as {\"do\": \"status\"}");
    const emp_json *id = emp_json_get(r->document.root, "id");
    if (id != NULL) EMP_CHECK(read_id(r, id, err));
    EMP_CHECK(read_verb(r, err));
    EMP_CHECK(read_members(r, err));
    return check_rows(r, err);
}

static void cli_request_clear(cli_request *r)
{
    emp_json_clear(&r->document);
    *r = (cli_request){0};
}

/* ---- the desk ---- */

/* A problem that is loaded. */
typedef struct {
    int64_t        number, used; /* number 0: nothing */
    int64_t        bytes;
    char          *graph, *machine, *runtime; /* of its request; "": no runtime */
    uint64_t       state;                     /* of their files (find_state()) */
    cli_inputs     inputs;
    emp_sim       *sim;
    emp_device_id *device_of_op, *device_of_class; /* of a row that is read */
} loaded;

struct cli_desk {
    int32_t     limit;
    int64_t     byte_limit;
    loaded     *slot; /* [limit] */
    int64_t     last_number, clock;
    cli_request request; /* the last one, until it is let go */
    loaded     *placing; /* whose problem it asks for a placement of */
};

/* ---- problems ---- */

static void drop(loaded *p)
{
    emp_sim_destroy(p->sim);
    cli_inputs_clear(&p->inputs);
    emp_free(p->graph);
    emp_free(p->machine);
    emp_free(p->runtime);
    emp_free(p->device_of_op);
    emp_free(p->device_of_class);
    *p = (loaded){0};
}

emp_status cli_desk_create(cli_desk **out, int32_t problem_limit, int64_t byte_limit,
                           emp_error *err)
{
    emp_status st = EMP_OK;

    EMP_TRY(EMP_ALLOC(*out, 1));
    (*out)->limit = problem_limit;
    (*out)->byte_limit = byte_limit;
    EMP_TRY(EMP_ALLOC((*out)->slot, (size_t)problem_limit));
    return EMP_OK;

cleanup:
    cli_desk_destroy(*out);
    *out = NULL;
    return st;
}

void cli_desk_destroy(cli_desk *desk)
{
    if (desk == NULL) return;
    cli_request_clear(&desk->request);
    for (int32_t i = 0; desk->slot != NULL && i < desk->limit; i++) drop(&desk->slot[i]);
    emp_free(desk->slot);
    emp_free(desk);
}

/* A number of the files of a request: another once one of them is written. */
static emp_status find_state(uint64_t *state, const cli_request *r, emp_error *err)
{
    emp_machine *machine = NULL;
    emp_runtime  runtime;
    char         path[EMP_SPEC_BYTES];

    *state = emp_input_state(emp_source_file(path, r->graph));
    if (r->runtime != NULL) {
        EMP_CHECK(emp_runtime_init(&runtime, r->runtime, err));
        *state = emp_hash_u64(*state, emp_runtime_hash(&runtime));
    }
    if (strcmp(r->machine, EMP_OWN_MACHINE) == 0) return EMP_OK;
    EMP_CHECK(emp_machine_load(&machine, r->machine, err));
    *state = emp_hash_u64(*state, machine->hash);
    emp_machine_destroy(machine);
    return EMP_OK;
}

static loaded *find_same(cli_desk *desk, const cli_request *r, uint64_t state)
{
    const char *runtime = r->runtime != NULL ? r->runtime : "";

    for (int32_t i = 0; i < desk->limit; i++) {
        loaded *p = &desk->slot[i];
        if (p->number > 0 && p->state == state && strcmp(p->graph, r->graph) == 0 &&
            strcmp(p->machine, r->machine) == 0 && strcmp(p->runtime, runtime) == 0)
            return p;
    }
    return NULL;
}

static emp_status find_number(cli_desk *desk, loaded **found, emp_error *err)
{
    for (int32_t i = 0; i < desk->limit; i++) {
        *found = &desk->slot[i];
        if ((*found)->number != desk->request.problem) continue;
        (*found)->used = ++desk->clock;
        return EMP_OK;
    }
    return EMP_ERROR(
        EMP_EINVAL, "there is no problem %" PRId64 "%s", desk->request.problem,
        desk->request.problem <= desk->last_number ? " any more; load it again"
                                                   : "; \"load\" gives numbers");
}

/* The problem not used for longest, or a free place if \a is_any. NULL: there is none but \a but. */
static loaded *find_oldest(cli_desk *desk, const loaded *but, bool is_any)
{
    loaded *oldest = NULL;

    for (int32_t i = 0; i < desk->limit; i++) {
        loaded *p = &desk->slot[i];
        if (p == but || (p->number == 0 && !is_any)) continue;
        if (oldest == NULL || p->used < oldest->used) oldest = p;
    }
    return oldest;
}

static int64_t kept_bytes(const cli_desk *desk)
{
    int64_t bytes = 0;

    for (int32_t i = 0; i < desk->limit; i++) bytes += desk->slot[i].bytes;
    return bytes;
}

/* Drops the oldest problems until the others and the new one are few enough in bytes. */
static void make_bytes(cli_desk *desk, const loaded *new)
{
    loaded *oldest;

    while (kept_bytes(desk) > desk->byte_limit &&
           (oldest = find_oldest(desk, new, false)) != NULL)
        drop(oldest);
}

static emp_status copy_text(char **to, const char *text, emp_error *err)
{
    const size_t size = strlen(text) + 1;

    EMP_CHECK(EMP_ALLOC(*to, size));
    memcpy(*to, text, size);
    return EMP_OK;
}

static emp_status fill(loaded *p, const cli_request *r, emp_error *err)
{
    EMP_CHECK(cli_inputs_load(&p->inputs, r->graph, r->machine, r->runtime, err));
    const emp_graph *graph = p->inputs.step;
    EMP_CHECK(emp_sim_create(&p->sim, p->inputs.problem, err));
    EMP_CHECK(EMP_ALLOC(p->device_of_op, (size_t)graph->op_count));
    EMP_CHECK(EMP_ALLOC(p->device_of_class, (size_t)graph->class_count));
    EMP_CHECK(copy_text(&p->graph, r->graph, err));
    EMP_CHECK(copy_text(&p->machine, r->machine, err));
    return copy_text(&p->runtime, r->runtime != NULL ? r->runtime : "", err);
}

/* Memory that the problem would take beyond the limit is refused while it is loaded. */
static emp_status fill_within(cli_desk *desk, loaded *p, emp_error *err)
{
    const int64_t before = emp_mem_live_bytes();
    char          most[EMP_UNITS_TEXT_BYTES];
    emp_error     why = {0};

    emp_mem_limit(before + desk->byte_limit);
    const emp_status st = fill(p, &desk->request, &why);
    const bool       is_limit_hit = emp_mem_limit(-1);
    p->bytes = emp_mem_live_bytes() - before;
    if (st == EMP_ENOMEM && is_limit_hit)
        return EMP_ERROR(EMP_ENOMEM,
                         "the problem takes more memory than --memory allows, %s",
                         emp_units_format_bytes(desk->byte_limit, most, sizeof most));
    return st == EMP_OK ? EMP_OK : EMP_ERROR(st, "%s", why.msg);
}

/* ---- rows ---- */

static emp_status read_row(loaded *p, const emp_json *row, bool is_by_class,
                           int32_t number, emp_error *err)
{
    const emp_graph *graph = p->inputs.step;
    const int32_t    length = is_by_class ? graph->class_count : graph->op_count;
    const int32_t    devices = p->inputs.machine->device_count;
    emp_device_id   *to = is_by_class ? p->device_of_class : p->device_of_op;
    int32_t          i = 0;

    if (!emp_json_is(row, EMP_JSON_ARRAY) || emp_json_count(row) != length)
        return EMP_ERROR(EMP_EFORMAT,
                         "placement %d has %d numbers; it must be a list of %d", number,
                         emp_json_count(row), length);
    for (const emp_json *v = emp_json_first(row); v != NULL; v = emp_json_next(v), i++) {
        const int64_t device = emp_json_integer(v);
        if (!emp_json_is(v, EMP_JSON_INTEGER) || device < 0 || device >= devices)
            return EMP_ERROR(EMP_EFORMAT,
                             "entry %d of placement %d is no device; there are 0 to %d",
                             i, number, devices - 1);
        to[i] = (emp_device_id)device;
    }
    for (emp_op_id op = 0; is_by_class && op < graph->op_count; op++)
        p->device_of_op[op] = p->device_of_class[graph->op[op].colocation_class];
    emp_problem_legalize(p->inputs.problem, p->device_of_op);
    return EMP_OK;
}

/* ---- answers ---- */

static void write_text(FILE *out, const char *text)
{
    if (!emp_json_write_string(out, text)) fputs("\"\"", out);
}

static void begin_answer(const cli_desk *desk, FILE *out)
{
    const emp_json *id = desk->request.id;

    fputs("{\"id\":", out);
    if (emp_json_is(id, EMP_JSON_STRING))
        write_text(out, emp_json_string(id));
    else if (id != NULL)
        fprintf(out, "%" PRId64, emp_json_integer(id));
    else
        fputs("null", out);
}

static const char *name_of(emp_status status)
{
    switch (status) {
#define X(name, value, text) \
    case name: return #name;
        EMP_STATUS_LIST(X)
#undef X
    default: return "EMP_EINVAL";
    }
}

void cli_desk_refuse(const cli_desk *desk, const emp_error *why, FILE *out)
{
    begin_answer(desk, out);
    fprintf(out, ",\"status\":\"%s\",\"error\":", name_of(why->status));
    write_text(out, why->msg[0] != '\0' ? why->msg : emp_status_str(why->status));
    fputs("}\n", out);
}

static emp_status answer_load(cli_desk *desk, FILE *out, emp_error *err)
{
    uint64_t state;

    EMP_CHECK(find_state(&state, &desk->request, err));
    loaded *p = find_same(desk, &desk->request, state);
    if (p == NULL) {
        loaded           fresh = {0};
        const emp_status st = fill_within(desk, &fresh, err);
        if (st != EMP_OK) {
            drop(&fresh);
            return st;
        }
        p = find_oldest(desk, NULL, true);
        drop(p);
        *p = fresh;
        p->state = state;
        p->number = ++desk->last_number;
        make_bytes(desk, p);
    }
    p->used = ++desk->clock;
    const emp_machine *machine = p->inputs.machine;
    begin_answer(desk, out);
    fprintf(out,
            ",\"problem\":%" PRId64 ",\"op_count\":%d,\"class_count\":%d,\"runtime\":",
            p->number, p->inputs.step->op_count, p->inputs.step->class_count);
    write_text(out, p->inputs.problem->runtime.name);
    fputs(",\"devices\":[", out);
    for (int32_t d = 0; d < machine->device_count; d++) {
        fputs(d == 0 ? "" : ",", out);
        write_text(out, machine->device[d].name);
    }
    fputs("]}\n", out);
    return EMP_OK;
}

/* The columns of scores, a row at a time into three lines of text. */
typedef struct {
    FILE  *stream;
    char  *text;
    size_t size;
} column;

enum { TIMES, FITS, OVERFLOW, COLUMNS };

static emp_status score_rows(cli_desk *desk, loaded *p, column *c, emp_error *err)
{
    const cli_request *r = &desk->request;
    const emp_json    *rows = r->placements != NULL ? r->placements : r->classes;
    int32_t            i = 0;
    emp_sim_result     result;

    for (const emp_json *row = emp_json_first(rows); row != NULL;
         row = emp_json_next(row), i++) {
        EMP_CHECK(read_row(p, row, r->classes != NULL, i, err));
        EMP_CHECK(emp_sim_run(p->sim, p->device_of_op, &result, err));
        for (int k = 0; k < COLUMNS && i > 0; k++) fputc(',', c[k].stream);
        emp_number_write(c[TIMES].stream, (double)result.step_time_ns * 1e-9);
        fputs(result.is_feasible ? "true" : "false", c[FITS].stream);
        emp_number_write(c[OVERFLOW].stream,
                         emp_score_of(p->inputs.problem, &result, NULL).overflow_frac);
    }
    return EMP_OK;
}

static emp_status answer_score(cli_desk *desk, FILE *out, emp_error *err)
{
    emp_status st = EMP_OK;
    loaded    *p = NULL;
    column     c[COLUMNS] = {0};

    EMP_CHECK(find_number(desk, &p, err));
    for (int k = 0; k < COLUMNS; k++) {
        c[k].stream = open_memstream(&c[k].text, &c[k].size);
        if (c[k].stream == NULL) EMP_FAIL(EMP_ENOMEM, "scores");
    }
    EMP_TRY(score_rows(desk, p, c, err));
    for (int k = 0; k < COLUMNS; k++) {
        const bool is_whole = fclose(c[k].stream) == 0;
        c[k].stream = NULL;
        if (!is_whole) EMP_FAIL(EMP_ENOMEM, "scores");
    }
    begin_answer(desk, out);
    fprintf(out, ",\"step_time_s\":[%s],\"fits\":[%s],\"overflow\":[%s]}\n",
            c[TIMES].text, c[FITS].text, c[OVERFLOW].text);

cleanup:
    for (int k = 0; k < COLUMNS; k++) {
        if (c[k].stream != NULL) fclose(c[k].stream);
        free(c[k].text);
    }
    return st;
}

static emp_status answer_explain(cli_desk *desk, FILE *out, emp_error *err)
{
    emp_status       st = EMP_OK;
    loaded          *p = NULL;
    emp_explanation *why = NULL;
    emp_what_if      what_if;
    json_t          *object = NULL;
    char            *text = NULL;

    EMP_CHECK(find_number(desk, &p, err));
    EMP_CHECK(read_row(p, desk->request.placement, false, 0, err));
    const emp_decision decision = {.device_of_op = p->device_of_op};
    EMP_TRY(emp_explain_create(&why, p->inputs.problem, &decision, err));
    EMP_TRY(emp_what_if_find(&what_if, p->inputs.problem, &decision, why, err));
    object = cli_why_json(p->inputs.problem, why, &what_if);
    text = object != NULL ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(15))
                          : NULL;
    if (text == NULL) EMP_FAIL(EMP_ENOMEM, "an explanation");
    begin_answer(desk, out);
    fprintf(out, ",\"why\":%s}\n", text);

cleanup:
    free(text);
    json_decref(object);
    emp_explain_destroy(why);
    return st;
}

static emp_status answer_drop(cli_desk *desk, FILE *out, emp_error *err)
{
    loaded *p = NULL;

    EMP_CHECK(find_number(desk, &p, err));
    drop(p);
    begin_answer(desk, out);
    fputs("}\n", out);
    return EMP_OK;
}

static emp_status answer_status(const cli_desk *desk, FILE *out)
{
    const emp_manifest manifest = emp_manifest_get();
    int32_t            problems = 0;

    for (int32_t i = 0; i < desk->limit; i++) problems += desk->slot[i].number > 0;
    begin_answer(desk, out);
    fputs(",\"version\":", out);
    write_text(out, manifest.version);
    fprintf(out, ",\"problems\":%d,\"problem_bytes\":%" PRId64 "}\n", problems,
            kept_bytes(desk));
    return EMP_OK;
}

static emp_status answer(cli_desk *desk, const char *line, size_t length, FILE *out,
                         emp_error *err)
{
    const emp_method *method;

    EMP_CHECK(cli_request_parse(&desk->request, line, length, err));
    switch (desk->request.verb) {
    case CLI_VERB_LOAD: return answer_load(desk, out, err);
    case CLI_VERB_SCORE: return answer_score(desk, out, err);
    case CLI_VERB_EXPLAIN: return answer_explain(desk, out, err);
    case CLI_VERB_DROP: return answer_drop(desk, out, err);
    case CLI_VERB_PLACE:
        EMP_CHECK(find_number(desk, &desk->placing, err));
        EMP_CHECK(emp_method_find(&method, desk->request.method, err));
        if (!method->is_outside) return EMP_OK;
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "method %s is from outside, which serve runs not", method->name);
    default: return answer_status(desk, out);
    }
}

cli_desk_reply cli_desk_answer(cli_desk *desk, const char *line, size_t length,
                               bool may_run, FILE *out)
{
    emp_error  why = {0};
    emp_status st = answer(desk, line, length, out, &why);
    const bool is_run = st == EMP_OK && desk->request.verb == CLI_VERB_PLACE;

    if (is_run && may_run) return CLI_DESK_RUNS;
    if (st != EMP_OK) {
        why.status = st;
        cli_desk_refuse(desk, &why, out);
    }
    cli_desk_let_go(desk);
    return is_run ? CLI_DESK_WAITS : CLI_DESK_ANSWERED;
}

void cli_desk_let_go(cli_desk *desk)
{
    cli_request_clear(&desk->request);
    desk->placing = NULL;
}

/* ---- runs ---- */

static void write_run(const cli_desk *desk, const emp_record *record, FILE *out)
{
    begin_answer(desk, out);
    fprintf(out, ",\"evaluations\":%" PRId64 ",\"stopped_by\":\"%s\",\"step_time_s\":",
            record->evaluations, record->stopped_by);
    emp_number_write(out, record->best_step_time_s);
    fprintf(out, ",\"fits\":%s,\"placement\":[", record->is_feasible ? "true" : "false");
    for (emp_op_id op = 0; op < record->decision.op_count; op++)
        fprintf(out, "%s%d", op == 0 ? "" : ",", record->decision.device_of_op[op]);
    fputs("]}\n", out);
}

static emp_status run(const cli_desk *desk, emp_record *record, emp_error *err)
{
    const cli_request *r = &desk->request;
    emp_run_params     params = {.placer = {.seed = (uint64_t)r->seed,
                                            .threads = 1,
                                            .preset = r->preset,
                                            .options = r->options},
                                 .budget_evaluations = r->budget};

    EMP_CHECK(emp_method_find(&params.method, r->method, err));
    return emp_run(record, desk->placing->inputs.problem, &params, err);
}

void cli_desk_place(emp_channel *channel, void *context)
{
    const cli_desk        *desk = context;
    const emp_channel_wait forever = {.until_s = 1e300};
    emp_error              why = {0};
    emp_record             record = {0};
    char                  *text = NULL;
    size_t                 size = 0;
    FILE                  *out = open_memstream(&text, &size);

    if (out == NULL) return;
    why.status = run(desk, &record, &why);
    if (why.status == EMP_OK)
        write_run(desk, &record, out);
    else
        cli_desk_refuse(desk, &why, out);
    if (fclose(out) == 0) (void)emp_channel_send(channel, text, size, &forever, NULL);
    emp_record_clear(&record);
    free(text);
}
