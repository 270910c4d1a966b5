// SPDX-License-Identifier: GPL-3.0-or-later
#include "baselines/schedulers/task_graph.h"

#include <stdlib.h>

#include "base/collections.h"
#include "base/mem.h"
#include "search/groups/colocation_groups.h"

/* Which ops make up a task: sets of ops that share a pin, such that the graph of the sets
 * has no cycle (EMP_TASKS_FUSED has the rule), in a topological order. */

typedef struct {
    const emp_graph *graph;  /**< borrowed */
    int32_t         *parent; /**< [op] towards the root of its set; -1: folded */
    emp_op_id       *next;   /**< [op] the next member of its set; -1 = the last */
    emp_op_id       *last;   /**< [root] the last member; the root is the first */
    int32_t          set_count;
    emp_op_id       *root_of_set; /**< [set] in topological order */
    emp_arrays       arrays;      /**< all of these */
} fusion;

/* Makes sets of one op each. \retval EMP_ENOMEM */
static emp_status fusion_init(fusion *f, const emp_graph *graph, emp_error *err)
{
    size_t ops = (size_t)graph->op_count;

    *f = (fusion){.graph = graph};
    f->parent = EMP_ADD_ARRAY(&f->arrays, int32_t, ops);
    f->next = EMP_ADD_ARRAY(&f->arrays, emp_op_id, ops);
    f->last = EMP_ADD_ARRAY(&f->arrays, emp_op_id, ops);
    f->root_of_set = EMP_ADD_ARRAY(&f->arrays, emp_op_id, ops);
    if (f->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "tasks of %d ops", graph->op_count);
    for (emp_op_id op = 0; op < graph->op_count; op++) {
        f->parent[op] = graph->op[op].is_folded ? -1 : op;
        f->next[op] = -1;
        f->last[op] = op;
    }
    return EMP_OK;
}

static void fusion_clear(fusion *f) { emp_arrays_clear(&f->arrays); }

/* The producers' set joins the readers' at its front, so that members stay in an order in
 * which they can run. */
static void unite(fusion *f, emp_op_id producer, emp_op_id reader)
{
    f->parent[reader] = producer;
    f->next[f->last[producer]] = reader;
    f->last[producer] = f->last[reader];
}

enum { NONE = -1, SEVERAL = -2 };

/* Adds an op to a set's neighbours: the only neighbour so far, NONE or SEVERAL. */
static emp_op_id add_neighbor(const fusion *f, emp_op_id known, emp_op_id own,
                              emp_op_id op)
{
    if (f->parent[op] < 0) return known; /* folded */
    emp_op_id root = emp_disjoint_root(f->parent, op);
    if (root == own || root == known) return known;
    return known == NONE ? root : SEVERAL;
}

/* The one set that waits for this one; NONE or SEVERAL. */
static emp_op_id only_reader(const fusion *f, emp_op_id root)
{
    const emp_graph *g = f->graph;
    emp_op_id        found = NONE;

    for (emp_op_id op = root; op >= 0 && found != SEVERAL; op = f->next[op]) {
        int32_t from = g->consumer_offset[g->output_offset[op]];
        int32_t to = g->consumer_offset[g->output_offset[op + 1]];
        for (int32_t i = from; i < to && found != SEVERAL; i++)
            found = add_neighbor(f, found, root, g->consumer[i]);
        from = g->control_out_offset[op], to = g->control_out_offset[op + 1];
        for (int32_t i = from; i < to && found != SEVERAL; i++)
            found = add_neighbor(f, found, root, g->control_out[i]);
    }
    return found;
}

/* The one set that this one waits for. */
static emp_op_id only_producer(const fusion *f, emp_op_id root)
{
    const emp_graph *g = f->graph;
    emp_op_id        found = NONE;

    for (emp_op_id op = root; op >= 0 && found != SEVERAL; op = f->next[op]) {
        int32_t from = g->input_offset[op], to = g->input_offset[op + 1];
        for (int32_t i = from; i < to && found != SEVERAL; i++)
            found = add_neighbor(f, found, root, g->tensor[g->input[i]].producer);
        from = g->control_offset[op], to = g->control_offset[op + 1];
        for (int32_t i = from; i < to && found != SEVERAL; i++)
            found = add_neighbor(f, found, root, g->control[i]);
    }
    return found;
}

