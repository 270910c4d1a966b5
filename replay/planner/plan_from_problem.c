// SPDX-License-Identifier: GPL-3.0-or-later
#include "replay/planner/planner.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* The graph without folded ops, and its numbers by the graph's. */
struct draft {
    const emp_problem   *problem;
    const emp_graph     *g;
    const emp_device_id *device_of_op;
    int32_t             *live;        /* [graph's op] number in the plan, or -1 */
    int32_t             *live_tensor; /* [graph's tensor] likewise */
    emp_op_id           *op;          /* [op] the graph's */
    /* Copies in the order in which readers ask for them; made into rows at the end. */
    emp_replay_copy *copy;
    int32_t         *next_copy;  /* [copy] of the same tensor */
    int32_t         *first_copy; /* [tensor] */
    int32_t          op_count, tensor_count, copy_count, input_count, control_count;
    int64_t          name_bytes;
    emp_replay_plan *plan;
};

static emp_status number(struct draft *d, emp_error *err)
{
    const emp_graph *g = d->g;

    for (int32_t i = 0; i < g->op_count; i++) {
        emp_op_id op = g->topo[i];
        d->live[op] = -1;
        for (int32_t t = g->output_offset[op]; t < g->output_offset[op + 1]; t++) {
            d->live_tensor[t] = g->op[op].is_folded ? -1 : d->tensor_count++;
        }
        if (g->op[op].is_folded) continue;
        if (d->device_of_op[op] < 0 ||
            d->device_of_op[op] >= d->problem->machine->device_count)
            return EMP_ERROR(EMP_EINVAL, "op %s is on no device", g->name[op]);
        d->op[d->op_count] = op;
        d->live[op] = d->op_count++;
        d->input_count += g->input_offset[op + 1] - g->input_offset[op];
        d->name_bytes += (int64_t)strlen(g->name[op]) + 1 +
                         (int64_t)strlen(g->type_name[g->type[op]]) + 1;
        for (int32_t c = g->control_offset[op]; c < g->control_offset[op + 1]; c++) {
            d->control_count += !g->op[g->control[c]].is_folded;
        }
    }
    return EMP_OK;
}

static void set_devices(emp_replay_plan *p, const emp_problem *problem)
{
    const emp_machine *m = problem->machine;

    p->device_count = m->device_count;
    for (int32_t d = 0; d < m->device_count; d++) {
        const emp_device  *from = &m->device[d];
        emp_replay_device *to = &p->device[d];
        snprintf(to->name, sizeof to->name, "%s", from->name);
        to->is_cpu = from->kind == EMP_DEVICE_CPU;
        to->host = from->host;
        to->cores = from->cores > 0 ? from->cores : 1;
        to->memory_bytes = from->memory_bytes;
        for (int32_t e = 0; e < m->device_count; e++) {
            p->route[d * m->device_count + e] = (emp_replay_route){
                d == e ? 0.0 : m->route[d][e].bytes_per_s, m->route[d][e].latency_s};
        }
    }
}

static char *add_name(char **end, const char *name)
{
    char *start = *end;

    for (; *name != '\0'; name++) *(*end)++ = *name > ' ' ? *name : '_';
    *(*end)++ = '\0';
    return start;
}

static void set_tensors(struct draft *d, int32_t op)
{
    emp_replay_plan *p = d->plan;
    const emp_graph *g = d->g;
    emp_op_id        id = d->op[op];

    for (int32_t t = g->output_offset[id]; t < g->output_offset[id + 1]; t++) {
        const emp_tensor  *from = &g->tensor[t];
        int32_t            bytes = emp_dtype_bytes(from->dtype);
        emp_replay_tensor *to = &p->tensor[d->live_tensor[t]];
        *to = (emp_replay_tensor){.producer = op,
                                  .storage = -1,
                                  .buffer_bytes = from->bytes,
                                  .bytes = from->copy_bytes,
                                  .element_bytes = bytes > 0 ? bytes : 1,
                                  .on_host = from->on_host};
    }
    p->output_offset[op + 1] =
        p->output_offset[op] + g->output_offset[id + 1] - g->output_offset[id];
}

static int32_t new_copy(struct draft *d, int32_t tensor, int32_t to)
{
    int32_t c = d->copy_count++;

    d->copy[c] = (emp_replay_copy){tensor, to, d->plan->tensor[tensor].bytes};
    d->plan->copy[c] = d->copy[c]; /* its memory is asked for before all are known */
    d->next_copy[c] = d->first_copy[tensor];
    d->first_copy[tensor] = c;
    return c;
}

