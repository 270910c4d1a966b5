// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options/placement_input.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/collections.h"
#include "base/io/input.h"
#include "base/mem.h"
#include "base/text/file.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "cli/cli.h"
#include "cli/options/device_map.h"
#include "graphs/import/node_devices.h"
#include "graphs/import/traces/step_graph.h"
#include "run/methods.h"
#include "run/store/store.h"
#include "sim/machine/queries/check.h"

enum {
    MOST_GPUS = 1 << 16, /* a larger number is a mistake */
    LEAST_BYTES = 9      /* of a line: "":"cpu" */
};

/* The rest of a line. */
typedef struct {
    const char *at, *end;
} cursor;

static void skip_blanks(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\r')) c->at++;
}

static bool take_here(cursor *c, const char *word)
{
    size_t size = strlen(word);

    if ((size_t)(c->end - c->at) < size || memcmp(c->at, word, size) != 0) return false;
    c->at += size;
    return true;
}

static bool take(cursor *c, const char *word)
{
    skip_blanks(c);
    return take_here(c, word);
}

static bool is_over(cursor *c)
{
    skip_blanks(c);
    return c->at == c->end || *c->at == '#';
}

/* A literal of Python, in which a backslash stands only before a quote or a backslash. Its bytes go to \a to. */
static bool take_literal(cursor *c, char *to, size_t *length)
{
    *length = 0;
    if (!take(c, "\"")) return false;
    for (; c->at < c->end && *c->at != '"'; c->at++) {
        if (*c->at == '\\' && (++c->at == c->end || (*c->at != '"' && *c->at != '\\')))
            return false;
        to[(*length)++] = *c->at;
    }
    return take_here(c, "\"");
}

static bool take_gpu(cursor *c, int32_t *gpu)
{
    const char *first = c->at;

    for (*gpu = 0; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        *gpu = *gpu * 10 + (*c->at - '0');
        if (*gpu >= MOST_GPUS) return false;
    }
    return c->at > first;
}

static bool take_device(cursor *c, int32_t *gpu)
{
    if (!take(c, "\"")) return false;
    *gpu = CLI_MAP_CPU;
    if (take_here(c, "cpu\"")) return true;
    return take_here(c, "cuda:") && take_gpu(c, gpu) && take_here(c, "\"");
}

/* "model.norm": "cuda:0",  # a comment */
static bool take_entry(cursor *c, cli_map_entry *entry, char *text)
{
    entry->module = text;
    if (!take_literal(c, text, &entry->length)) return false;
    if (!take(c, ":") || !take_device(c, &entry->gpu)) return false;
    return (take(c, ",") || true) && is_over(c);
}

static cursor next_line(cursor *file)
{
    const char *end = memchr(file->at, '\n', (size_t)(file->end - file->at));
    cursor      line = {file->at, end != NULL ? end : file->end};

    file->at = end != NULL ? end + 1 : file->end;
    return line;
}

/* Moves behind the line with which the dictionary begins. */
static bool find_dictionary(cursor *file, int32_t *line)
{
    while (file->at < file->end) {
        cursor c = next_line(file);
        ++*line;
        if (take(&c, "DEVICE_MAP") && take(&c, "=") && take(&c, "{") && is_over(&c))
            return true;
    }
    return false;
}

static emp_status add_entry(cli_map_file *map, const cli_map_entry *entry,
                            const char *path, emp_error *err)
{
    int32_t before = emp_strmap_get(&map->entry_of_module, entry->module, entry->length);

    if (before >= 0)
        return EMP_ERROR(EMP_EFORMAT, "%s:%d: \"%.*s\" has a device already, in line %d",
                         path, entry->line, (int)entry->length, entry->module,
                         map->entry[before].line);
    map->entry[map->count] = *entry;
    return emp_strmap_set(&map->entry_of_module, entry->module, entry->length,
                          map->count++, err);
}

static emp_status read_entries(cli_map_file *map, cursor *file, int32_t line,
                               const char *path, emp_error *err)
{
    char *text = map->text;

    while (file->at < file->end) {
        cursor        c = next_line(file);
        cli_map_entry entry = {.line = ++line};
        if (is_over(&c)) continue;
        if (take(&c, "}")) return EMP_OK;
        if (!take_entry(&c, &entry, text))
            return EMP_ERROR(EMP_EFORMAT,
                             "%s:%d: a line of DEVICE_MAP is \"module\": \"cuda:N\", or "
                             "\"module\": \"cpu\",",
                             path, line);
        text += entry.length;
        EMP_CHECK(add_entry(map, &entry, path, err));
    }
    return EMP_ERROR(EMP_EFORMAT, "%s ends within DEVICE_MAP; a line \"}\" is to end it",
                     path);
}