/* Unites sets of ops of equal \a pin_of_op until nothing changes. O(V + E) a round. */
static void fusion_run(fusion *f, const int32_t *pin_of_op)
{
    const emp_graph *g = f->graph;
    bool             has_changed = true;

    while (has_changed) {
        has_changed = false;
        for (int32_t i = g->op_count - 1; i >= 0; i--) {
            emp_op_id op = g->topo[i];
            if (f->parent[op] != op) continue;
            emp_op_id reader = only_reader(f, op);
            if (reader < 0 || pin_of_op[reader] != pin_of_op[op]) continue;
            unite(f, op, reader);
            has_changed = true;
        }
        for (int32_t i = 0; i < g->op_count; i++) {
            emp_op_id op = g->topo[i];
            if (f->parent[op] != op) continue;
            emp_op_id producer = only_producer(f, op);
            if (producer < 0 || pin_of_op[producer] != pin_of_op[op]) continue;
            unite(f, producer, op);
            has_changed = true;
        }
    }
}

/* An edge from one set to another is seen (change +1) or gone (-1). */
static void count_edge(fusion *f, int32_t *missing, emp_op_id own, emp_op_id reader,
                       int32_t change)
{
    if (f->parent[reader] < 0) return;
    emp_op_id root = emp_disjoint_root(f->parent, reader);
    if (root == own) return;
    missing[root] += change;
    if (change < 0 && missing[root] == 0) f->root_of_set[f->set_count++] = root;
}

static void count_edges(fusion *f, int32_t *missing, emp_op_id root, int32_t change)
{
    const emp_graph *g = f->graph;

    for (emp_op_id op = root; op >= 0; op = f->next[op]) {
        int32_t from = g->consumer_offset[g->output_offset[op]];
        int32_t to = g->consumer_offset[g->output_offset[op + 1]];
        for (int32_t i = from; i < to; i++)
            count_edge(f, missing, root, g->consumer[i], change);
        for (int32_t i = g->control_out_offset[op]; i < g->control_out_offset[op + 1];
             i++)
            count_edge(f, missing, root, g->control_out[i], change);
    }
}

/* Fills set_count and root_of_set. O(V + E). \retval EMP_ENOMEM */
static emp_status fusion_sort(fusion *f, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *g = f->graph;
    int32_t         *missing = EMP_NEW_ARRAY(int32_t, (size_t)g->op_count);

    f->set_count = 0;
    if (missing == NULL) EMP_FAIL(EMP_ENOMEM, "order of %d ops", g->op_count);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (f->parent[op] == op) count_edges(f, missing, op, 1);
    }
    for (int32_t i = 0; i < g->op_count; i++) {
        emp_op_id op = g->topo[i];
        if (f->parent[op] == op && missing[op] == 0) f->root_of_set[f->set_count++] = op;
    }
    for (int32_t i = 0; i < f->set_count; i++)
        count_edges(f, missing, f->root_of_set[i], -1);

cleanup:
    emp_free(missing);
    return st;
}

/* The state while a task graph is made. */
typedef struct {
    emp_task_graph    *graph;
    const emp_problem *problem;
    fusion             fusion;
    int32_t           *pin_of_op; /**< [op] */
    int32_t           *seen;      /**< [task] the last tensor that it reads, plus 1 */
    int32_t            reader_count;
    emp_arrays         arrays;
} builder;

/* No sum of so many such reaches 2^61. */
static int64_t at_most(int64_t value, int64_t count)
{
    int64_t limit = (INT64_C(1) << 61) / (count + 1);

    return value < limit ? value : limit;
}

/* ---- pins ---- */

static void pin_classes(builder *b)
{
    const emp_graph *g = b->problem->graph;

    for (emp_op_id op = 0; op < g->op_count; op++)
        b->pin_of_op[op] = g->op[op].colocation_class;
    b->graph->pin_count = g->class_count;
}

/* Variables that a group may have: half of what the smallest GPU holds. */
static int64_t largest_group_bytes(const emp_problem *p)
{
    int64_t least = EMP_SIM_ENDLESS;

    for (emp_device_id d = 0; d < p->machine->device_count; d++) {
        const int64_t bytes = emp_problem_memory_bytes(p, d);
        if (p->machine->device[d].kind == EMP_DEVICE_GPU && bytes < least) least = bytes;
    }
    return least / 2;
}

