// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/hlo/lower.h"
#include "graphs/import/hlo/module.h"

static emp_hlo_what what_of(const emp_hlo_module *m, const emp_hlo_instruction *i)
{
    return emp_hlo_op(m, i)->what;
}

/* ---- arithmetic ---- */

/* The work that says most of a kernel wins. */
static void raise_class(emp_op_cost *cost, emp_op_class op_class)
{
    static const int8_t rank[] = {
        [EMP_OP_KERNELLESS] = 0, [EMP_OP_MOVEMENT] = 1, [EMP_OP_ELEMENTWISE] = 2,
        [EMP_OP_OPTIMIZER] = 2,  [EMP_OP_HOST] = 2,     [EMP_OP_REDUCTION] = 3,
        [EMP_OP_POOL] = 4,       [EMP_OP_NORM] = 5,     [EMP_OP_GEMM] = 6,
        [EMP_OP_CONV] = 7};

    if (rank[op_class] > rank[cost->op_class]) cost->op_class = op_class;
}

static void count(emp_op_cost *cost, emp_op_class op_class, const emp_op_rates *rates,
                  double elements)
{
    raise_class(cost, op_class);
    cost->flops += rates->flops * elements;
    cost->cpu_cycles += rates->cycles * elements;
}

/* Elements of all results, and of all operands that a reduction reduces. */
static double made_by(const emp_hlo_module *m, const emp_hlo_instruction *i)
{
    emp_hlo_made made = emp_hlo_made_by(m, i);
    double       sum = 0.0;

    for (int32_t t = made.begin; t < made.end; t++)
        sum += (double)emp_shape_elements(&m->tensor[i->first_tensor + t]->shape);
    return sum;
}

/* A select-and-scatter has a window for each element of its source, operand 1. */
static double windows_of(const emp_hlo_module *m, const emp_hlo_instruction *i)
{
    const bool is_scatter = strcmp(emp_hlo_op(m, i)->type, "hlo.select-and-scatter") == 0;

    return is_scatter && i->operand_count > 1
               ? (double)emp_hlo_elements(m, emp_hlo_operand(m, i, 1))
               : made_by(m, i);
}

static double reduced_by(const emp_hlo_module *m, const emp_hlo_instruction *i)
{
    double sum = 0.0;

    for (int32_t k = 0; k < (i->operand_count + 1) / 2; k++)
        sum += (double)emp_hlo_elements(m, emp_hlo_operand(m, i, k));
    return sum;
}

static double updates_of(const emp_hlo_module *m, const emp_hlo_instruction *i)
{
    double sum = 0.0;

    for (int32_t k = i->operand_count / 2 + 1; k < i->operand_count; k++)
        sum += (double)emp_hlo_elements(m, emp_hlo_operand(m, i, k));
    return sum;
}

/* A pass of a sort moves its keys and all that goes with them. */
static void count_passes(const emp_hlo_module *m, const emp_hlo_instruction *i,
                         const emp_op_rates *rates, emp_op_cost *cost)
{
    const bool    is_sort = strcmp(emp_hlo_op(m, i)->type, "hlo.sort") == 0;
    const int32_t moved = is_sort ? i->operand_count : i->operand_count > 0;
    int64_t       bytes = 0;

    for (int32_t o = 0; o < moved; o++)
        bytes = emp_add_saturating(bytes, emp_hlo_bytes(m, emp_hlo_operand(m, i, o)));
    count(cost, EMP_OP_NORM, rates, made_by(m, i));
    for (int32_t k = 1; k < rates->reads; k++)
        cost->bytes_read = emp_add_saturating(cost->bytes_read, bytes);
    for (int32_t k = 1; k < rates->writes; k++)
        cost->bytes_written = emp_add_saturating(cost->bytes_written, bytes);
    if (rates->kernels > cost->kernels) cost->kernels = rates->kernels;
}

