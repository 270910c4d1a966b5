// SPDX-License-Identifier: GPL-3.0-or-later
/* Placements by tools that know memory and no times, on heterogeneous GPUs: layers follow each other.
 *
 * `memory-split` gives each GPU a share of the bytes that is its share of all GPUs' memory, as
 * llama.cpp splits layers. `first-fit` fills the first GPU, then the next one, and gives the rest to
 * the CPU, as accelerate does with device_map="sequential". With "auto", accelerate spreads a model that fits evenly
 * over the GPUs (its guide "Big Model Inference", "Designing a device map").
 *
 * Colocation classes that hold variables or weights and may use a GPU stand in the order of their first ops, so that
 * a head that is tied to the table stands with the table, and an optimizer with its layer. Any other class follows one
 * that it reads from. Classes that may use no GPU go to the CPU, and nothing follows them there.
 * Bytes count variables and a part of all results: results of the backward pass are soon released. */
#include "base/mem.h"
#include "baselines/baselines.h"
#include "search/groups/class_groups.h"
#include "sim/problem/problem.h"

/* Part of all results that counts beside variables. */
#define RESULTS 0.5

typedef struct {
    double results;
} options;

/* A colocation class that holds bytes and may use a GPU. */
typedef struct {
    int32_t first; /* place of its first op in the topological order */
    double  bytes;
} carrier;

/* The placed units, in bytes. */
typedef struct {
    const emp_problem *problem;
    const emp_machine *machine;
    int32_t            gpu_count;
    emp_device_id      gpu[EMP_MAX_DEVICES];
    int32_t            carrier_count;
    carrier           *carrier;          /* in the order of their first ops */
    int32_t           *carrier_of_class; /* its own, or the one that it follows */
    const bool        *is_left_out; /* [class] on the CPU, whatever else; NULL: none is */
    emp_device_id     *device_of_carrier;
    emp_arrays         arrays;
} split;

static double memory_of(const split *s, int32_t gpu)
{
    return (double)s->machine->device[s->gpu[gpu]].memory_bytes;
}

static bool may_use_gpu(const split *s, emp_op_id op)
{
    const int32_t c = s->problem->class_of_op[op];

    if (s->problem->graph->op[op].is_folded) return false;
    if (s->is_left_out != NULL && s->is_left_out[c]) return false;
    return s->problem->kinds_of_class[c] & EMP_KIND_GPU;
}

/* -1: the op is folded, or its class has no carrier yet. */
static int32_t carrier_of(const split *s, emp_op_id op)
{
    const int32_t c = s->problem->class_of_op[op];

    return c < 0 ? -1 : s->carrier_of_class[c];
}

static bool is_any_persistent(const split *s)
{
    const emp_graph *g = s->problem->graph;

    for (emp_op_id op = 0; op < g->op_count; op++)
        if (may_use_gpu(s, op) && g->op[op].persistent_bytes > 0) return true;
    return false;
}