/* A model whose ops all lead to one, such as a language model that writes a token, is one group. Groups that are too
 * large for a device are taken apart again. */
static emp_status part_large_groups(builder *b, int32_t *group, int32_t group_count,
                                    emp_error *err)
{
    const emp_graph *g = b->problem->graph;
    const int64_t    most = largest_group_bytes(b->problem);
    int64_t         *bytes = EMP_ADD_ARRAY(&b->arrays, int64_t, (size_t)group_count);

    if (b->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "%d groups", group_count);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t in = group[g->op[op].colocation_class];
        if (in < 0 || g->op[op].is_folded) continue;
        bytes[in] += at_most(g->op[op].persistent_bytes, g->op_count);
    }
    for (int32_t c = 0; c < g->class_count; c++)
        if (group[c] >= 0 && bytes[group[c]] > most) group[c] = -1;
    return EMP_OK;
}

/* Classes that are in no group are pins of their own, after the groups. */
static emp_status pin_groups(builder *b, emp_error *err)
{
    const emp_graph *g = b->problem->graph;
    int32_t          group_count;
    int32_t         *group = EMP_ADD_ARRAY(&b->arrays, int32_t, (size_t)g->class_count);

    if (group == NULL)
        return EMP_ERROR(EMP_ENOMEM, "groups of %d classes", g->class_count);
    EMP_CHECK(emp_colocation_groups(group, &group_count, b->problem, err));
    EMP_CHECK(part_large_groups(b, group, group_count, err));
    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t c = g->op[op].colocation_class;
        b->pin_of_op[op] = group[c] >= 0 ? group[c] : group_count + c;
    }
    b->graph->pin_count = group_count + g->class_count;
    return EMP_OK;
}

static uint64_t devices_of_kinds(const emp_machine *machine, uint32_t kinds)
{
    uint64_t devices = 0;

    for (emp_device_id d = 0; d < machine->device_count; d++) {
        bool is_gpu = machine->device[d].kind == EMP_DEVICE_GPU;
        if ((kinds & (is_gpu ? EMP_KIND_GPU : EMP_KIND_CPU)) != 0)
            devices |= UINT64_C(1) << d;
    }
    return devices;
}

/* A pin may use what all its classes may, a CPU if there is no such device: some may be forbidden CPUs, and others
 * need one. Persistent bytes are its ops'. */
static emp_status describe_pins(builder *b, emp_task_units units, emp_error *err)
{
    emp_task_graph    *t = b->graph;
    const emp_problem *p = b->problem;
    const emp_graph   *g = p->graph;
    uint64_t           gpus = devices_of_kinds(p->machine, EMP_KIND_GPU);

    t->persistent_bytes = EMP_ADD_ARRAY(&t->arrays, int64_t, (size_t)t->pin_count);
    t->devices_of_pin = EMP_ADD_ARRAY(&t->arrays, uint64_t, (size_t)t->pin_count);
    t->all_devices_of_pin = EMP_ADD_ARRAY(&t->arrays, uint64_t, (size_t)t->pin_count);
    if (t->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "%d groups of tasks", t->pin_count);
    for (int32_t pin = 0; pin < t->pin_count; pin++)
        t->devices_of_pin[pin] = devices_of_kinds(p->machine, ~UINT32_C(0));
    for (emp_op_id op = 0; op < g->op_count; op++) {
        const emp_op *o = &g->op[op];
        int32_t       pin = b->pin_of_op[op];
        if (o->is_folded) continue;
        t->devices_of_pin[pin] &=
            devices_of_kinds(p->machine, p->kinds_of_class[o->colocation_class]);
        t->persistent_bytes[pin] += at_most(o->persistent_bytes, g->op_count);
    }
    for (int32_t pin = 0; pin < t->pin_count; pin++) {
        uint64_t used = t->devices_of_pin[pin] & gpus;
        if (t->devices_of_pin[pin] == 0)
            t->devices_of_pin[pin] = devices_of_kinds(p->machine, EMP_KIND_CPU);
        t->all_devices_of_pin[pin] = t->devices_of_pin[pin];
        if (units != EMP_TASKS_OPS && used != 0) t->devices_of_pin[pin] = used;
    }
    return EMP_OK;
}

/* ---- tasks ---- */

