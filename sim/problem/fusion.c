// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/problem/fusion.h"

#include "base/mem.h"

/* The roles of an op in a set. */
enum {
    JOINS = 1 << 0,   /* an inner member */
    LEADS = 1 << 1,   /* a leader of others */
    PRODUCT = 1 << 2, /* matrix product or convolution */
    PLAIN = 1 << 3    /* element-wise or an alias: may stand beside a product */
};

/* The state of a set so far. Only leaders have one. */
typedef struct {
    int32_t size;
    bool    has_product;
    bool    is_plain; /* all but the product are */
} set;

struct emp_fusion {
    const emp_problem *problem;
    uint8_t           *traits; /* [op] */
    set               *set;    /* [op] */
    emp_op_id         *leader; /* [op], of a check */
};

/* ---- what is known of an op ---- */

static bool is_read_by_reference(const emp_graph *g, emp_op_id op)
{
    for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++)
        if (g->tensor[g->input[i]].is_ref) return true;
    for (emp_tensor_id t = g->output_offset[op]; t < g->output_offset[op + 1]; t++)
        if (g->tensor[t].is_ref) return true;
    return false;
}

static bool uses_host_memory(const emp_graph *g, emp_op_id op)
{
    for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++) {
        if (g->op[g->tensor[g->input[i]].producer].is_folded) continue;
        if (emp_op_reads_on_host(&g->op[op], i - g->input_offset[op])) return true;
    }
    for (emp_tensor_id t = g->output_offset[op]; t < g->output_offset[op + 1]; t++)
        if (g->tensor[t].on_host) return true;
    return false;
}

static bool waits_for_something(const emp_graph *g, emp_op_id op)
{
    for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++)
        if (!g->op[g->tensor[g->input[i]].producer].is_folded) return true;
    for (int32_t i = g->control_offset[op]; i < g->control_offset[op + 1]; i++)
        if (!g->op[g->control[i]].is_folded) return true;
    return false;
}

static bool lets_others_wait(const emp_graph *g, emp_op_id op)
{
    for (int32_t i = g->control_out_offset[op]; i < g->control_out_offset[op + 1]; i++)
        if (!g->op[g->control_out[i]].is_folded) return true;
    return false;
}

static bool is_pure(const emp_graph *g, emp_op_id op)
{
    const uint32_t impure = EMP_OP_STATEFUL | EMP_OP_UPDATES_REF | EMP_OP_IS_VARIABLE |
                            EMP_OP_IS_OPTIMIZER | EMP_OP_CONTROL_FLOW | EMP_OP_BACK_EDGE |
                            EMP_OP_LOOP_HEAD | EMP_OP_DYNAMIC_SHAPE | EMP_OP_FEED |
                            EMP_OP_ASSIGNS | EMP_OP_CHOOSES | EMP_OP_LOOP_CONDITION;
    const emp_op *o = &g->op[op];

    return !o->is_folded && (o->flags & impure) == 0 && !is_read_by_reference(g, op) &&
           !uses_host_memory(g, op);
}

/* By its class and flags. Sums of rows and scatters end a kernel at most, as in XLA, where a scatter is the root of its fusion
 * (IsInputFusibleScatter, xla/service/gpu/gpu_fusible.cc). */
static uint8_t traits_of_class(const emp_op *o)
{
    if (o->flags & EMP_OP_LIBRARY) return 0;
    if ((o->flags & EMP_OP_ACROSS) || o->cost->work == EMP_WORK_SCATTER) return LEADS;
    switch (o->cost->op_class) {
    case EMP_OP_KERNELLESS: return o->is_alias ? JOINS | LEADS | PLAIN : 0;
    case EMP_OP_ELEMENTWISE: return JOINS | LEADS | PLAIN;
    case EMP_OP_MOVEMENT: return JOINS | LEADS;
    case EMP_OP_GEMM:
    case EMP_OP_CONV: return JOINS | PRODUCT;
    case EMP_OP_REDUCTION:
    case EMP_OP_NORM: return LEADS;
    default: return 0;
    }
}

static uint8_t traits_of(const emp_graph *g, emp_op_id op)
{
    bool    is_alone = !is_pure(g, op) || emp_graph_is_collective(g, op);
    uint8_t traits = is_alone ? 0 : traits_of_class(&g->op[op]);

    if (g->is_target[op] || !waits_for_something(g, op) || lets_others_wait(g, op))
        traits &= (uint8_t)~JOINS;
    return traits;
}

/* Whether ops can fuse on the problem at all.
 * \retval EMP_EUNSUPPORTED  The runtime has rules of its own, the graph states costs, or devices
 *                           are groups of cores: nothing is known of fused kernels there. */
static emp_status fusion_check_problem(const emp_problem *problem, emp_error *err)
{
    if (problem->runtime.rules != EMP_RULES_EVENTS)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "ops fuse under the rules \"events\" only; take a runtime like "
                         "tf-r1.3 or ideal, or leave the fusion out");
    if (problem->graph->stated != NULL)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "the graph states the times of its ops, which say nothing of "
                         "fused ops; leave the fusion out");
    for (int32_t d = 0; d < problem->machine->device_count; d++) {
        const emp_device *device = &problem->machine->device[d];
        if (!device->has_core && !device->has_sharing) continue;
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "device %s is a group of cores, for which nothing is known of "
                         "fused ops; leave the fusion out",
                         device->name);
    }
    return EMP_OK;
}