/* A line has more bytes than the path in it, so all paths fit into as many as the file has. */
emp_status cli_map_file_parse(cli_map_file *map, const char *bytes, size_t size,
                              const char *path, emp_error *err)
{
    cursor  file = {bytes, bytes + size};
    int32_t line = 0;

    if (!find_dictionary(&file, &line))
        return EMP_ERROR(EMP_EFORMAT,
                         "%s has no line \"DEVICE_MAP = {\", so it is no device_map of "
                         "PyTorch; name the .json that --out has written",
                         path);
    EMP_CHECK(EMP_ALLOC(map->entry, size / LEAST_BYTES + 1));
    EMP_CHECK(EMP_ALLOC(map->text, size));
    return read_entries(map, &file, line, path, err);
}

int32_t cli_map_file_find(const cli_map_file *map, const char *name, size_t length)
{
    int32_t entry = emp_strmap_get(&map->entry_of_module, name, length);

    while (entry < 0 && length > 0) {
        do length--;
        while (length > 0 && name[length] != '.');
        entry = emp_strmap_get(&map->entry_of_module, name, length);
    }
    return entry;
}

void cli_map_file_clear(cli_map_file *map)
{
    emp_free(map->entry);
    emp_free(map->text);
    emp_strmap_clear(&map->entry_of_module);
    *map = (cli_map_file){0};
}

enum { MOST_BYTES = 1 << 24, NOWHERE = -1 };

typedef struct {
    const emp_problem *problem;
    const char        *path;
    cli_map_file       map;
    emp_device_id     *device_of_entry;
    bool              *is_used; /* [entry] an op is of it */
    bool              *is_told; /* [op] its module places it */
    emp_device_id     *device_of_op;
} reader;

/* ---- devices ---- */

static emp_device_id find_device(const emp_machine *m, int32_t gpu)
{
    char name[32] = "cpu:0";

    if (gpu != CLI_MAP_CPU) snprintf(name, sizeof name, "gpu:%d", gpu);
    for (emp_device_id d = 0; d < m->device_count; d++)
        if (strcmp(m->device[d].name, name) == 0) return d;
    return NOWHERE;
}

static emp_status find_devices(reader *r, emp_error *err)
{
    const emp_machine *m = r->problem->machine;

    if (emp_machine_count(m, EMP_DEVICE_CPU) > 1)
        return EMP_ERROR(EMP_EINVAL, "%s: a device_map is of one computer, and %s has %d",
                         r->path, m->name, emp_machine_count(m, EMP_DEVICE_CPU));
    EMP_CHECK(EMP_ALLOC(r->device_of_entry, (size_t)r->map.count));
    for (int32_t i = 0; i < r->map.count; i++) {
        const cli_map_entry *e = &r->map.entry[i];
        r->device_of_entry[i] = find_device(m, e->gpu);
        if (r->device_of_entry[i] == NOWHERE)
            return EMP_ERROR(
                EMP_EINVAL, "%s:%d: machine %s has no cuda:%d; it has %d GPU%s", r->path,
                e->line, m->name, e->gpu, emp_machine_count(m, EMP_DEVICE_GPU),
                emp_units_plural(emp_machine_count(m, EMP_DEVICE_GPU)));
    }
    return EMP_OK;
}

/* ---- ops with a module ---- */

static emp_status place_modules(reader *r, emp_error *err)
{
    const emp_graph *g = r->problem->graph;

    EMP_CHECK(EMP_ALLOC(r->is_used, (size_t)r->map.count));
    EMP_CHECK(EMP_ALLOC(r->is_told, (size_t)g->op_count));
    for (emp_op_id op = 0; op < g->op_count; op++) {
        size_t  length = cli_path_length(g->name[op], r->problem->workload);
        int32_t entry = cli_map_file_find(&r->map, g->name[op], length);
        r->device_of_op[op] = entry < 0 ? NOWHERE : r->device_of_entry[entry];
        r->is_told[op] = entry >= 0;
        if (entry >= 0) r->is_used[entry] = true;
    }
    return EMP_OK;
}

