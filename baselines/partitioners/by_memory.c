// SPDX-License-Identifier: GPL-3.0-or-later
/* What today's tools do with heterogeneous GPUs, which know memory and no times: layers follow each other.
 *
 * `memory-split` gives each GPU a share of the bytes that is its share of all GPUs' memory, as
 * llama.cpp splits layers. `first-fit` fills the first GPU, then the next one, and gives the rest to
 * the CPU, as accelerate does with device_map="auto". Colocation classes that hold variables or weights stand in the
 * order of their first ops, so that a head that is tied to the table stands with the table, and an optimizer with
 * its layer. Any other class follows one that it reads from. Bytes are those of variables and of a part
 * of all results: results of the backward pass are soon released. */
#include "baselines/partitioners/by_memory.h"
#include "base/mem.h"
#include "baselines/baselines.h"

/* Part of all results that counts beside variables. */
#define RESULTS 0.5

typedef struct {
    double results;
} options;

/* A colocation class that holds bytes. */
typedef struct {
    int32_t class_number, first; /* place of its first op in the topological order */
    double  bytes;
} carrier;

/* What is placed, in bytes. */
typedef struct {
    const emp_problem *problem;
    const emp_machine *machine;
    int32_t            gpu_count;
    emp_device_id      gpu[EMP_MAX_DEVICES];
    int32_t            carrier_count;
    carrier           *carrier; /* in the order of their first ops */
    int32_t           *carrier_of_class;
    const bool        *is_left_out; /* [class] on the CPU, whatever else; NULL: none is */
    emp_device_id     *device_of_carrier;
    emp_arrays         arrays;
} split;

static double memory_of(const split *s, int32_t gpu)
{
    return (double)s->machine->device[s->gpu[gpu]].memory_bytes;
}

static bool may_use_gpu(const split *s, int32_t number)
{
    const int32_t c = s->carrier[number].class_number;

    if (s->is_left_out != NULL && s->is_left_out[c]) return false;
    return s->problem->kinds_of_class[c] & EMP_KIND_GPU;
}

/* -1: the op is folded, or its class has no carrier yet. */
static int32_t carrier_of(const split *s, emp_op_id op)
{
    const int32_t c = s->problem->class_of_op[op];

    return c < 0 ? -1 : s->carrier_of_class[c];
}

static bool is_any_persistent(const emp_graph *g)
{
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (!g->op[op].is_folded && g->op[op].persistent_bytes > 0) return true;
    return false;
}

/* In the order of their first ops. Where nothing is persistent every class is a carrier. */
static void list_carriers(split *s)
{
    const emp_graph *g = s->problem->graph;
    const bool       any = !is_any_persistent(g);
    int32_t         *number = s->carrier_of_class;

    enum { UNSEEN = -1, HOLDS = -2 };
    for (int32_t c = 0; c < g->class_count; c++) number[c] = UNSEEN;
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (!g->op[op].is_folded && (any || g->op[op].persistent_bytes > 0))
            number[s->problem->class_of_op[op]] = HOLDS;
    for (int32_t i = 0; i < g->op_count; i++) {
        const emp_op_id op = g->topo[i];
        const int32_t   c = s->problem->class_of_op[op];
        if (g->op[op].is_folded || number[c] != HOLDS) continue;
        s->carrier[s->carrier_count] = (carrier){.class_number = c, .first = i};
        number[c] = s->carrier_count++;
    }
}

/* The carrier of the op that makes the largest input; -1: none is known. */
static int32_t carrier_of_inputs(const split *s, emp_op_id op)
{
    const emp_graph *g = s->problem->graph;
    int64_t          most = -1;
    int32_t          found = -1;

    for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++) {
        const emp_tensor *t = &g->tensor[g->input[i]];
        const int32_t     c = carrier_of(s, t->producer);
        if (c < 0 || t->copy_bytes <= most) continue;
        most = t->copy_bytes;
        found = c;
    }
    return found;
}

static int32_t carrier_of_readers(const split *s, emp_op_id op)
{
    const emp_graph *g = s->problem->graph;
    const int32_t    from = g->consumer_offset[g->output_offset[op]];

    for (int32_t i = from; i < g->consumer_offset[g->output_offset[op + 1]]; i++) {
        const int32_t c = carrier_of(s, g->consumer[i]);
        if (c >= 0) return c;
    }
    return -1;
}

/* Classes that hold nothing follow what they read from, or else who reads from them, or else the first. */
static void follow_carriers(split *s)
{
    const emp_graph *g = s->problem->graph;
    int32_t         *number = s->carrier_of_class;

    for (int32_t i = 0; i < g->op_count; i++) {
        const emp_op_id op = g->topo[i];
        const int32_t   c = s->problem->class_of_op[op];
        if (!g->op[op].is_folded && number[c] < 0) number[c] = carrier_of_inputs(s, op);
    }
    for (int32_t i = g->op_count - 1; i >= 0; i--) {
        const emp_op_id op = g->topo[i];
        const int32_t   c = s->problem->class_of_op[op];
        if (!g->op[op].is_folded && number[c] < 0) number[c] = carrier_of_readers(s, op);
    }
    for (int32_t c = 0; c < g->class_count; c++)
        if (number[c] < 0) number[c] = 0;
}