/* Arithmetic of an instruction by its type's entry; what is not known is element-wise. */
static void count_by_type(const emp_hlo_module *m, const emp_hlo_instruction *i,
                          emp_op_cost *cost)
{
    const emp_op_type  *type = emp_hlo_op(m, i)->entry;
    const emp_op_rates *rates =
        type != NULL ? &type->rates : &emp_op_type_unknown()->rates;
    emp_slice window = emp_hlo_text_of(m, i, "window");

    switch (type != NULL ? type->work : EMP_WORK_ELEMENTWISE) {
    case EMP_WORK_NOTHING: break;
    case EMP_WORK_REDUCE: count(cost, EMP_OP_REDUCTION, rates, reduced_by(m, i)); break;
    case EMP_WORK_POOL:
        count(cost, EMP_OP_POOL, &(emp_op_rates){.flops = 1.0, .cycles = 1.0},
              windows_of(m, i) * emp_hlo_window_product(window, "size"));
        break;
    case EMP_WORK_NORM: count_passes(m, i, rates, cost); break;
    case EMP_WORK_SCATTER:
        count(cost, EMP_OP_MOVEMENT, &(emp_op_rates){.flops = 1.0, .cycles = 1.0},
              emp_hlo_op(m, i)->what == EMP_HLO_SCATTER ? updates_of(m, i) : 0.0);
        break;
    case EMP_WORK_MOVE:
    case EMP_WORK_GATHER:
    case EMP_WORK_FILL: raise_class(cost, EMP_OP_MOVEMENT); break;
    default: count(cost, EMP_OP_ELEMENTWISE, rates, made_by(m, i)); break;
    }
}

/* A body as part of another kernel: its arithmetic, not its bytes. */
static void add_body(emp_op_cost *cost, const emp_op_cost *body)
{
    double products =
        2.0 * (double)body->m * (double)body->n * (double)body->k * (double)body->batch;
    emp_op_cost product = *body;

    if (products > 0.0) {
        product.flops = products < body->flops ? products : body->flops;
        emp_hlo_add_product(cost, &product);
        cost->flops += body->flops - product.flops;
    } else {
        cost->flops += body->flops;
    }
    raise_class(cost, body->op_class);
    cost->cpu_cycles += body->cpu_cycles;
    if (body->kernels > cost->kernels) cost->kernels = body->kernels;
}

static emp_status count_call(const emp_hlo_kernels *k, const emp_hlo_instruction *i,
                             emp_op_cost *cost, emp_error *err)
{
    emp_slice target = emp_hlo_text_of(k->m, i, "custom_call_target");
    bool      is_known = false;

    EMP_CHECK(emp_hlo_add_call(k->m, i, cost, &is_known, err));
    if (is_known) return EMP_OK;
    count(cost, EMP_OP_ELEMENTWISE, &emp_op_type_unknown()->rates, made_by(k->m, i));
    emp_import_notes_assume(k->notes,
                            "what calls of \"%.*s\" compute is not known: they read and "
                            "write their data once",
                            EMP_SLICE_ARG(target));
    return EMP_OK;
}

static bool computes(emp_hlo_what what)
{
    switch (what) {
    case EMP_HLO_PARAMETER:
    case EMP_HLO_CONSTANT:
    case EMP_HLO_VIEW:
    case EMP_HLO_TUPLE:
    case EMP_HLO_PART:
    case EMP_HLO_NOTHING:
    case EMP_HLO_DONE: return false;
    default: return true;
    }
}