/* A model has modules without ops, such as a dropout that does nothing. */
static emp_status check_modules(const reader *r, emp_error *err)
{
    const cli_map_entry *first = NULL;
    int32_t              idle = 0;

    for (int32_t i = 0; i < r->map.count; i++)
        if (!r->is_used[i] && idle++ == 0) first = &r->map.entry[i];
    if (idle == r->map.count)
        return EMP_ERROR(EMP_EFORMAT, "%s: no module of it has an op in %s", r->path,
                         r->problem->workload);
    if (idle > 0)
        cli_warn("%s: %d of %d modules %s no op in %s: the first is \"%.*s\" in line %d",
                 r->path, idle, r->map.count, idle == 1 ? "has" : "have",
                 r->problem->workload, (int)first->length, first->module, first->line);
    return EMP_OK;
}

/* ---- the others ---- */

/* An input that its module places, else any that has a device. */
static emp_device_id device_of_inputs(const reader *r, emp_op_id op)
{
    const emp_graph *g = r->problem->graph;
    emp_device_id    any = NOWHERE;

    for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++) {
        emp_op_id producer = g->tensor[g->input[i]].producer;
        if (r->is_told[producer]) return r->device_of_op[producer];
        if (any == NOWHERE) any = r->device_of_op[producer];
    }
    for (int32_t i = g->control_offset[op];
         any == NOWHERE && i < g->control_offset[op + 1]; i++)
        any = r->device_of_op[g->control[i]];
    return any;
}

static emp_device_id device_of_readers(const reader *r, emp_op_id op)
{
    const emp_graph *g = r->problem->graph;

    for (int32_t t = g->output_offset[op]; t < g->output_offset[op + 1]; t++) {
        for (int32_t i = g->consumer_offset[t]; i < g->consumer_offset[t + 1]; i++)
            if (r->device_of_op[g->consumer[i]] != NOWHERE)
                return r->device_of_op[g->consumer[i]];
    }
    return NOWHERE;
}

/* By their inputs from the first op on, then by their readers from the last. The remaining ops touch no
 * module. */
static int32_t place_others(reader *r)
{
    const emp_graph *g = r->problem->graph;
    int32_t          count = 0;

    for (int32_t i = 0; i < g->op_count; i++) {
        emp_op_id op = g->topo[i];
        if (r->is_told[op]) continue;
        r->device_of_op[op] = device_of_inputs(r, op);
        count++;
    }
    for (int32_t i = g->op_count - 1; i >= 0; i--) {
        emp_op_id op = g->topo[i];
        if (r->device_of_op[op] == NOWHERE)
            r->device_of_op[op] = device_of_readers(r, op);
    }
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (r->device_of_op[op] == NOWHERE) r->device_of_op[op] = r->device_of_entry[0];
    return count;
}

static emp_status load(reader *r, emp_error *err)
{
    const int32_t ops = r->problem->graph->op_count;

    EMP_CHECK(find_devices(r, err));
    EMP_CHECK(place_modules(r, err));
    EMP_CHECK(check_modules(r, err));
    const int32_t others = place_others(r);
    if (others > 0)
        cli_warn("%s: %d of %d ops name no module of it, and go where their inputs are",
                 r->path, others, ops);
    return EMP_OK;
}

/* Fills device_of_op[op_count], which need not be legal, and warns of how many ops name no module.
 * O(V + E + bytes).
 * \retval EMP_EFORMAT  cli_map_file_parse()'s, or no module has an op.
 * \retval EMP_EINVAL   A device is not on the machine, or the machine has several hosts.
 * \retval EMP_EIO, EMP_ENOMEM */
static emp_status cli_device_map_load(emp_device_id *device_of_op, const char *path,
                                      const emp_problem *problem, emp_error *err)
{
    emp_status st = EMP_OK;
    reader     r = {.problem = problem, .path = path, .device_of_op = device_of_op};
    char      *bytes = NULL;
    size_t     size = 0;

    EMP_TRY(emp_whole_file_load(&bytes, &size, path, MOST_BYTES, err));
    EMP_TRY(cli_map_file_parse(&r.map, bytes, size, path, err));
    EMP_TRY(load(&r, err));

cleanup:
    emp_free(bytes);
    emp_free(r.device_of_entry);
    emp_free(r.is_used);
    emp_free(r.is_told);
    cli_map_file_clear(&r.map);
    return st;
}