/* The copy of \a tensor in the memory \a to; a new one for every edge unless copies are
 * shared. */
static int32_t find_copy(struct draft *d, int32_t tensor, int32_t to)
{
    int32_t c = emp_runtime_events_of(&d->problem->runtime)->share_copies
                    ? d->first_copy[tensor]
                    : -1;

    while (c >= 0 && d->copy[c].to != to) c = d->next_copy[c];
    return c >= 0 ? c : new_copy(d, tensor, to);
}

/* Copies get their final numbers later; until then the place is tensor_count + draft. */
static void set_inputs(struct draft *d, int32_t op)
{
    emp_replay_plan *p = d->plan;
    const emp_graph *g = d->g;
    emp_op_id        id = d->op[op];
    int32_t          device = p->op[op].device, first = g->input_offset[id];
    int32_t          at = p->input_offset[op], control = p->control_offset[op];

    for (int32_t i = first; i < g->input_offset[id + 1]; i++) {
        const emp_tensor *t = &g->tensor[g->input[i]];
        int32_t           bytes = emp_dtype_bytes(t->dtype);
        int32_t           place = d->live_tensor[g->input[i]];
        bool              on_host = emp_op_reads_on_host(&g->op[id], i - first);
        int32_t           memory = emp_replay_memory(p, device, on_host);
        if (place >= 0 && emp_replay_memory_of_place(p, place) != memory)
            place = d->tensor_count + find_copy(d, place, memory);
        p->input[at++] = (emp_replay_input){.place = place,
                                            .bytes = t->copy_bytes,
                                            .element_bytes = bytes > 0 ? bytes : 1,
                                            .on_host = on_host};
    }
    p->input_offset[op + 1] = at;
    for (int32_t c = g->control_offset[id]; c < g->control_offset[id + 1]; c++) {
        if (d->live[g->control[c]] >= 0) p->control[control++] = d->live[g->control[c]];
    }
    p->control_offset[op + 1] = control;
}

/* Outputs that are the variable itself: of the variable, of what passes its reference on,
 * and of the Identity that reads it. */
static void set_storage(struct draft *d, int32_t op)
{
    emp_replay_plan *p = d->plan;
    int32_t          output = p->output_offset[op], input = p->input_offset[op];

    if (output == p->output_offset[op + 1]) return;
    emp_replay_tensor *t = &p->tensor[output];
    if (p->op[op].persistent_bytes > 0) {
        t->storage = op;
    } else if (input < p->input_offset[op + 1]) {
        int32_t place = p->input[input].place;
        bool    is_same =
            place >= 0 && place < d->tensor_count &&
            emp_replay_memory_of_place(p, place) == emp_replay_memory_of_place(p, output);
        bool passes =
            p->op[op].is_alias || d->g->tensor[d->g->output_offset[d->op[op]]].is_ref;
        if (is_same && passes) t->storage = p->tensor[place].storage;
    }
    if (t->storage >= 0 && t->bytes > p->op[t->storage].persistent_bytes) t->storage = -1;
    if (t->storage >= 0) {
        t->buffer_bytes = 0;
        p->op[op].is_alias = false;
    }
}

/* An alias shares a buffer only where both lie together; of what is folded it has none.
 * Where they do not, it moves its bytes. */
static void set_alias(struct draft *d, int32_t op)
{
    emp_replay_plan *p = d->plan;
    emp_replay_op   *o = &p->op[op];
    int32_t          output = p->output_offset[op], input = p->input_offset[op];

    if (!o->is_alias) return;
    o->is_alias = false;
    if (output == p->output_offset[op + 1] || input == p->input_offset[op + 1]) return;
    int32_t place = p->input[input].place;
    if (place == EMP_REPLAY_CONSTANT) {
        p->tensor[output].buffer_bytes = 0;
    } else if (emp_replay_memory_of_place(p, place) !=
               emp_replay_memory_of_place(p, output)) {
        o->kernel = (emp_kernel){EMP_KERNEL_MOVE, EMP_MOVE_RUNS, {1 << 20}};
    } else {
        o->is_alias = p->tensor[output].bytes <= p->input[input].bytes;
    }
}