/* The work of one instruction. */
static emp_status count_instruction(const emp_hlo_kernels     *k,
                                    const emp_hlo_instruction *i, emp_op_cost *cost,
                                    emp_error *err)
{
    char                  reason[EMP_HLO_REASON_BYTES];
    const emp_hlo_opcode *op = emp_hlo_op(k->m, i);
    emp_op_work work = op->entry != NULL ? op->entry->work : EMP_WORK_ELEMENTWISE;
    bool        is_right = true;

    if (!computes(op->what)) return EMP_OK;
    if (op->what == EMP_HLO_CUSTOM) return count_call(k, i, cost, err);
    if (i->called >= 0)
        add_body(cost, k->body[i->called].cost);
    else if (work == EMP_WORK_PRODUCT)
        is_right = emp_hlo_add_dot(k->m, i, cost, reason);
    else if (work == EMP_WORK_CONVOLUTION)
        is_right = emp_hlo_add_convolution(k->m, i, cost, reason);
    else
        count_by_type(k->m, i, cost);
    if (!is_right)
        emp_import_notes_problem(k->notes, "line %d: %.*s %s",
                                 emp_hlo_line(k->m, k->m->begin + i->name_at),
                                 EMP_SLICE_ARG(emp_hlo_name(k->m, i)), reason);
    return EMP_OK;
}

/* ---- bytes ---- */

/* Where the updates of a scatter begin: as many operands, one of numbers, as many updates. */
static int32_t first_update(const emp_hlo_instruction *i)
{
    return i->operand_count / 2 + 1;
}

static int64_t bytes_of_operand(const emp_hlo_module *m, const emp_hlo_instruction *i,
                                int32_t operand)
{
    return operand < i->operand_count ? emp_hlo_bytes(m, emp_hlo_operand(m, i, operand))
                                      : 0;
}

static int64_t bytes_made_by(const emp_hlo_module *m, const emp_hlo_instruction *i)
{
    emp_hlo_made made = emp_hlo_made_by(m, i);
    int64_t      bytes = 0;

    for (int32_t t = i->first_tensor + made.begin; t < i->first_tensor + made.end; t++)
        bytes = emp_add_saturating(bytes, emp_hlo_tensor_bytes(m->tensor[t]));
    return bytes;
}

/* Bytes read of an operand: rows that it gathers, nothing of what it only writes, else all. */
static int64_t read_of(const emp_hlo_kernels *k, const emp_hlo_instruction *i,
                       int32_t operand)
{
    const emp_hlo_module *m = k->m;

    switch (what_of(m, i)) {
    case EMP_HLO_SLICE:
        return operand == 0 ? bytes_made_by(m, i) : bytes_of_operand(m, i, operand);
    case EMP_HLO_UPDATE: return operand == 0 ? 0 : bytes_of_operand(m, i, operand);
    case EMP_HLO_SCATTER:
        return bytes_of_operand(
            m, i, operand < i->operand_count / 2 ? operand + first_update(i) : operand);
    case EMP_HLO_FUSION:
        if (operand >= m->computation[i->called].parameter_count) return 0;
        return k->read[k->body[i->called].first_read + operand];
    case EMP_HLO_VIEW:
    case EMP_HLO_TUPLE:
    case EMP_HLO_PART: return 0;
    default: return bytes_of_operand(m, i, operand);
    }
}

static const emp_hlo_instruction *origin_of(const emp_hlo_kernels     *k,
                                            const emp_hlo_instruction *i)
{
    return &k->m->instruction[k->origin[i - k->m->instruction]];
}

static int64_t written_by_one(const emp_hlo_kernels *k, const emp_hlo_instruction *i)
{
    const emp_hlo_module *m = k->m;
    int64_t               bytes = 0;

    switch (what_of(m, i)) {
    case EMP_HLO_UPDATE: return bytes_of_operand(m, i, 1);
    case EMP_HLO_SCATTER:
        for (int32_t o = first_update(i); o < i->operand_count; o++)
            bytes = emp_add_saturating(bytes, bytes_of_operand(m, i, o));
        return bytes;
    case EMP_HLO_FUSION: return k->body[i->called].cost->bytes_written;
    case EMP_HLO_PARAMETER: return 0;
    default: return bytes_made_by(m, i);
    }
}