/* In the order of their first ops. Where no GPU could hold anything persistent, every class is a carrier. */
static void list_carriers(split *s)
{
    const emp_graph *g = s->problem->graph;
    const bool       any = !is_any_persistent(s);
    int32_t         *number = s->carrier_of_class;

    enum { UNSEEN = -1, HOLDS = -2 };
    for (int32_t c = 0; c < g->class_count; c++) number[c] = UNSEEN;
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (may_use_gpu(s, op) && (any || g->op[op].persistent_bytes > 0))
            number[s->problem->class_of_op[op]] = HOLDS;
    for (int32_t i = 0; i < g->op_count; i++) {
        const emp_op_id op = g->topo[i];
        const int32_t   c = s->problem->class_of_op[op];
        if (g->op[op].is_folded || number[c] != HOLDS) continue;
        s->carrier[s->carrier_count] = (carrier){.first = i};
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

/* Other classes follow what they read from, or else who reads from them, or else the last carrier before them. */
static void follow_carriers(split *s)
{
    const emp_graph *g = s->problem->graph;
    int32_t         *number = s->carrier_of_class;
    int32_t          before = s->carrier_count > 0 ? 0 : -1;

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
    for (int32_t i = 0; i < g->op_count; i++) {
        const int32_t c = s->problem->class_of_op[g->topo[i]];
        while (before + 1 < s->carrier_count && s->carrier[before + 1].first <= i)
            before++;
        if (!g->op[g->topo[i]].is_folded && number[c] < 0) number[c] = before;
    }
}

static void weigh_carriers(split *s, double results)
{
    const emp_graph *g = s->problem->graph;

    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (!may_use_gpu(s, op)) continue;
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

    for (int32_t c = 0; c < s->carrier_count; c++) all_bytes += s->carrier[c].bytes;
    for (int32_t i = 0; i < s->gpu_count; i++) all_memory += memory_of(s, i);
    for (int32_t c = 0; c < s->carrier_count; c++) {
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
        while (gpu < s->gpu_count &&
               used + s->carrier[c].bytes >
                   (double)emp_problem_memory_bytes(s->problem, s->gpu[gpu])) {
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
    for (emp_op_id op = 0; op < problem->graph->op_count; op++)
        device_of_op[op] =
            may_use_gpu(&s, op) ? s.device_of_carrier[carrier_of(&s, op)] : 0;

cleanup:
    emp_arrays_clear(&s.arrays);
    return st;
}

/* Gives each GPU a contiguous share of the bytes that is its share of all GPUs' memory. There is a GPU.
 * \param is_left_out  [class] Those that go to the CPU and are not weighed; NULL: none.
 * \param[out] device_of_op  [op]; need not be legal. O(V + E). \retval EMP_ENOMEM */
static emp_status split_by_gpu_memory(emp_device_id     *device_of_op,
                                      const emp_problem *problem, const bool *is_left_out,
                                      emp_error *err)
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
    .advice = "a comparison with tools that know only memory",
    .place = place,
};

const emp_method emp_method_first_fit = {
    .options = option_list,
    .name = "first-fit",
    .description = "one GPU full after the other, the rest on the CPU, as accelerate's "
                   "device_map=\"sequential\"",
    .advice = "a comparison with tools that fill devices in order",
    .place = place,
};

/* The experts of N layers on the CPU and all else on the GPUs, as llama.cpp does it with --n-cpu-moe N: for each N from
 * none to all layers the rest is split in proportion to the GPUs' memory. The oracle says which N is best, and from
 * which N on the model fits. Proposals come in the order of N, so that a budget cuts off the largest ones. */

enum { FROM_FIRST, FROM_LAST };

typedef struct {
    int32_t from;
} experts_options;

typedef struct {
    const emp_problem *problem; /* borrowed */
    experts_options    options;
    int32_t            layer_count;
    int64_t            next; /* the N that is proposed next */
    int32_t           *layer_of_class;
    bool              *is_left_out; /* [class] */
    emp_arrays         arrays;
} search;

static emp_status init(void *state, const emp_problem *problem,
                       const emp_method_params *params, emp_error *err)
{
    search      *s = (search *)state;
    const size_t classes = (size_t)problem->graph->class_count;

    s->problem = problem;
    EMP_CHECK(emp_method_options_parse(&s->options, params->type, params, err));
    if (emp_machine_count(problem->machine, EMP_DEVICE_GPU) == 0)
        return EMP_ERROR(EMP_EUNSUPPORTED, "method experts-on-cpu: machine %s has no GPU",
                         problem->machine->name);
    s->layer_of_class = EMP_ADD_ARRAY(&s->arrays, int32_t, classes);
    s->is_left_out = EMP_ADD_ARRAY(&s->arrays, bool, classes);
    if (s->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "%zu classes", classes);
    EMP_CHECK(emp_expert_groups(s->layer_of_class, &s->layer_count, problem, err));
    if (s->layer_count == 0 && params->warn != NULL)
        params->warn(
            params->warn_context,
            "experts-on-cpu has found no experts in the names of ops, and splits "
            "by memory as memory-split does");
    return EMP_OK;
}

static bool is_left_out(const search *s, int32_t layer)
{
    if (layer < 0) return false;
    return s->options.from == FROM_FIRST ? layer < s->next
                                         : layer >= s->layer_count - s->next;
}

static emp_status ask(void *state, const emp_owned_decision *candidates, int32_t max,
                      int32_t *count, emp_error *err)
{
    search *s = (search *)state;

    if (s->next < 0) /* a restored state may come from anywhere */
        return EMP_ERROR(EMP_EFORMAT, "the saved state of experts-on-cpu is damaged");
    for (*count = 0; *count < max && s->next <= s->layer_count; s->next++, ++*count) {
        for (int32_t c = 0; c < s->problem->graph->class_count; c++)
            s->is_left_out[c] = is_left_out(s, s->layer_of_class[c]);
        EMP_CHECK(split_by_gpu_memory(candidates[*count].device_of_op, s->problem,
                                      s->is_left_out, err));
    }
    return EMP_OK;
}

static int32_t list_state(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    search *s = (search *)state;

    arrays[0] = (emp_named_array){"next", EMP_ARRAY_INT64, 1, &s->next};
    return 1;
}

static void clear(void *state) { emp_arrays_clear(&((search *)state)->arrays); }

static const emp_option experts_option_list[] = {
    EMP_WORD_OPTION("from", experts_options, from, "first|last",
                    "whose experts go to the CPU first: those of the first layers, as "
                    "llama.cpp has it, or of the last",
                    FROM_FIRST),
    EMP_NO_OPTION};

const emp_method emp_method_experts_on_cpu = {
    .options = experts_option_list,
    .name = "experts-on-cpu",
    .description = "experts of N layers on the CPU for each N, the rest by memory, as "
                   "llama.cpp's --n-cpu-moe",
    .advice = "mixtures of experts that the GPUs do not hold",
    .state_bytes = sizeof(search),
    .init = init,
    .ask = ask,
    .list_state = list_state,
    .clear = clear,
};