static void weigh_carriers(split *s, double results)
{
    const emp_graph *g = s->problem->graph;

    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (g->op[op].is_folded) continue;
        carrier *c = &s->carrier[carrier_of(s, op)];
        c->bytes += (double)g->op[op].persistent_bytes;
        for (int32_t t = g->output_offset[op]; t < g->output_offset[op + 1]; t++)
            c->bytes += results * (double)g->tensor[t].bytes;
    }
}

/* A carrier goes where its middle is. */
static void split_by_memory(split *s)
{
    double  all_bytes = 0.0, all_memory = 0.0, before = 0.0, until = memory_of(s, 0);
    int32_t gpu = 0;

    for (int32_t c = 0; c < s->carrier_count; c++)
        if (may_use_gpu(s, c)) all_bytes += s->carrier[c].bytes;
    for (int32_t i = 0; i < s->gpu_count; i++) all_memory += memory_of(s, i);
    for (int32_t c = 0; c < s->carrier_count; c++) {
        s->device_of_carrier[c] = 0;
        if (!may_use_gpu(s, c)) continue;
        double middle = before + s->carrier[c].bytes / 2.0;
        while (gpu < s->gpu_count - 1 && middle * all_memory > until * all_bytes)
            until += memory_of(s, ++gpu);
        s->device_of_carrier[c] = s->gpu[gpu];
        before += s->carrier[c].bytes;
    }
}

static void fill_in_order(split *s)
{
    double  used = 0.0;
    int32_t gpu = 0;

    for (int32_t c = 0; c < s->carrier_count; c++) {
        s->device_of_carrier[c] = 0;
        if (!may_use_gpu(s, c)) continue;
        while (gpu < s->gpu_count && used + s->carrier[c].bytes > memory_of(s, gpu)) {
            used = 0.0;
            gpu++;
        }
        if (gpu == s->gpu_count) continue;
        s->device_of_carrier[c] = s->gpu[gpu];
        used += s->carrier[c].bytes;
    }
}

static emp_status allocate(split *s, emp_error *err)
{
    const emp_graph *g = s->problem->graph;
    const size_t     classes = (size_t)g->class_count;

    s->carrier = EMP_ADD_ARRAY(&s->arrays, carrier, classes);
    s->carrier_of_class = EMP_ADD_ARRAY(&s->arrays, int32_t, classes);
    s->device_of_carrier = EMP_ADD_ARRAY(&s->arrays, emp_device_id, classes);
    return s->arrays.is_short ? EMP_ERROR(EMP_ENOMEM, "%d classes", g->class_count)
                              : EMP_OK;
}

static emp_status split_classes(emp_device_id *device_of_op, const emp_problem *problem,
                                const bool *is_left_out, double results, bool fills,
                                emp_error *err)
{
    emp_status st = EMP_OK;
    split      s = {
             .problem = problem, .machine = problem->machine, .is_left_out = is_left_out};

    s.gpu_count = emp_machine_list(problem->machine, EMP_DEVICE_GPU, s.gpu);
    EMP_TRY(allocate(&s, err));
    list_carriers(&s);
    follow_carriers(&s);
    weigh_carriers(&s, results);
    fills ? fill_in_order(&s) : split_by_memory(&s);
    for (emp_op_id op = 0; op < problem->graph->op_count; op++) {
        const int32_t number = carrier_of(&s, op);
        device_of_op[op] = number < 0 ? 0 : s.device_of_carrier[number];
    }

cleanup:
    emp_arrays_clear(&s.arrays);
    return st;
}

emp_status emp_split_by_memory(emp_device_id *device_of_op, const emp_problem *problem,
                               const bool *is_left_out, emp_error *err)
{
    return split_classes(device_of_op, problem, is_left_out, RESULTS, false, err);
}

static emp_status place(const emp_method *type, const emp_problem *problem,
                        const emp_method_params  *params,
                        const emp_owned_decision *proposal, emp_error *err)
{
    options o;

    EMP_CHECK(emp_method_options_parse(&o, type, params, err));
    if (emp_machine_count(problem->machine, EMP_DEVICE_GPU) == 0)
        return EMP_ERROR(EMP_EUNSUPPORTED, "method %s: machine %s has no GPU", type->name,
                         problem->machine->name);
    return split_classes(proposal->device_of_op, problem, NULL, o.results,
                         type == &emp_method_first_fit, err);
}

static const emp_option option_list[] = {
    EMP_REAL_OPTION("results", options, results, 0, 1,
                    "part of all results that counts beside variables", RESULTS),
    EMP_NO_OPTION};

const emp_method emp_method_memory_split = {
    .options = option_list,
    .name = "memory-split",
    .description =
        "contiguous parts in proportion to the GPUs' memory, as llama.cpp splits",
    .advice = "a comparison with tools that know memory alone",
    .place = place,
};

const emp_method emp_method_first_fit = {
    .options = option_list,
    .name = "first-fit",
    .description =
        "one GPU full after the other, the rest on the CPU, as accelerate does",
    .advice = "a comparison with tools that fill devices in order",
    .place = place,
};
