// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/profiles.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "base/text/file.h"

static const char kernel_word[] = "_kernel_time", cpu_word[] = "CPUExecutionProvider";

/* Nodes with graphs inside, whose nodes have events of their own. */
static const char *const holders[] = {
    "If",         "Loop",         "Scan",     "SequenceMap",
    "BeamSearch", "GreedySearch", "Sampling", "WhisperBeamSearch"};

/* An event of a node. */
typedef struct {
    emp_onnx_timed_node node;
    double              ts;
    int64_t             tid;
    int32_t             run; /* -1: of none that is complete */
    bool                is_inner, is_cpu;
} event;

typedef struct {
    double ts, end, us;
} run;

typedef struct {
    event  *event;
    run    *run;
    int32_t event_count, event_capacity, run_count, run_capacity;
} events;

/* ---- events ---- */

static bool has_text(const emp_json *object, const char *key, const char *text)
{
    const char *value = emp_json_string(emp_json_get(object, key));

    return value != NULL && strcmp(value, text) == 0;
}

static const char *text_of(const emp_json *object, const char *key)
{
    const char *value = emp_json_string(emp_json_get(object, key));

    return value == NULL ? "" : value;
}

static bool is_number(const emp_json *value)
{
    return emp_json_is(value, EMP_JSON_INTEGER) || emp_json_is(value, EMP_JSON_REAL);
}

static emp_status read_times(double *ts, double *us, const emp_json *item, emp_error *err)
{
    const emp_json *begin = emp_json_get(item, "ts"), *length = emp_json_get(item, "dur");

    *ts = emp_json_number(begin);
    *us = emp_json_number(length);
    if (is_number(begin) && is_number(length) && *us >= 0.0) return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT,
                     "event \"%.80s\" has no numbers ts and dur, dur from 0 on",
                     text_of(item, "name"));
}

/* The number that args.node_index holds as text. */
static int64_t read_index(const emp_json *args)
{
    const char *text = text_of(args, "node_index");
    char       *end;
    long long   index = strtoll(text, &end, 10);

    return *text != '\0' && *end == '\0' ? index : -1;
}

static emp_status read_node(events *e, const emp_json *item, emp_error *err)
{
    const emp_json *args = emp_json_get(item, "args");
    const char     *name = text_of(item, "name"), *provider = text_of(args, "provider");
    event node = {.run = -1, .tid = emp_json_integer(emp_json_get(item, "tid"))};

    node.node.name = (emp_slice){name, strlen(name)};
    if (!emp_slice_ends(node.node.name, kernel_word)) return EMP_OK;
    node.node.name.size -= sizeof kernel_word - 1;
    node.node.type = text_of(args, "op_name");
    node.node.index = read_index(args);
    node.is_cpu = *provider == '\0' || strcmp(provider, cpu_word) == 0;
    EMP_CHECK(read_times(&node.ts, &node.node.us, item, err));
    EMP_CHECK(EMP_GROW(e->event, e->event_count + 1, e->event_capacity));
    e->event[e->event_count++] = node;
    return EMP_OK;
}

static emp_status read_run(events *e, const emp_json *item, emp_error *err)
{
    run r = {0};

    EMP_CHECK(read_times(&r.ts, &r.end, item, err));
    r.end += r.ts;
    /* Beginnings and lengths are rounded to microseconds each. */
    if (e->run_count > 0 && r.ts + 1.0 < e->run[e->run_count - 1].end)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "the runs that begin at %.0f and %.0f us overlap; profile a "
                         "session that runs once at a time",
                         e->run[e->run_count - 1].ts, r.ts);
    EMP_CHECK(EMP_GROW(e->run, e->run_count + 1, e->run_capacity));
    e->run[e->run_count++] = r;
    return EMP_OK;
}