typedef struct {
    const emp_problem *problem;
    emp_device_id     *device_of_op;
    emp_strmap         op_of_name;
    int32_t            unnamed; /* ops without a device */
} device_reader;

static emp_status place_node(void *context, emp_slice name, emp_slice device,
                             emp_error *err)
{
    device_reader     *r = (device_reader *)context;
    const emp_machine *m = r->problem->machine;
    int32_t            op = emp_strmap_get(&r->op_of_name, name.data, name.size);

    if (op < 0) return EMP_OK;
    r->device_of_op[op] = emp_device_name_find(m, device.data, device.size);
    r->unnamed += device.size == 0;
    if (r->device_of_op[op] >= 0) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL,
                     "op '%.*s' is on \"%.*s\", which fits no device of machine '%s': it "
                     "has %d CPU%s and %d GPU%s",
                     EMP_SLICE_ARG(name), EMP_SLICE_ARG(device), m->name,
                     emp_machine_count(m, EMP_DEVICE_CPU),
                     emp_units_plural(emp_machine_count(m, EMP_DEVICE_CPU)),
                     emp_machine_count(m, EMP_DEVICE_GPU),
                     emp_units_plural(emp_machine_count(m, EMP_DEVICE_GPU)));
}

static emp_status check(const device_reader *r, const char *path, emp_error *err)
{
    const emp_graph *g = r->problem->graph;

    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (r->device_of_op[op] < 0)
            return EMP_ERROR(EMP_EINVAL, "%s: there is no op '%s', which a step runs",
                             path, g->name[op]);
    }
    if (r->unnamed == g->op_count)
        return EMP_ERROR(EMP_EINVAL, "%s names no device for any op of the step", path);
    return EMP_OK;
}

/* Fills device_of_op[op_count] from the nodes of a graph file in memory, unpacked, by name. path is for
 * messages. Ops without
 * a device go where TensorFlow puts them, on the first GPU, which a warning says; nodes that the
 * step does not run are skipped. Not made legal yet.
 * \retval EMP_EINVAL  The file names no device at all, lacks an op, or names a device that the
 *                     machine does not have; the message names the op. Else as
 *                     emp_nodes_each_device(). */
static emp_status cli_graph_devices_parse(emp_device_id *device_of_op, const char *bytes,
                                          size_t size, const char *path,
                                          const emp_problem *problem, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *g = problem->graph;
    device_reader    r = {.problem = problem, .device_of_op = device_of_op};

    for (emp_op_id op = 0; op < g->op_count; op++) {
        device_of_op[op] = -1;
        EMP_TRY(emp_strmap_set(&r.op_of_name, g->name[op], strlen(g->name[op]), op, err));
    }
    EMP_TRY(emp_nodes_each_device_in(bytes, size, path, place_node, &r, err));
    EMP_TRY(check(&r, path, err));
    if (r.unnamed > 0)
        cli_warn(
            "%s: %d of %d ops name no device and go to %s, as TensorFlow puts them", path,
            r.unnamed, g->op_count,
            problem->machine->device[emp_device_name_find(problem->machine, "", 0)].name);

cleanup:
    emp_strmap_clear(&r.op_of_name);
    return st;
}

enum { SEARCH_BUDGET = 100 };

/* ---- opening ---- */

static emp_status open_record(cli_decision_file *f, emp_error *err)
{
    EMP_CHECK(emp_record_load(&f->record, f->path, err));
    emp_input_keep(f->path);
    f->origin = emp_record_origin(&f->record);
    return EMP_OK;
}

static emp_status open_by_content(cli_decision_file *f, emp_error *err)
{
    EMP_CHECK(emp_file_load_named(f->path, &f->bytes, &f->size, err));
    if (emp_nodes_syntax_in(f->bytes, f->size) != EMP_NODES_NONE) {
        f->form = CLI_DECISION_GRAPH;
        return EMP_OK;
    }
    EMP_CHECK(emp_placement_file_parse(&f->placement, f->bytes, f->size, f->path, err));
    f->origin = *emp_placement_file_origin(f->placement);
    emp_free(f->bytes);
    f->bytes = NULL;
    return EMP_OK;
}

emp_status cli_decision_open(cli_decision_file *f, const char *path, emp_error *err)
{
    *f = (cli_decision_file){.path = path, .origin.step_time_s = NAN};
    if (emp_text_ends_in(path, ".h5")) {
        f->form = CLI_DECISION_RECORD;
        return open_record(f, err);
    }
    if (!emp_text_ends_in(path, ".py")) return open_by_content(f, err);
    f->form = CLI_DECISION_MAP; /* it is read with the graph */
    return EMP_OK;
}