/* Bytes that a kernel writes: its result, or each part of a tuple. */
static int64_t written_by(const emp_hlo_kernels *k, const emp_hlo_instruction *i)
{
    int64_t bytes = 0;

    i = origin_of(k, i);
    if (what_of(k->m, i) != EMP_HLO_TUPLE) return written_by_one(k, i);
    for (int32_t o = 0; o < i->operand_count; o++)
        bytes = emp_add_saturating(
            bytes, written_by_one(k, origin_of(k, emp_hlo_operand(k->m, i, o))));
    return bytes;
}

/* ---- computations ---- */

/* The parameter whose buffer the root writes its result into; -1: it has a buffer of its own. */
static int32_t updated_by(const emp_hlo_kernels *k, const emp_hlo_computation *c)
{
    const emp_hlo_module      *m = k->m;
    const emp_hlo_instruction *root = origin_of(k, &m->instruction[c->root]);

    if (what_of(m, root) != EMP_HLO_UPDATE &&
        (what_of(m, root) != EMP_HLO_SCATTER || root->operand_count != 3))
        return -1;
    const emp_hlo_instruction *target = origin_of(k, emp_hlo_operand(m, root, 0));
    bool is_whole = emp_hlo_bytes(m, target) == emp_hlo_bytes(m, root);
    return what_of(m, target) == EMP_HLO_PARAMETER && is_whole ? target->number : -1;
}

static emp_status keep_cost(const emp_op_cost **kept, emp_hlo_kernels *k,
                            const emp_op_cost *cost, emp_error *err)
{
    *kept = emp_value_keep(&k->kept, &k->costs, cost, sizeof *cost);
    return *kept != NULL ? EMP_OK : EMP_ERROR(EMP_ENOMEM, "cost of a kernel");
}

/* Adds to the bytes that the computation reads of its parameters. */
static void count_reads(emp_hlo_kernels *k, const emp_hlo_instruction *i,
                        int32_t first_read)
{
    const emp_hlo_module *m = k->m;

    for (int32_t o = 0; o < i->operand_count; o++) {
        const emp_hlo_instruction *from = origin_of(k, emp_hlo_operand(m, i, o));
        if (what_of(m, from) != EMP_HLO_PARAMETER || from->is_broken) continue;
        int64_t *read = &k->read[first_read + from->number];
        *read = emp_add_saturating(*read, read_of(k, i, o));
        int64_t all = emp_hlo_bytes(m, from);
        if (*read > all) *read = all;
    }
}

/* As part of one kernel. */
static emp_status cost_body(emp_hlo_kernels *k, const emp_hlo_computation *c,
                            emp_hlo_body *body, emp_error *err)
{
    const emp_hlo_module *m = k->m;
    emp_op_cost           cost = {0};

    for (int32_t n = c->first; n < c->first + c->count; n++) {
        const emp_hlo_instruction *i = &m->instruction[n];
        if (i->is_broken) continue;
        EMP_CHECK(count_instruction(k, i, &cost, err));
        count_reads(k, i, body->first_read);
    }
    if (!m->instruction[c->root].is_broken) {
        cost.bytes_written = written_by(k, &m->instruction[c->root]);
        body->updated = updated_by(k, c);
    }
    return keep_cost(&body->cost, k, &cost, err);
}

/* As kernels, of which nothing is a part. */
static emp_status cost_entry(emp_hlo_kernels *k, const emp_hlo_computation *c,
                             emp_error *err)
{
    const emp_op_cost *cost;

    for (int32_t n = c->first; n < c->first + c->count; n++) {
        const emp_hlo_instruction *i = &k->m->instruction[n];
        if (!i->is_broken && computes(what_of(k->m, i)))
            EMP_CHECK(emp_hlo_kernel_cost(k, i, &cost, err));
    }
    return EMP_OK;
}