static void add_op_to_task(builder *b, int32_t task, emp_op_id op)
{
    emp_task_graph       *t = b->graph;
    const emp_cost_table *costs = b->problem->costs;
    const emp_machine    *m = t->machine;

    t->task_of_op[op] = task;
    for (emp_device_id d = 0; d < m->device_count; d++) {
        size_t      row = emp_cost_row(costs, d, op);
        emp_time_ns ns =
            m->device[d].kind == EMP_DEVICE_GPU
                ? emp_time_later(costs->gpu[row].compute_ns, costs->gpu[row].issue_ns)
                : costs->cpu[row].compute_ns;
        t->time_ns[(size_t)task * (size_t)m->device_count + (size_t)d] +=
            at_most(ns, b->problem->graph->op_count);
    }
}

static emp_status list_tasks(builder *b, emp_error *err)
{
    emp_task_graph  *t = b->graph;
    const emp_graph *g = b->problem->graph;
    size_t           tasks = (size_t)b->fusion.set_count;

    t->task_count = b->fusion.set_count;
    t->op_count = g->op_count;
    t->time_ns =
        EMP_ADD_ARRAY(&t->arrays, emp_time_ns, tasks * (size_t)t->machine->device_count);
    t->pin_of_task = EMP_ADD_ARRAY(&t->arrays, int32_t, tasks);
    t->workspace_bytes = EMP_ADD_ARRAY(&t->arrays, int64_t, tasks);
    t->name = EMP_ADD_ARRAY(&t->arrays, const char *, tasks);
    t->task_of_op = EMP_ADD_ARRAY(&t->arrays, int32_t, (size_t)g->op_count);
    b->seen = EMP_ADD_ARRAY(&b->arrays, int32_t, tasks);
    if (t->arrays.is_short || b->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "%d tasks", t->task_count);
    for (emp_op_id op = 0; op < g->op_count; op++) t->task_of_op[op] = -1;
    for (int32_t task = 0; task < t->task_count; task++) {
        emp_op_id root = b->fusion.root_of_set[task];
        t->pin_of_task[task] = b->pin_of_op[root];
        t->name[task] = g->name[root];
        for (emp_op_id op = root; op >= 0; op = b->fusion.next[op])
            add_op_to_task(b, task, op);
    }
    return EMP_OK;
}

/* ---- tensors ---- */

/* Adds a reader to the tensor that is being made, unless it is known or needs none. */
static void add_reader(builder *b, int32_t task, emp_op_id op)
{
    emp_task_graph *t = b->graph;
    int32_t         reader = t->task_of_op[op];

    if (reader < 0 || reader == task || b->seen[reader] == t->tensor_count + 1) return;
    b->seen[reader] = t->tensor_count + 1;
    t->reader[b->reader_count++] = reader;
    t->input_offset[reader + 1]++;
}

static int ascending(const void *left, const void *right)
{
    int32_t l = *(const int32_t *)left, r = *(const int32_t *)right;

    return (l > r) - (l < r);
}

/* \a what has no reader yet; its producer and sizes may be out of range. */
static void close_tensor(builder *b, int32_t task, emp_task_tensor what)
{
    emp_task_graph *t = b->graph;
    int32_t         first = t->tensor[t->tensor_count].reader;
    int64_t         places = (int64_t)t->task_count + b->problem->graph->tensor_count;

    if (b->reader_count == first) return;
    qsort(t->reader + first, (size_t)(b->reader_count - first), sizeof *t->reader,
          ascending);
    t->tensor[t->tensor_count++] =
        (emp_task_tensor){.producer = task,
                          .reader = first,
                          .home_bytes = at_most(what.home_bytes, places),
                          .copy_bytes = at_most(what.copy_bytes, places),
                          .stated_ns = at_most(what.stated_ns, places)};
    t->tensor[t->tensor_count].reader = b->reader_count;
}

static bool is_inside(const builder *b, int32_t task, emp_tensor_id tensor)
{
    return b->graph->task_of_op[b->problem->graph->tensor[tensor].producer] == task;
}

/* Output 0 of an alias of a variable is the variable. */
static int64_t home_bytes_of(const emp_graph *g, emp_op_id op, emp_tensor_id tensor)
{
    bool is_first = tensor == g->output_offset[op] && g->op[op].is_alias;
    bool is_variable = is_first && g->input_offset[op] < g->input_offset[op + 1] &&
                       g->tensor[g->input[g->input_offset[op]]].is_ref;

    return is_variable ? 0 : g->tensor[tensor].bytes;
}

