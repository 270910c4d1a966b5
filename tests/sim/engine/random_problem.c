// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/sim/engine/random_problem.h"

#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "sim/graph/graph_builder.h"

enum { MAX_OPS = 60, MAX_PORTS = 4 * MAX_OPS, MAX_HOSTS = 4, MAX_HOST_GPUS = 3 };

static int32_t below(emp_rng *rng, int32_t bound)
{
    return (int32_t)emp_rng_below(rng, (uint32_t)bound);
}

static bool chance(emp_rng *rng, int32_t percent) { return below(rng, 100) < percent; }

/* Op types: constants fold, variables persist, the rest gets its facts from
 * shake_graph(). */
static const char *draw_type(emp_rng *rng)
{
    static const char *const types[] = {"Const", "VariableV2", "Placeholder", "Thing",
                                        "Thing", "Thing",      "Thing",       "Thing",
                                        "Thing", "Thing"};

    return types[below(rng, (int32_t)(COUNT(types)))];
}

static emp_graph *draw_graph(emp_rng *rng)
{
    emp_graph_builder *b = NULL;
    emp_graph         *g = NULL;
    emp_error          err = {0};
    emp_port           port[MAX_PORTS];
    int32_t            port_count = 0, op_count = 1 + below(rng, MAX_OPS);

    emp_status st = emp_graph_builder_create(&b, &err);
    for (int32_t i = 0; st == EMP_OK && i < op_count; i++) {
        char         name[16];
        const char  *type = draw_type(rng);
        bool         is_source = type[0] != 'T';
        int32_t      outputs = is_source ? 1 : below(rng, 4);
        emp_shape    shapes[3];
        emp_op_id    op;
        emp_op_attrs attrs = {.dtype = EMP_DTYPE_FLOAT, .has_shape = true};
        for (int32_t k = 0; k < 3; k++) shapes[k] = EMP_SHAPE((1 + below(rng, 3)) * 64);
        attrs.shape = shapes[0];
        size_t length = strlen(type);
        size_t name_length = (size_t)snprintf(name, sizeof name, "op%d", i);
        st = emp_graph_builder_declare(b, name, name_length, type, length, &attrs, shapes,
                                       outputs, &op, &err);
        for (int32_t k = is_source ? 0 : below(rng, 4);
             st == EMP_OK && k > 0 && port_count > 0; k--) {
            int32_t nearby = port_count < 12 || chance(rng, 20) ? port_count : 12;
            st = emp_graph_builder_connect(b, port[port_count - 1 - below(rng, nearby)],
                                           op, &err);
        }
        for (int32_t k = below(rng, 3) - 1; st == EMP_OK && k > 0 && op > 0; k--)
            st = emp_graph_builder_add_control(b, below(rng, op), op, &err);
        for (int32_t k = 0; k < outputs; k++) port[port_count++] = (emp_port){op, k};
        emp_graph_builder_set_target(b, op);
    }
    if (st == EMP_OK) st = emp_graph_builder_finish(b, &g, &err);
    if (st != EMP_OK) fprintf(stderr, "random graph: %s\n", err.msg);
    assert(st == EMP_OK);
    emp_graph_builder_destroy(b);
    return g;
}

/* Facts that no table of op types would give in such variety. */
static void shake_graph(emp_graph *g, emp_rng *rng)
{
    for (emp_op_id op = 0; op < g->op_count; op++) {
        emp_op      *o = &g->op[op];
        emp_op_cost *cost = emp_graph_own_cost(g, op);
        cost->kernels = below(rng, 3);
        cost->workspace_bytes = chance(rng, 20) ? below(rng, 4000) : 0;
        o->host_input_mask = chance(rng, 25) ? (uint32_t)below(rng, 16) : 0;
        o->kinds = chance(rng, 15) ? EMP_KIND_CPU : EMP_KIND_CPU | EMP_KIND_GPU;
        o->flags = chance(rng, 40) ? o->flags | EMP_OP_IN_PLACE : o->flags;
        bool has_both = g->input_offset[op + 1] > g->input_offset[op] &&
                        g->output_offset[op + 1] > g->output_offset[op];
        o->is_alias = has_both && chance(rng, 20);
        if (chance(rng, 5)) o->is_folded = true;
        for (int32_t t = g->output_offset[op]; t < g->output_offset[op + 1]; t++) {
            g->tensor[t].on_host = chance(rng, 15);
            if (chance(rng, 10)) g->tensor[t].bytes = 0;
        }
    }
}