/* A view of a view is one of what that is a view of. */
static void find_origins(emp_hlo_kernels *k, const emp_hlo_computation *c)
{
    const emp_hlo_module *m = k->m;

    for (int32_t n = c->first; n < c->first + c->count; n++) {
        const emp_hlo_instruction *i = &m->instruction[n];
        const bool is_view = !i->is_broken && what_of(m, i) == EMP_HLO_VIEW;
        k->origin[n] = is_view ? k->origin[m->operand[i->first_operand]] : n;
    }
}

emp_status emp_hlo_kernels_add(emp_hlo_kernels *k, emp_error *err)
{
    const int32_t              number = k->m->computation_count - 1;
    const emp_hlo_computation *c = &k->m->computation[number];
    const int64_t              reads = (int64_t)k->read_count + c->parameter_count;

    EMP_CHECK(EMP_GROW(k->body, number + 1, k->body_capacity));
    EMP_CHECK(EMP_GROW(k->read, reads, k->read_capacity));
    EMP_CHECK(EMP_GROW(k->origin, k->m->instruction_count, k->origin_capacity));
    k->body[number] = (emp_hlo_body){.updated = -1, .first_read = k->read_count};
    while (k->read_count < reads) k->read[k->read_count++] = 0;
    find_origins(k, c);
    if (number == k->m->entry) return cost_entry(k, c, err);
    return cost_body(k, c, &k->body[number], err);
}

void emp_hlo_kernels_clear(emp_hlo_kernels *k)
{
    emp_free(k->body);
    emp_free(k->read);
    emp_free(k->origin);
    emp_free((void *)k->cost);
    emp_value_set_clear(&k->kept);
    emp_arena_clear(&k->costs);
    *k = (emp_hlo_kernels){0};
}

/* Calls that only reserve memory: no kernel writes it. */
static bool is_allocation(const emp_hlo_module *m, const emp_hlo_instruction *i)
{
    return what_of(m, i) == EMP_HLO_CUSTOM &&
           emp_slice_is(emp_hlo_text_of(m, i, "custom_call_target"), "AllocateBuffer");
}

static emp_status compute_cost(const emp_hlo_kernels *k, const emp_hlo_instruction *i,
                               emp_op_cost *cost, emp_error *err)
{
    *cost = (emp_op_cost){.kernels = 0};
    if (is_allocation(k->m, i)) return EMP_OK;
    cost->kernels = 1;
    EMP_CHECK(count_instruction(k, i, cost, err));
    for (int32_t o = 0; o < i->operand_count; o++)
        cost->bytes_read = emp_add_saturating(cost->bytes_read, read_of(k, i, o));
    cost->bytes_written = emp_add_saturating(cost->bytes_written, written_by_one(k, i));
    cost->workspace_bytes = emp_hlo_made_by(k->m, i).workspace_bytes;
    raise_class(cost, EMP_OP_MOVEMENT);
    return EMP_OK;
}

emp_status emp_hlo_kernel_cost(emp_hlo_kernels *k, const emp_hlo_instruction *i,
                               const emp_op_cost **cost, emp_error *err)
{
    const int32_t n = (int32_t)(i - k->m->instruction);
    emp_op_cost   own;

    EMP_CHECK(EMP_GROW(k->cost, k->m->instruction_count, k->cost_capacity));
    while (k->cost_count < k->m->instruction_count) k->cost[k->cost_count++] = NULL;
    if (k->cost[n] == NULL) {
        EMP_CHECK(compute_cost(k, i, &own, err));
        EMP_CHECK(keep_cost(&k->cost[n], k, &own, err));
    }
    *cost = k->cost[n];
    return EMP_OK;
}

int32_t emp_hlo_updated_operand(const emp_hlo_kernels *k, const emp_hlo_instruction *i)
{
    switch (what_of(k->m, i)) {
    case EMP_HLO_UPDATE: return 0;
    case EMP_HLO_SCATTER: return i->operand_count == 3 ? 0 : -1;
    case EMP_HLO_FUSION: return k->body[i->called].updated;
    default: return -1;
    }
}
