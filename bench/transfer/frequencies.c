// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/transfer/transfer.h"

#include "base/mem.h"

enum { TENTHS = EMP_FREQUENCY_TENTHS, UNNAMED = -1 };

/* Counts of ops by device. The kinds of a type are its tenths; ops whose type is not in the program's
 * table are of one type more. */
typedef struct {
    int32_t    type_count;
    int64_t   *of_kind; /* [type][tenth][device] */
    int64_t    of_all[EMP_MAX_DEVICES];
    emp_arrays arrays;
} table;

static emp_status create(table *t, emp_error *err)
{
    int32_t known = 0;

    emp_op_type_table(&known);
    t->type_count = known + 1;
    t->of_kind = EMP_ADD_ARRAY(&t->arrays, int64_t,
                               (size_t)t->type_count * TENTHS * EMP_MAX_DEVICES);
    return t->arrays.is_short ? EMP_ERROR(EMP_ENOMEM, "table of %d types", known)
                              : EMP_OK;
}

static int32_t type_of(const table *t, const emp_graph *g, emp_op_id op)
{
    int32_t            known = 0;
    const emp_op_type *first = emp_op_type_table(&known), *type = emp_graph_type(g, op);

    return type >= first && type < first + known ? (int32_t)(type - first)
                                                 : t->type_count - 1;
}

static int64_t *kind_of(const table *t, int32_t type, int32_t tenth)
{
    return &t->of_kind[((int64_t)type * TENTHS + tenth) * EMP_MAX_DEVICES];
}

/* Fills tenth [op] by the longest path that leads to each op, in ops. */
static void find_tenths(const emp_graph *g, int32_t *tenth)
{
    int32_t most = 0;

    for (int32_t i = 0; i < g->op_count; i++) {
        const emp_op_id op = g->topo[i];
        int32_t         depth = 0;
        for (int32_t e = g->input_offset[op]; e < g->input_offset[op + 1]; e++) {
            const int32_t before = tenth[g->tensor[g->input[e]].producer] + 1;
            depth = before > depth ? before : depth;
        }
        tenth[op] = depth;
        most = depth > most ? depth : most;
    }
    for (emp_op_id op = 0; op < g->op_count; op++)
        tenth[op] = (int32_t)((int64_t)tenth[op] * TENTHS / (most + 1));
}

/* GPUs by their first use. */
static void name_devices(const emp_problem *p, const emp_device_id *device_of_op,
                         emp_device_id name[EMP_MAX_DEVICES])
{
    const emp_machine *m = p->machine;
    emp_device_id      gpu[EMP_MAX_DEVICES];
    int32_t            gpus = 0, used = 0;

    for (emp_device_id d = 0; d < m->device_count; d++) {
        name[d] = m->device[d].kind == EMP_DEVICE_GPU ? UNNAMED : d;
        if (name[d] == UNNAMED) gpu[gpus++] = d;
    }
    for (int32_t i = 0; i < p->graph->op_count; i++) {
        const emp_op_id     op = p->graph->topo[i];
        const emp_device_id d = device_of_op[op];
        if (!p->graph->op[op].is_folded && name[d] == UNNAMED) name[d] = gpu[used++];
    }
    for (emp_device_id d = 0; d < m->device_count; d++)
        if (name[d] == UNNAMED) name[d] = gpu[used++];
}

static emp_status count_example(table *t, const emp_problem *p,
                                const emp_device_id *device_of_op, emp_error *err)
{
    const emp_graph *g = p->graph;
    int32_t         *tenth = EMP_NEW_ARRAY(int32_t, (size_t)g->op_count);
    emp_device_id    name[EMP_MAX_DEVICES];

    if (tenth == NULL) return EMP_ERROR(EMP_ENOMEM, "depths of %d ops", g->op_count);
    find_tenths(g, tenth);
    name_devices(p, device_of_op, name);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (g->op[op].is_folded) continue;
        const emp_device_id d = name[device_of_op[op]];
        kind_of(t, type_of(t, g, op), tenth[op])[d]++;
        t->of_all[d]++;
    }
    emp_free(tenth);
    return EMP_OK;
}

/* The machine's device with most ops, the lowest of equals; UNNAMED: none has any. */
static emp_device_id most_of(const int64_t *ops, int32_t device_count)
{
    emp_device_id most = UNNAMED;

    for (emp_device_id d = 0; d < device_count; d++)
        if (ops[d] > (most == UNNAMED ? 0 : ops[most])) most = d;
    return most;
}

/* By the nearest tenth that has ops of the type, the earlier of two. */
static emp_device_id choose(const table *t, const emp_problem *p, emp_op_id op,
                            int32_t tenth)
{
    const int32_t devices = p->machine->device_count, type = type_of(t, p->graph, op);
    emp_device_id d = UNNAMED;

    for (int32_t away = 0; away < TENTHS && d == UNNAMED; away++) {
        if (tenth >= away) d = most_of(kind_of(t, type, tenth - away), devices);
        if (d == UNNAMED && tenth + away < TENTHS)
            d = most_of(kind_of(t, type, tenth + away), devices);
    }
    if (d == UNNAMED) d = most_of(t->of_all, devices);
    return d == UNNAMED ? 0 : d;
}

static emp_status place(const table *t, emp_device_id *device_of_op, const emp_problem *p,
                        emp_error *err)
{
    const int32_t ops = p->graph->op_count;
    int32_t      *tenth = EMP_NEW_ARRAY(int32_t, (size_t)ops);

    if (tenth == NULL) return EMP_ERROR(EMP_ENOMEM, "depths of %d ops", ops);
    find_tenths(p->graph, tenth);
    for (emp_op_id op = 0; op < ops; op++) device_of_op[op] = choose(t, p, op, tenth[op]);
    emp_problem_legalize(p, device_of_op);
    emp_free(tenth);
    return EMP_OK;
}

emp_status emp_frequencies_place(emp_device_id *device_of_op, const emp_problem *target,
                                 const emp_problem *const *problem,
                                 const emp_owned_decision *example, int32_t count,
                                 emp_error *err)
{
    emp_status st = EMP_OK;
    table      t = {0};

    EMP_TRY(create(&t, err));
    for (int32_t i = 0; i < count; i++)
        EMP_TRY(count_example(&t, problem[i], example[i].device_of_op, err));
    EMP_TRY(place(&t, device_of_op, target, err));

cleanup:
    emp_arrays_clear(&t.arrays);
    return st;
}