static int32_t add_link(emp_machine *m, emp_rng *rng)
{
    m->link[m->link_count] = (emp_link){.latency_s = below(rng, 6) * 1e-9,
                                        .bytes_per_s = 1e9 * (1 << below(rng, 6))};
    return m->link_count++;
}

static void route(emp_machine *m, int32_t from, int32_t to, const int32_t *links,
                  int32_t count)
{
    emp_route *r = &m->route[from][to];

    for (int32_t i = 0; i < count; i++) {
        const emp_link *l = &m->link[links[i]];
        r->link[r->link_count++] = links[i];
        if (i == 0 || l->bytes_per_s < r->bytes_per_s) r->bytes_per_s = l->bytes_per_s;
        if (l->latency_s > r->latency_s) r->latency_s = l->latency_s;
    }
}

static void draw_device(emp_machine *m, emp_device_kind kind, emp_rng *rng)
{
    int32_t     number = emp_machine_count(m, kind);
    emp_device *device = &m->device[m->device_count++];

    *device = task_device(kind, number);
    device->memory_bytes = 1 + below(rng, 30000);
    device->cores = 1 + below(rng, 8);
}

static emp_machine *draw_machine(emp_rng *rng)
{
    emp_machine *m = EMP_NEW(emp_machine);
    int32_t      up[EMP_MAX_DEVICES], down[EMP_MAX_DEVICES];
    int32_t      device_count = 1 + below(rng, 5);

    assert(m != NULL);
    for (int32_t d = 0; d < device_count; d++) {
        draw_device(m, d == 0 ? EMP_DEVICE_CPU : EMP_DEVICE_GPU, rng);
        up[d] = add_link(m, rng);
        down[d] = add_link(m, rng);
    }
    int32_t bus = chance(rng, 50) ? add_link(m, rng) : -1;
    for (int32_t i = 0; i < m->device_count; i++) {
        for (int32_t j = 0; j < m->device_count; j++) {
            int32_t links[3] = {up[i], down[j], bus};
            if (i != j) route(m, i, j, links, bus >= 0 && i > 0 && j > 0 ? 3 : 2);
        }
    }
    return m;
}

/* CPUs and GPUs in any order, and each GPU on any host. */
static void draw_host_devices(emp_machine *m, emp_rng *rng)
{
    emp_device_id cpu[MAX_HOSTS];
    int32_t       hosts = 2 + below(rng, MAX_HOSTS - 1), cpus = 0;
    int32_t       gpus = below(rng, MAX_HOST_GPUS * hosts + 1);

    while (cpus < hosts || gpus > 0) {
        bool is_cpu = cpus == 0 || (cpus < hosts && (gpus == 0 || chance(rng, 40)));
        emp_device *device = &m->device[m->device_count];
        if (is_cpu) cpu[cpus++] = m->device_count;
        if (!is_cpu) gpus--;
        draw_device(m, is_cpu ? EMP_DEVICE_CPU : EMP_DEVICE_GPU, rng);
        device->host = is_cpu ? m->device_count - 1 : -1;
        if (is_cpu) device->cores = m->device[0].cores; /* room for as many tasks */
    }
    for (int32_t d = 0; d < m->device_count; d++) {
        if (m->device[d].host < 0) m->device[d].host = cpu[below(rng, hosts)];
    }
}