static void set_op(struct draft *d, int32_t op, char **names)
{
    emp_replay_plan *p = d->plan;
    const emp_graph *g = d->g;
    emp_op_id        id = d->op[op];
    const emp_op    *from = &g->op[id];
    emp_replay_op   *to = &p->op[op];

    *to = (emp_replay_op){
        .kernel = emp_kernel_of_op(g, id),
        .device = d->device_of_op[id],
        .is_alias = from->is_alias,
        .is_in_place = (from->flags & EMP_OP_IN_PLACE) && !from->is_alias,
        .persistent_bytes = from->persistent_bytes,
        .workspace_bytes = emp_runtime_events_of(&d->problem->runtime)->workspace
                               ? from->cost->workspace_bytes
                               : 0,
        .name = add_name(names, g->name[id]),
        .type = add_name(names, g->type_name[g->type[id]])};
    set_tensors(d, op);
    set_inputs(d, op);
    set_storage(d, op);
    if (p->output_offset[op] == p->output_offset[op + 1] ||
        p->tensor[p->output_offset[op]].storage < 0)
        set_alias(d, op);
}

/* Copies of a tensor together, in the order of the first reader. */
static void order_copies(struct draft *d)
{
    emp_replay_plan *p = d->plan;
    int32_t         *number = d->next_copy, at = 0; /* no longer a list after a tensor */

    for (int32_t t = 0; t < d->tensor_count; t++) {
        int32_t count = 0, next;
        for (int32_t c = d->first_copy[t]; c >= 0; c = d->next_copy[c]) count++;
        p->copy_offset[t + 1] = p->copy_offset[t] + count;
        at = p->copy_offset[t + 1];
        for (int32_t c = d->first_copy[t]; c >= 0; c = next) { /* the last one first */
            next = d->next_copy[c];
            p->copy[--at] = d->copy[c];
            number[c] = at;
        }
    }
    for (int32_t i = 0; i < p->input_count; i++) {
        if (p->input[i].place >= d->tensor_count)
            p->input[i].place =
                d->tensor_count + number[p->input[i].place - d->tensor_count];
    }
}

static emp_status fill(struct draft *d, emp_error *err)
{
    emp_replay_plan *p = NULL;
    char            *names;

    EMP_CHECK(emp_replay_plan_create(&p, d->op_count, d->tensor_count, d->input_count,
                                     d->input_count, d->control_count, d->name_bytes,
                                     err));
    d->plan = p;
    names = p->names;
    set_devices(p, d->problem);
    memset(d->first_copy, -1, (size_t)d->tensor_count * sizeof *d->first_copy);
    for (int32_t op = 0; op < d->op_count; op++) {
        EMP_CHECK(emp_kernel_check_op(d->g, d->op[op], err));
        set_op(d, op, &names);
    }
    p->copy_count = d->copy_count;
    order_copies(d);
    return EMP_OK;
}

static void describe(emp_replay_plan *p, const emp_problem *problem)
{
    snprintf(p->origin.workload, sizeof p->origin.workload, "%s", problem->workload);
    snprintf(p->origin.machine, sizeof p->origin.machine, "%s", problem->machine->name);
    snprintf(p->origin.runtime, sizeof p->origin.runtime, "%s", problem->runtime.name);
    p->origin.graph_hash = problem->graph->hash;
    p->reuse_inputs = emp_runtime_events_of(&problem->runtime)->reuse_inputs;
}

emp_status emp_replay_plan_from_problem(emp_replay_plan **out, const emp_problem *problem,
                                        const emp_device_id *device_of_op, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *g = problem->graph;
    size_t           ops = (size_t)g->op_count, tensors = (size_t)g->tensor_count;
    size_t           edges = (size_t)g->edge_count;
    struct draft     d = {.problem = problem, .g = g, .device_of_op = device_of_op};

    *out = NULL;
    if (g->stated != NULL)
        EMP_FAIL(EMP_EUNSUPPORTED,
                 "%s states how long its ops take, not what they do: "
                 "there is no work to replay",
                 problem->workload);
    EMP_TRY(EMP_ALLOC(d.live, ops));
    EMP_TRY(EMP_ALLOC(d.live_tensor, tensors));
    EMP_TRY(EMP_ALLOC(d.op, ops));
    EMP_TRY(EMP_ALLOC(d.first_copy, tensors));
    EMP_TRY(EMP_ALLOC(d.copy, edges));
    EMP_TRY(EMP_ALLOC(d.next_copy, edges));
    EMP_TRY(number(&d, err));
    EMP_TRY(fill(&d, err));
    describe(d.plan, problem);
    EMP_TRY(emp_replay_plan_check(d.plan, err));
    *out = d.plan;
    d.plan = NULL;

cleanup:
    emp_replay_plan_destroy(d.plan);
    emp_free(d.live);
    emp_free(d.live_tensor);
    emp_free(d.op);
    emp_free(d.first_copy);
    emp_free(d.copy);
    emp_free(d.next_copy);
    return st;
}