static emp_status read_events(events *e, const emp_json *list, emp_error *err)
{
    if (!emp_json_is(list, EMP_JSON_ARRAY))
        return EMP_ERROR(EMP_EFORMAT, "no list of events");
    for (const emp_json *item = emp_json_first(list); item != NULL;
         item = emp_json_next(item)) {
        if (has_text(item, "cat", "Node"))
            EMP_CHECK(read_node(e, item, err));
        else if (has_text(item, "name", "model_run"))
            EMP_CHECK(read_run(e, item, err));
    }
    if (e->event_count == 0)
        return EMP_ERROR(EMP_EFORMAT, "no event of a node: a session has to run between "
                                      "its making and end_profiling()");
    if (e->run_count > 0) return EMP_OK;
    EMP_CHECK(EMP_GROW(e->run, 1, e->run_capacity));
    e->run[e->run_count++] = (run){.ts = -INFINITY, .end = INFINITY};
    return EMP_OK;
}

/* ---- runs ---- */

/* The run in which a time lies, or -1. */
static int32_t find_run(const events *e, double ts)
{
    int32_t low;

    EMP_COUNT_FIRST(low, e->run_count, i, e->run[i].ts <= ts);
    return low > 0 && ts <= e->run[low - 1].end ? low - 1 : -1;
}

static bool is_holder(const char *type)
{
    for (size_t i = 0; i < sizeof holders / sizeof holders[0]; i++)
        if (strcmp(type, holders[i]) == 0) return true;
    return false;
}

/* Marks what ran inside an event, which ended before it. */
static void mark_inner(events *e, int32_t outer)
{
    const event *o = &e->event[outer];

    for (int32_t i = outer - 1; i >= 0 && e->event[i].ts >= o->ts; i--)
        if (e->event[i].tid == o->tid) e->event[i].is_inner = true;
}

static void assign_runs(events *e)
{
    for (int32_t i = 0; i < e->event_count; i++) {
        e->event[i].run = find_run(e, e->event[i].ts);
        if (is_holder(e->event[i].node.type)) mark_inner(e, i);
    }
    for (int32_t i = 0; i < e->event_count; i++)
        if (e->event[i].run >= 0 && !e->event[i].is_inner)
            e->run[e->event[i].run].us += e->event[i].node.us;
}