/* Within a host as on a machine of one; between hosts through both ends of the network. */
static emp_machine *draw_hosts(emp_rng *rng)
{
    emp_machine *m = EMP_NEW(emp_machine);
    int32_t      up[EMP_MAX_DEVICES], down[EMP_MAX_DEVICES];
    int32_t      out[EMP_MAX_DEVICES], in[EMP_MAX_DEVICES], bus[EMP_MAX_DEVICES];

    assert(m != NULL);
    draw_host_devices(m, rng);
    for (int32_t d = 0; d < m->device_count; d++) {
        bool is_cpu = m->device[d].kind == EMP_DEVICE_CPU;
        up[d] = add_link(m, rng);
        down[d] = add_link(m, rng);
        out[d] = is_cpu ? add_link(m, rng) : -1;
        in[d] = is_cpu ? add_link(m, rng) : -1;
        bus[d] = is_cpu && chance(rng, 50) ? add_link(m, rng) : -1;
    }
    for (int32_t i = 0; i < m->device_count; i++) {
        for (int32_t j = 0; j < m->device_count; j++) {
            int32_t a = m->device[i].host, b = m->device[j].host;
            bool    are_peers = a == b && i != a && j != b;
            if (i == j) continue;
            if (a == b) {
                int32_t count = are_peers && bus[a] >= 0 ? 3 : 2;
                route(m, i, j, (const int32_t[]){up[i], down[j], bus[a]}, count);
            } else {
                route(m, i, j, (const int32_t[]){up[i], out[a], in[b], down[j]}, 4);
            }
        }
    }
    return m;
}

/* like: 0 the rules of ideal, 1 of tf-r1.3, else drawn. */
static bool draw_switch(emp_rng *rng, int32_t percent, int32_t like, bool is_ideal)
{
    bool drawn = chance(rng, percent);

    return like == 0 ? is_ideal : like == 1 ? true : drawn;
}

static emp_runtime draw_runtime(emp_rng *rng)
{
    int32_t like = below(rng, 4); /* the rules of ideal, of tf-r1.3, or any */

    return (emp_runtime){
        .name = "random",
        .check_memory = chance(rng, 80),
        .events = {.serial_issue = draw_switch(rng, 60, like, false),
                   .drain_copies = draw_switch(rng, 50, like, false),
                   .release_at_issue = draw_switch(rng, 50, like, false),
                   .reuse_inputs = draw_switch(rng, 50, like, false),
                   .cpu_pool = draw_switch(rng, 70, like, false),
                   .control_latency = draw_switch(rng, 50, like, false),
                   .share_copies = draw_switch(rng, 70, like, true),
                   .copy_streams = draw_switch(rng, 70, like, true),
                   .shared_links = draw_switch(rng, 70, like, true),
                   .copy_memory = draw_switch(rng, 80, like, true),
                   .workspace = draw_switch(rng, 80, like, true),
                   .addn_waits = true,
                   .pageable_s_per_byte =
                       chance(rng, 30) ? (1 + below(rng, 8)) * 1e-9 : 0.0,
                   .send_s = below(rng, 3) * 1e-9,
                   .receive_s = below(rng, 3) * 1e-9,
                   .poll_s = below(rng, 4) * 1e-9,
                   .step_s = below(rng, 10) * 1e-9,
                   .cpu_slots = below(rng, 6)}};
}

/* Costs that no machine would give in such variety, in the columns of that number. */
static void shake_column(emp_problem *p, int32_t column, emp_rng *rng)
{
    emp_cost_table *c = p->costs;
    int32_t         cores = p->machine->device[0].cores;

    for (emp_op_id op = 0; op < c->op_count; op++) {
        int32_t     lanes = 1 + below(rng, cores), row = column * c->op_count + op;
        emp_time_ns issue_ns = below(rng, 8);
        emp_time_ns run_ns = p->graph->op[op].cost->kernels > 0 ? below(rng, 40) : 0;
        emp_time_ns work = below(rng, 60);
        if (column < c->column_count[EMP_DEVICE_GPU])
            c->gpu[row] = (emp_gpu_cost){run_ns, issue_ns};
        if (column >= c->column_count[EMP_DEVICE_CPU]) continue;
        for (int32_t k = 1; k <= lanes; k++) c->task_ns[row * cores + k - 1] = work / k;
        c->cpu[row] = (emp_cpu_cost){work / lanes, lanes};
    }
}

void random_problem_place(task *r, emp_rng *rng)
{
    int32_t spread = 1 + below(rng, r->machine->device_count);

    for (emp_op_id op = 0; op < r->graph->op_count; op++)
        r->device_of_op[op] = r->machine->device_count - 1 - below(rng, spread);
    emp_problem_legalize(r->problem, r->device_of_op);
}