/* The time of a message with an op's result; -1: nothing is stated, or the rules are
 * not those for single messages. */
static emp_time_ns stated_message_ns(const emp_problem *problem, emp_op_id op)
{
    bool is_stated = problem->runtime.rules == EMP_RULES_EDGES;

    return is_stated ? emp_graph_stated_copy_ns(problem->graph, op) : -1;
}

/* The tensors of an op for other tasks; returns the bytes of those that stay inside. */
static int64_t add_tensors(builder *b, int32_t task, emp_op_id op)
{
    const emp_graph *g = b->problem->graph;
    int64_t          inside = 0;

    for (int32_t k = g->output_offset[op]; k < g->output_offset[op + 1]; k++) {
        int32_t known = b->graph->tensor_count;
        for (int32_t i = g->consumer_offset[k]; i < g->consumer_offset[k + 1]; i++)
            add_reader(b, task, g->consumer[i]);
        close_tensor(b, task,
                     (emp_task_tensor){.home_bytes = home_bytes_of(g, op, k),
                                       .copy_bytes = g->tensor[k].copy_bytes,
                                       .stated_ns = stated_message_ns(b->problem, op)});
        if (b->graph->tensor_count == known)
            inside += at_most(home_bytes_of(g, op, k), g->tensor_count);
    }
    return inside;
}

/* One tensor of 0 bytes for all that waits for a task by control edges. */
static void add_control(builder *b, int32_t task)
{
    const emp_graph *g = b->problem->graph;

    for (emp_op_id op = b->fusion.root_of_set[task]; op >= 0; op = b->fusion.next[op]) {
        for (int32_t i = g->control_out_offset[op]; i < g->control_out_offset[op + 1];
             i++)
            add_reader(b, task, g->control_out[i]);
    }
    bool is_stated = stated_message_ns(b->problem, b->fusion.root_of_set[task]) >= 0;
    close_tensor(b, task, (emp_task_tensor){.stated_ns = is_stated ? 0 : -1});
}

static void add_outputs(builder *b, int32_t task)
{
    emp_task_graph  *t = b->graph;
    const emp_graph *g = b->problem->graph;

    t->output_offset[task] = t->tensor_count;
    for (emp_op_id op = b->fusion.root_of_set[task]; op >= 0; op = b->fusion.next[op]) {
        int64_t bytes = add_tensors(b, task, op) +
                        at_most(g->op[op].cost->workspace_bytes, g->op_count);
        for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++) {
            if (is_inside(b, task, g->input[i]))
                bytes += at_most(g->tensor[g->input[i]].bytes,
                                 (int64_t)g->tensor_count + g->edge_count);
        }
        if (bytes > t->workspace_bytes[task]) t->workspace_bytes[task] = bytes;
    }
    add_control(b, task);
    t->output_offset[task + 1] = t->tensor_count;
}

static emp_status list_tensors(builder *b, emp_error *err)
{
    emp_task_graph  *t = b->graph;
    const emp_graph *g = b->problem->graph;
    size_t           tasks = (size_t)t->task_count;
    size_t           edges = (size_t)g->edge_count + (size_t)g->control_edge_count;

    t->output_offset = EMP_ADD_ARRAY(&t->arrays, int32_t, tasks + 1);
    t->tensor =
        EMP_ADD_ARRAY(&t->arrays, emp_task_tensor, (size_t)g->tensor_count + tasks + 1);
    t->reader = EMP_ADD_ARRAY(&t->arrays, int32_t, edges);
    t->input_offset = EMP_ADD_ARRAY(&t->arrays, int32_t, tasks + 2);
    t->input = EMP_ADD_ARRAY(&t->arrays, int32_t, edges);
    if (t->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "%zu edges between tasks", edges);
    for (int32_t task = 0; task < t->task_count; task++) add_outputs(b, task);

    /* input_offset[v + 1] counts; after the shift it says where row v is filled next. */
    for (int32_t task = 0; task < t->task_count; task++)
        t->input_offset[task + 1] += t->input_offset[task];
    for (int32_t task = t->task_count; task >= 0; task--)
        t->input_offset[task + 1] = t->input_offset[task];
    for (int32_t k = 0; k < t->tensor_count; k++) {
        for (int32_t i = t->tensor[k].reader; i < t->tensor[k + 1].reader; i++)
            t->input[t->input_offset[t->reader[i] + 1]++] = k;
    }
    return EMP_OK;
}