emp_status emp_fusion_create(emp_fusion **out, const emp_problem *problem, emp_error *err)
{
    emp_status   st = EMP_OK;
    const size_t ops = (size_t)problem->graph->op_count;
    emp_fusion  *f = NULL;

    *out = NULL;
    EMP_TRY(fusion_check_problem(problem, err));
    EMP_TRY(EMP_ALLOC(f, 1));
    f->problem = problem;
    EMP_TRY(EMP_ALLOC(f->traits, ops));
    EMP_TRY(EMP_ALLOC(f->set, ops));
    EMP_TRY(EMP_ALLOC(f->leader, ops));
    for (emp_op_id op = 0; op < problem->graph->op_count; op++)
        f->traits[op] = traits_of(problem->graph, op);
    *out = f;
    f = NULL;

cleanup:
    emp_fusion_destroy(f);
    return st;
}

void emp_fusion_destroy(emp_fusion *fusion)
{
    if (fusion == NULL) return;
    emp_free(fusion->traits);
    emp_free(fusion->set);
    emp_free(fusion->leader);
    emp_free(fusion);
}

/* ---- sets ---- */

/* The leader of all ops that read `op`, or -1: they have several, one is a product, or there are
 * none. */
static emp_op_id leader_of_readers(const emp_fusion *f, emp_op_id op,
                                   const emp_op_id *leader_of_op)
{
    const emp_graph *g = f->problem->graph;
    const int32_t    first = g->consumer_offset[g->output_offset[op]];
    const int32_t    end = g->consumer_offset[g->output_offset[op + 1]];
    emp_op_id        leader = -1;

    for (int32_t i = first; i < end; i++) {
        const emp_op_id reader = g->consumer[i];
        if (g->op[reader].is_folded) continue;
        if (f->traits[reader] & PRODUCT) return -1;
        if (leader >= 0 && leader_of_op[reader] != leader) return -1;
        leader = leader_of_op[reader];
    }
    return leader;
}

/* The reason against the op as a member of the set of `leader`; NULL: nothing. */
static const char *why_not(const emp_fusion *f, const emp_device_id *device_of_op,
                           emp_op_id op, emp_op_id leader)
{
    const uint8_t traits = f->traits[op];
    const set    *s = &f->set[leader];

    if (!(traits & JOINS))
        return "it has state, control edges or a kind of work that cannot be inside a "
               "fused kernel";
    if (!(f->traits[leader] & LEADS)) return "its leader cannot end a fused kernel";
    if (device_of_op[op] != device_of_op[leader])
        return "its leader is on another device";
    if (s->size >= EMP_FUSION_MOST) return "64 ops are fused there already";
    if ((traits & PRODUCT) && s->has_product) return "there is a product already";
    if ((traits & PRODUCT) && !s->is_plain)
        return "it is a product, and not all others there are element-wise";
    if (s->has_product && !(traits & PLAIN))
        return "there is a product, and it is not element-wise";
    return NULL;
}

static void begin_set(emp_fusion *f, emp_op_id op)
{
    f->set[op] = (set){.size = 1,
                       .has_product = f->traits[op] & PRODUCT,
                       .is_plain = f->traits[op] & (PLAIN | PRODUCT)};
}

static void add_to_set(emp_fusion *f, emp_op_id op, emp_op_id leader)
{
    set *s = &f->set[leader];

    s->size++;
    s->has_product = s->has_product || (f->traits[op] & PRODUCT);
    s->is_plain = s->is_plain && (f->traits[op] & (PLAIN | PRODUCT));
}

void emp_fusion_legalize(emp_fusion *fusion, const emp_device_id *device_of_op,
                         emp_op_id *leader_of_op)
{
    const emp_graph *g = fusion->problem->graph;

    for (int32_t i = g->op_count - 1; i >= 0; i--) {
        const emp_op_id op = g->topo[i];
        emp_op_id       leader = -1;
        begin_set(fusion, op);
        if (leader_of_op[op] != op && (fusion->traits[op] & JOINS))
            leader = leader_of_readers(fusion, op, leader_of_op);
        if (leader >= 0 && why_not(fusion, device_of_op, op, leader) == NULL) {
            leader_of_op[op] = leader;
            add_to_set(fusion, op, leader);
        } else {
            leader_of_op[op] = op;
        }
    }
}