/* CPUs move up to 40 bytes a nanosecond: about what tasks take. */
static void draw_memory(task *t, uint64_t seed)
{
    emp_rng rng;

    emp_rng_init(&rng, seed, 5, 0);
    t->problem->runtime.events.shared_memory = chance(&rng, 40);
    for (emp_op_id op = 0; op < t->graph->op_count; op++)
        emp_graph_own_cost(t->graph, op)->bytes_read = below(&rng, 1000);
}

static void create(task *t, uint64_t seed, emp_machine *(*draw)(emp_rng *))
{
    emp_rng rng;

    emp_rng_init(&rng, seed, 0, 0);
    *t = (task){.graph = draw_graph(&rng)};
    shake_graph(t->graph, &rng);
    t->machine = draw(&rng);
    emp_runtime runtime = draw_runtime(&rng);
    task_pose(t, &runtime, "random");
    task_make_room(t);
    shake_column(t->problem, 0, &rng);
    draw_memory(t, seed);
    random_problem_place(t, &rng);
}

void random_problem_create(task *r, uint64_t seed) { create(r, seed, draw_machine); }

void random_problem_create_hosts(task *r, uint64_t seed) { create(r, seed, draw_hosts); }

void random_problem_part(task *r, uint64_t seed)
{
    emp_rng rng;

    emp_rng_init(&rng, seed, 3, 0);
    task_split_columns(r);
    for (int32_t c = 1; c < r->machine->device_count; c++)
        shake_column(r->problem, c, &rng);
}

void random_problem_create_unlike(task *r, uint64_t seed)
{
    if (seed % 2 == 0)
        random_problem_create_hosts(r, seed);
    else
        random_problem_create(r, seed);
    random_problem_part(r, seed);
}

void random_problem_create_collectives(task *r, uint64_t seed)
{
    emp_rng    rng;
    emp_graph *g;

    if (seed % 3 == 0)
        random_problem_create_unlike(r, seed);
    else
        (seed % 3 == 1 ? random_problem_create : random_problem_create_hosts)(r, seed);
    emp_rng_init(&rng, seed, 4, 0);
    g = r->graph;
    g->collective = EMP_ADD_ARRAY(&g->arrays, emp_collective_part, (size_t)g->op_count);
    assert(g->collective != NULL);
    int32_t sets = 1 + below(&rng, g->op_count < 4 ? g->op_count : 4);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t set = 1 + below(&rng, sets);
        if (!chance(&rng, 35)) continue;
        g->collective[op] = (emp_collective_part){
            .op = set % 2 == 0 ? EMP_COLLECTIVE_ALL_TO_ALL : EMP_COLLECTIVE_ALL_REDUCE,
            .ranks = 2,
            .bytes = 1,
            .set = set};
    }
}

void random_problem_scale(task *r, int64_t factor)
{
    const double    times = (double)factor;
    emp_cost_table *c = r->problem->costs;
    emp_runtime    *rt = &r->problem->runtime;

    for (int32_t row = 0; row < emp_cost_row_count(c, EMP_DEVICE_GPU); row++) {
        c->gpu[row].issue_ns *= factor;
        c->gpu[row].compute_ns *= factor;
    }
    for (int32_t row = 0; row < emp_cost_row_count(c, EMP_DEVICE_CPU); row++) {
        c->cpu[row].compute_ns *= factor;
        for (int32_t k = 0; k < c->cpu[row].lanes; k++)
            c->task_ns[c->cpu_offset[row] + k] *= factor;
    }
    rt->events.shared_memory = false; /* rounds its times */
    rt->events.send_s *= times;
    rt->events.receive_s *= times;
    rt->events.poll_s *= times;
    rt->events.step_s *= times;
    rt->events.pageable_s_per_byte *= times;
    for (int32_t i = 0; i < r->machine->device_count; i++) {
        for (int32_t j = 0; j < r->machine->device_count; j++) {
            r->machine->route[i][j].latency_s *= times;
            r->machine->route[i][j].bytes_per_s /= times;
        }
    }
}