emp_status emp_task_graph_create(emp_task_graph **out, const emp_problem *problem,
                                 emp_task_units units, emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_task_graph *t = EMP_NEW(emp_task_graph);
    builder         b = {.graph = t, .problem = problem};

    *out = NULL;
    if (t == NULL) EMP_FAIL(EMP_ENOMEM, "graph of tasks");
    t->machine = problem->machine;
    t->has_unlimited_memory = !problem->runtime.check_memory;
    b.pin_of_op = EMP_ADD_ARRAY(&b.arrays, int32_t, (size_t)problem->graph->op_count);
    if (b.arrays.is_short)
        EMP_FAIL(EMP_ENOMEM, "groups of %d ops", problem->graph->op_count);
    if (units == EMP_TASKS_FUSED)
        EMP_TRY(pin_groups(&b, err));
    else
        pin_classes(&b);
    EMP_TRY(describe_pins(&b, units, err));
    EMP_TRY(fusion_init(&b.fusion, problem->graph, err));
    if (units == EMP_TASKS_FUSED) fusion_run(&b.fusion, b.pin_of_op);
    EMP_TRY(fusion_sort(&b.fusion, err));
    EMP_TRY(list_tasks(&b, err));
    EMP_TRY(list_tensors(&b, err));

    *out = t;
    t = NULL;

cleanup:
    fusion_clear(&b.fusion);
    emp_arrays_clear(&b.arrays);
    emp_task_graph_destroy(t);
    return st;
}

void emp_task_graph_destroy(emp_task_graph *t)
{
    if (t == NULL) return;
    emp_arrays_clear(&t->arrays);
    emp_free(t);
}

/* ---- what schedulers ask ---- */

emp_time_ns emp_task_transfer_ns(const emp_task_graph *t, emp_device_id from,
                                 emp_device_id to, const emp_task_edge *edge)
{
    const emp_route *route = &t->machine->route[from][to];

    if (from == to) return 0;
    if (edge->stated_ns >= 0) return edge->stated_ns;
    return at_most(
        emp_ns_of_seconds(route->latency_s + (double)edge->bytes / route->bytes_per_s),
        t->task_count + (int64_t)t->tensor_count);
}

emp_task_edge emp_task_edge_at(const emp_task_graph *t, int32_t at, int32_t row_end)
{
    emp_task_edge edge = {
        .producer = t->tensor[t->input[at]].producer, .end = at, .stated_ns = -1};

    for (; edge.end < row_end; edge.end++) {
        const emp_task_tensor *tensor = &t->tensor[t->input[edge.end]];
        if (tensor->producer != edge.producer) break;
        edge.bytes += tensor->copy_bytes;
        edge.stated_ns = emp_time_later(edge.stated_ns, tensor->stated_ns);
    }
    return edge;
}

double emp_task_mean_time_ns(const emp_task_graph *t, int32_t task)
{
    int32_t count = 0;
    double  sum = 0.0;

    for (emp_device_id d = 0; d < t->machine->device_count; d++) {
        if (!emp_task_may_use(t, task, d)) continue;
        sum +=
            (double)
                t->time_ns[(size_t)task * (size_t)t->machine->device_count + (size_t)d];
        count++;
    }
    return sum / count;
}

emp_mean_transfer emp_task_mean_transfer(const emp_task_graph *t, uint64_t devices)
{
    const emp_machine *m = t->machine;
    emp_mean_transfer  mean = {0.0, 0.0};
    int32_t            pairs = 0;

    for (emp_device_id i = 0; i < m->device_count; i++) {
        for (emp_device_id j = 0; j < m->device_count; j++) {
            if (i == j || (devices >> i & devices >> j & 1) == 0) continue;
            mean.latency_ns += m->route[i][j].latency_s * 1e9;
            mean.per_byte_ns += 1e9 / m->route[i][j].bytes_per_s;
            pairs++;
        }
    }
    if (pairs > 0) mean.latency_ns /= pairs, mean.per_byte_ns /= pairs;
    return mean;
}