static int compare_us(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static emp_status find_median(int32_t *median, const events *e, emp_error *err)
{
    double *us = NULL;

    EMP_CHECK(EMP_ALLOC(us, (size_t)e->run_count));
    for (int32_t i = 0; i < e->run_count; i++) us[i] = e->run[i].us;
    qsort(us, (size_t)e->run_count, sizeof *us, compare_us);
    *median = 0;
    while (e->run[*median].us != us[(e->run_count - 1) / 2]) ++*median;
    emp_free(us);
    return EMP_OK;
}

static emp_status take_run(emp_onnx_profile *out, const events *e, int32_t chosen,
                           emp_error *err)
{
    EMP_CHECK(EMP_ALLOC(out->node, (size_t)e->event_count));
    for (int32_t i = 0; i < e->event_count; i++) {
        const event *node = &e->event[i];
        if (node->run != chosen || node->is_inner) continue;
        if (node->is_cpu)
            out->node[out->count++] = node->node;
        else
            out->other_count++;
    }
    out->run_count = e->run_count;
    return EMP_OK;
}

static emp_status read_profile(emp_onnx_profile *out, emp_error *err)
{
    emp_status st = EMP_OK;
    events     e = {0};
    int32_t    median = 0;

    EMP_TRY(read_events(&e, out->json.root, err));
    assign_runs(&e);
    EMP_TRY(find_median(&median, &e, err));
    EMP_TRY(take_run(out, &e, median, err));
    if (out->count == 0)
        EMP_FAIL(EMP_EFORMAT, "no node of the median run is on the CPU: %d are elsewhere",
                 out->other_count);

cleanup:
    emp_free(e.event);
    emp_free(e.run);
    return st;
}

/* ---- files ---- */

bool emp_onnx_profile_is(const char *path)
{
    char     *bytes = NULL;
    size_t    size = 0;
    emp_slice text, head;
    bool      is = emp_file_load(path, &bytes, &size, NULL) == EMP_OK;

    if (is) {
        text = emp_slice_trim((emp_slice){bytes, size});
        is = emp_slice_starts(text, "[");
        /* The first event says how the model was loaded, but for a profile that begins later. */
        head = (emp_slice){text.data, text.size < 4096 ? text.size : 4096};
        is = is && emp_slice_has(head, "\"cat\"") && emp_slice_has(head, "\"dur\"");
    }
    emp_free(bytes);
    return is;
}

emp_status emp_onnx_profile_load(emp_onnx_profile *out, const char *path, emp_error *err)
{
    emp_error reason = {0};

    EMP_CHECK(emp_json_load(&out->json, path, err));
    emp_status st = read_profile(out, &reason);
    if (st == EMP_OK) return EMP_OK;
    return emp_error_set(err, st, reason.file, reason.line, "%s: %s", path, reason.msg);
}

void emp_onnx_profile_clear(emp_onnx_profile *profile)
{
    emp_free(profile->node);
    emp_json_clear(&profile->json);
    *profile = (emp_onnx_profile){0};
}

/* ---- nodes of a model ---- */

/* Whether the runtime calls a node without a name so: "Relu_3", or nothing in old versions. */
static bool is_nameless(const emp_onnx_timed_node *t)
{
    char name[160];

    if (t->name.size == 0) return true;
    snprintf(name, sizeof name, "%s_%lld", t->type, (long long)t->index);
    return emp_slice_is(t->name, name);
}

static bool is_of(const emp_onnx_timed_node *t, const emp_import_node *node)
{
    if (node->name[0] != '\0') return emp_slice_is(t->name, node->name);
    return is_nameless(t) && strcmp(t->type, node->type) == 0;
}

/* Finds the node of each timed node at its index, and returns how many there are; -1: another node is at one.
 * Nodes that the runtime has made have indices behind the file's. */
static int32_t match_indices(int32_t *at, const emp_onnx_profile *p,
                             const emp_import_node *node, int32_t count)
{
    int32_t found = 0;

    for (int32_t i = 0; i < p->count; i++) {
        const emp_onnx_timed_node *t = &p->node[i];
        at[i] = t->index >= 0 && t->index < count ? (int32_t)t->index : -1;
        if (t->index < 0 || (at[i] >= 0 && !is_of(t, &node[at[i]]))) return -1;
        found += at[i] >= 0;
    }
    return found;
}

/* Nodes of the model by name, and those without by type: the first of each, and the next one. */
typedef struct {
    emp_strmap by_name, by_type;
    int32_t   *next;
} index_of;

static emp_status open_index(index_of *x, const emp_import_node *node, int32_t count,
                             emp_error *err)
{
    EMP_CHECK(EMP_ALLOC(x->next, (size_t)count));
    for (int32_t i = count - 1; i >= 0; i--) {
        bool        has_name = node[i].name[0] != '\0';
        const char *key = has_name ? node[i].name : node[i].type;
        emp_strmap *map = has_name ? &x->by_name : &x->by_type;
        x->next[i] = emp_strmap_get(map, key, strlen(key));
        EMP_CHECK(emp_strmap_set(map, key, strlen(key), i, err));
    }
    return EMP_OK;
}

/* The first node of that name or type that is not taken yet, or -1. */
static int32_t take_node(index_of *x, bool *is_taken, const emp_strmap *map,
                         emp_slice key)
{
    int32_t first = emp_strmap_get(map, key.data, key.size), node = first;

    while (node >= 0 && is_taken[node]) node = x->next[node];
    if (node < 0) return -1;
    is_taken[node] = true;
    x->next[first] = x->next[node]; /* the first one is taken, too */
    return node;
}

/* Finds the node of each timed node by its name, else by its type; *named: how many have the name. */
static emp_status match_names(int32_t *at, int32_t *named, const emp_onnx_profile *p,
                              const emp_import_node *node, int32_t count, emp_error *err)
{
    emp_status st = EMP_OK;
    index_of   x = {0};
    bool      *is_taken = NULL;

    EMP_TRY(EMP_ALLOC(is_taken, (size_t)count));
    EMP_TRY(open_index(&x, node, count, err));
    for (int32_t i = 0; i < p->count; i++) {
        const emp_onnx_timed_node *t = &p->node[i];
        at[i] = take_node(&x, is_taken, &x.by_name, t->name);
        *named += at[i] >= 0;
        if (at[i] < 0 && is_nameless(t))
            at[i] = take_node(&x, is_taken, &x.by_type,
                              (emp_slice){t->type, strlen(t->type)});
    }

cleanup:
    emp_strmap_clear(&x.by_name);
    emp_strmap_clear(&x.by_type);
    emp_free(x.next);
    emp_free(is_taken);
    return st;
}

static void add_time(emp_onnx_node_time *time, double us)
{
    time->us = (time->us < 0.0 ? 0.0 : time->us) + us;
    time->has_time = true;
}

/* The node whose group a node is of. */
static int32_t group_of(const emp_onnx_node_time *time, int32_t node)
{
    while (time[node].group != node) node = time[node].group;
    return node;
}

/* Adds a time to a group of the nodes without time from first to the one before end; false: there is none. */
static bool add_to_span(emp_onnx_node_time *time, const emp_import_node *node,
                        int32_t first, int32_t end, double us)
{
    int32_t group = -1;

    for (int32_t i = first; i < end; i++) {
        if (time[i].has_time || (node[i].op == NULL && node[i].into < 0)) continue;
        if (group < 0) group = group_of(time, i);
        time[group_of(time, i)].group = group;
    }
    if (group < 0) return false;
    time[group].us = (time[group].us < 0.0 ? 0.0 : time[group].us) + us;
    return true;
}

/* Gives times of nodes that the model does not have to the nodes without time between those that ran before and
 * after; if there are none, to the one before, or after. */
static void add_others(emp_onnx_node_time *time, const int32_t *at,
                       const emp_onnx_profile *p, const emp_import_node *node,
                       int32_t count)
{
    int32_t before = -1;

    for (int32_t i = 0; i < p->count; i++) {
        int32_t after = i;
        double  us = 0.0;
        while (after < p->count && at[after] < 0) us += p->node[after++].us;
        int32_t end = after < p->count ? at[after] : count;
        if (after > i && !add_to_span(time, node, before + 1, end, us))
            add_time(&time[before >= 0 ? before : end], us);
        if (after == p->count) return;
        before = at[after];
        i = after;
    }
}

emp_status emp_onnx_profile_match(emp_onnx_node_time *time, int32_t *unmatched,
                                  const emp_onnx_profile *profile,
                                  const emp_import_node *node, int32_t count,
                                  emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t   *at = NULL, *by_name = NULL, named = 0;

    *unmatched = 0;
    EMP_TRY(EMP_ALLOC(at, (size_t)profile->count));
    EMP_TRY(EMP_ALLOC(by_name, (size_t)profile->count));
    EMP_TRY(match_names(by_name, &named, profile, node, count, err));
    int32_t found = match_indices(at, profile, node, count);
    if (found <= 0 || found < named)
        memcpy(at, by_name, (size_t)profile->count * sizeof *at);
    for (int32_t i = 0; i < count; i++)
        time[i] = (emp_onnx_node_time){.us = -1.0,
                                       .group = node[i].into < 0 ? i : node[i].into};
    for (int32_t i = 0; i < profile->count; i++) {
        if (at[i] >= 0)
            add_time(&time[at[i]], profile->node[i].us);
        else
            ++*unmatched;
    }
    if (*unmatched < profile->count) add_others(time, at, profile, node, count);
    for (int32_t i = count - 1; i >= 0; i--) {
        int32_t group = group_of(time, i);
        if (group != i && time[i].us >= 0.0) add_time(&time[group], time[i].us);
        time[i].group = group;
    }

cleanup:
    emp_free(at);
    emp_free(by_name);
    return st;
}