static emp_status check_op(emp_fusion *f, const emp_device_id *device_of_op, emp_op_id op,
                           const emp_op_id *leader_of_op, emp_error *err)
{
    const emp_graph *g = f->problem->graph;
    const emp_op_id  leader = leader_of_op[op];
    const char      *why = NULL;

    if (leader < 0 || leader >= g->op_count)
        return EMP_ERROR(EMP_EINVAL, "op %d (%s) has the leader %d; ops are 0 to %d", op,
                         g->name[op], leader, g->op_count - 1);
    if (leader == op) return EMP_OK;
    if (leader_of_readers(f, op, leader_of_op) != leader)
        why = "not all of its readers have this leader, or one is a product";
    else
        why = why_not(f, device_of_op, op, leader);
    if (why != NULL)
        return EMP_ERROR(EMP_EINVAL, "op %d (%s) cannot fuse with its leader %d (%s): %s",
                         op, g->name[op], leader, g->name[leader], why);
    add_to_set(f, op, leader);
    return EMP_OK;
}

emp_status emp_fusion_check(emp_fusion *fusion, const emp_device_id *device_of_op,
                            const emp_op_id *leader_of_op, emp_error *err)
{
    const emp_graph *g = fusion->problem->graph;

    for (int32_t i = g->op_count - 1; i >= 0; i--) {
        const emp_op_id op = g->topo[i];
        begin_set(fusion, op);
        if (!g->op[op].is_folded)
            EMP_CHECK(check_op(fusion, device_of_op, op, leader_of_op, err));
    }
    return EMP_OK;
}

/* ---- costs ---- */

static int64_t bytes_of_outputs(const emp_graph *g, emp_op_id op)
{
    int64_t bytes = 0;

    for (emp_tensor_id t = g->output_offset[op]; t < g->output_offset[op + 1]; t++)
        bytes += g->tensor[t].bytes;
    return bytes;
}

/* The bytes that the member reads from outside the set. An alias hands its input on to who reads it. */
static int64_t bytes_from_outside(const emp_graph *g, emp_op_id op, emp_op_id leader,
                                  const emp_op_id *leader_of_op)
{
    const bool is_alias = g->op[op].cost->kernels == 0;
    int64_t    bytes = is_alias ? 0 : g->op[op].cost->bytes_read;

    for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++) {
        const emp_tensor *t = &g->tensor[g->input[i]];
        const bool        is_inner =
            !g->op[t->producer].is_folded && leader_of_op[t->producer] == leader;
        if (is_alias && i == g->input_offset[op] && !is_inner) bytes = t->bytes;
        if (!is_alias && is_inner) bytes -= t->bytes;
    }
    return bytes > 0 ? bytes : 0;
}

static bool is_product(const emp_op_cost *c)
{
    return c->op_class == EMP_OP_GEMM || c->op_class == EMP_OP_CONV;
}

/* The work of one more member. Only the bytes count that transpose a convolution's
 * result; FLOPs matter only for products. */
static void add_work(emp_op_cost *sum, const emp_op_cost *c)
{
    const emp_op_cost before = *sum;

    if (is_product(c)) {
        *sum = *c;
        sum->bytes_read = 0;
        sum->bytes_written = c->layout_bytes;
    }
    sum->cpu_cycles = before.cpu_cycles + c->cpu_cycles;
    sum->workspace_bytes = before.workspace_bytes + c->workspace_bytes;
    sum->kernels = before.kernels > c->kernels ? before.kernels : c->kernels;
}

emp_op_cost emp_fusion_cost_on_cpu(const emp_op_cost *cost, const emp_device *cpu)
{
    const double rate = cost->op_class == EMP_OP_GEMM ? cpu->gemm_core_flops_per_s
                                                      : cpu->conv_core_flops_per_s;
    emp_op_cost  on_cpu = *cost;

    if (!is_product(cost)) return on_cpu;
    on_cpu.flops += cost->cpu_cycles / cpu->clock_hz * rate;
    on_cpu.cpu_cycles = 0.0;
    return on_cpu;
}

/* The bytes that the leader writes; an alias hands on another member's result. */
static int64_t bytes_written_by(const emp_graph *g, emp_op_id leader)
{
    const emp_op_cost *c = g->op[leader].cost;

    return c->kernels > 0 ? c->bytes_written : bytes_of_outputs(g, leader);
}

emp_op_id emp_fusion_cost(const emp_fusion *fusion, const emp_op_id *member,
                          int32_t count, const emp_op_id *leader_of_op, emp_op_cost *cost)
{
    const emp_graph   *g = fusion->problem->graph;
    const emp_op_id    leader = member[count - 1];
    const emp_op_cost *last = g->op[leader].cost;
    emp_op_id          product = leader;

    *cost = (emp_op_cost){.op_class = EMP_OP_KERNELLESS};
    for (int32_t i = 0; i < count; i++) {
        add_work(cost, g->op[member[i]].cost);
        if (is_product(g->op[member[i]].cost)) product = member[i];
        cost->bytes_read += bytes_from_outside(g, member[i], leader, leader_of_op);
    }
    if (cost->kernels == 0) {
        cost->bytes_read = 0;
        return leader;
    }
    cost->bytes_written += bytes_written_by(g, leader);
    if (is_product(cost)) return product;
    cost->op_class = last->kernels > 0 ? last->op_class : EMP_OP_ELEMENTWISE;
    cost->work = last->work;
    cost->part = last->part;
    return leader;
}