void cli_decision_close(cli_decision_file *f)
{
    emp_placement_file_destroy(f->placement);
    emp_record_clear(&f->record);
    emp_free(f->bytes);
}

/* ---- what moves ---- */

/* Ops that were moved for one reason. */
typedef struct {
    int32_t   count;
    emp_op_id first;
} moved_ops;

static void count_op(moved_ops *moved, emp_op_id op)
{
    if (moved->count++ == 0) moved->first = op;
}

static bool runs_on(const emp_problem *p, emp_op_id op, emp_device_id device)
{
    bool is_gpu = p->machine->device[device].kind == EMP_DEVICE_GPU;

    return (p->graph->op[op].kinds & (is_gpu ? EMP_KIND_GPU : EMP_KIND_CPU)) != 0;
}

static void warn_of_moves(const char *path, const emp_problem *p, const moved_ops *moved,
                          const emp_device_id *asked, const emp_device_id *got,
                          const char *why)
{
    const emp_device *device = p->machine->device;
    emp_op_id         first = moved->first;

    if (moved->count == 0) return;
    cli_warn("%s: %d op%s moved, as %s: the first is '%s', from %s to %s", path,
             moved->count, moved->count == 1 ? " is" : "s are", why,
             p->graph->name[first], device[asked[first]].name, device[got[first]].name);
}

/* Makes it legal, and says what that changes and why. */
static emp_status legalize(emp_device_id *device_of_op, const char *path,
                           const emp_problem *problem, emp_error *err)
{
    emp_status     st = EMP_OK;
    size_t         op_count = (size_t)problem->graph->op_count;
    emp_device_id *asked = EMP_NEW_ARRAY(emp_device_id, op_count);
    moved_ops      no_gpu_kernel = {0}, gpu_only = {0}, colocated = {0}, forbidden = {0};

    if (asked == NULL) EMP_FAIL(EMP_ENOMEM, "placement of %zu ops", op_count);
    memcpy(asked, device_of_op, op_count * sizeof *asked);
    emp_problem_legalize(problem, device_of_op);
    for (emp_op_id op = 0; op < problem->graph->op_count; op++) {
        if (asked[op] == device_of_op[op]) continue;
        bool is_cpu = problem->machine->device[asked[op]].kind == EMP_DEVICE_CPU;
        if (!runs_on(problem, op, asked[op]))
            count_op(is_cpu ? &gpu_only : &no_gpu_kernel, op);
        else if (is_cpu && !emp_problem_allows(problem, op, asked[op]))
            count_op(&forbidden, op);
        else
            count_op(&colocated, op);
    }
    warn_of_moves(path, problem, &no_gpu_kernel, asked, device_of_op,
                  "there is no kernel for a GPU");
    warn_of_moves(path, problem, &gpu_only, asked, device_of_op, "only GPUs run them");
    warn_of_moves(path, problem, &forbidden, asked, device_of_op,
                  problem->sequence == NULL ? "CPUs are forbidden"
                                            : "the output gives nothing to that CPU");
    warn_of_moves(path, problem, &colocated, asked, device_of_op,
                  problem->sequence == NULL
                      ? "colocated ops share a device"
                      : "the output has layers of a device follow one another");

cleanup:
    emp_free(asked);
    return st;
}

static void warn_of_rules(const char *path, const emp_placement_report *report)
{
    if (report->idle_count > 0)
        cli_warn("%s: %d rule%s no op: %s", path, report->idle_count,
                 report->idle_count == 1 ? " places" : "s place", report->idle);
}

/* ---- reading ---- */

/* The best decision of a run, or of its checkpoint. */
static emp_status read_record(emp_owned_decision *decision, const cli_decision_file *f,
                              const emp_problem *problem, emp_error *err)
{
    const emp_record  *r = &f->record;
    const emp_machine *m = problem->machine;

    if (r->graph_hash != problem->graph->hash ||
        r->decision.op_count != problem->graph->op_count)
        return EMP_ERROR(EMP_EINVAL, "%s is of %s, whose graph differs from %s", f->path,
                         r->workload, problem->workload);
    for (emp_op_id op = 0; op < r->decision.op_count; op++) {
        const emp_device_id device = r->decision.device_of_op[op];
        if (device < 0 || device >= m->device_count)
            return EMP_ERROR(EMP_EINVAL, "%s places ops on %s; %s has no device %d",
                             f->path, r->machine, m->name, device);
    }
    EMP_CHECK(emp_decision_init(decision, r->decision.op_count,
                                emp_decision_decides(&r->decision), err));
    emp_decision_copy(decision, &r->decision);
    return EMP_OK;
}

static emp_status read_devices(emp_owned_decision *decision, const cli_decision_file *f,
                               const emp_problem *problem, emp_error *err)
{
    EMP_CHECK(
        emp_decision_init(decision, problem->graph->op_count, EMP_DECIDES_DEVICES, err));
    if (f->form == CLI_DECISION_GRAPH)
        return cli_graph_devices_parse(decision->device_of_op, f->bytes, f->size, f->path,
                                       problem, err);
    EMP_CHECK(cli_device_map_load(decision->device_of_op, f->path, problem, err));
    emp_input_keep(f->path);
    return EMP_OK;
}

emp_status cli_decision_read(emp_owned_decision *decision, const cli_decision_file *f,
                             const emp_problem *problem, emp_error *err)
{
    emp_placement_report report = {0};

    *decision = (emp_owned_decision){0};
    switch (f->form) {
    case CLI_DECISION_RECORD: EMP_CHECK(read_record(decision, f, problem, err)); break;
    case CLI_DECISION_PLACEMENT:
        EMP_CHECK(
            emp_placement_file_decide(decision, f->placement, problem, &report, err));
        break;
    default: EMP_CHECK(read_devices(decision, f, problem, err));
    }
    warn_of_rules(f->path, &report);
    return legalize(decision->device_of_op, f->path, problem, err);
}

emp_status cli_decision_load(emp_owned_decision *decision, const char *path,
                             const emp_problem *problem, emp_error *err)
{
    emp_status        st = EMP_OK;
    cli_decision_file file;

    *decision = (emp_owned_decision){0};
    EMP_TRY(cli_decision_open(&file, path, err));
    EMP_TRY(cli_decision_read(decision, &file, problem, err));

cleanup:
    cli_decision_close(&file);
    return st;
}

/* ---- methods ---- */

emp_status cli_placement_by_method(emp_device_id *device_of_op, bool *is_partial,
                                   const char *method, const cli_run_options *options,
                                   const emp_problem *problem, emp_error *err)
{
    emp_status        st = EMP_OK;
    const emp_method *type = NULL;
    emp_record        record = {0};
    cli_run_options   usual = cli_run_options_default();

    if (options == NULL) options = &usual;
    EMP_TRY(emp_method_find(&type, method, err));
    EMP_TRY(cli_run(&record, NULL, options, problem, type, SEARCH_BUDGET, err));
    memcpy(device_of_op, record.decision.device_of_op,
           (size_t)record.decision.op_count * sizeof *device_of_op);
    const bool is_ended = strcmp(record.stopped_by, "interrupt") == 0;
    if (is_partial != NULL) *is_partial = is_ended;
    if (is_ended && is_partial == NULL) {
        cli_say("emplace: ", "interrupted");
        st = EMP_EINTERRUPTED;
    }

cleanup:
    emp_record_clear(&record);
    return st;
}

emp_status cli_trace_devices_load(emp_device_id *device_of_op, const emp_problem *problem,
                                  emp_error *err)
{
    const emp_graph   *g = problem->graph;
    const emp_machine *m = problem->machine;
    bool               is_own = strcmp(m->name, EMP_OWN_MACHINE) == 0;
    emp_device_id      gpus[EMP_MAX_DEVICES];
    int32_t            gpu_count = 0;

    for (emp_device_id d = 0; d < m->device_count; d++)
        if (m->device[d].kind == EMP_DEVICE_GPU) gpus[gpu_count++] = d;
    EMP_CHECK(emp_trace_where(device_of_op, g, is_own, err));
    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t gpu = device_of_op[op];
        if (gpu >= gpu_count)
            return EMP_ERROR(
                EMP_EINVAL, "op '%s' ran on GPU %d, and machine '%s' has %d GPU%s",
                g->name[op], gpu, m->name, gpu_count, emp_units_plural(gpu_count));
        device_of_op[op] = gpu < 0 ? 0 : gpus[gpu];
    }
    return EMP_OK;
}
