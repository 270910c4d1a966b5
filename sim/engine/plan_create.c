// SPDX-License-Identifier: GPL-3.0-or-later
/* From a step graph to the nodes that ggml would run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sim/engine/plan.h"

/* The state of an op. */
enum { UNSEEN, SEEN, CHOOSES, SKIPPED };

enum { NONE = -1, EXTERNAL = -2, MOST_MASKS = 4, CELLS = 256 };

/* Tensors that the step is fed: embeddings, positions, the tokens whose logits are asked for, and for each kind of
 * cache indices and a mask. */
enum { LEAF_EMBEDDINGS, LEAF_POSITIONS, LEAF_CHOSEN, LEAF_FIRST_CACHE };

/* Caches of as many cells, whose attention sees as many of them. */
struct kind {
    int64_t cells;
    double  seen;
};

struct maker {
    emp_plan        *plan;
    const emp_graph *g;
    emp_arrays       arrays;
    int32_t          node_limit, input_limit, tensor_limit;
    emp_op_id       *order;
    int32_t          order_count;
    int32_t         *tensor_of; /* [tensor of the graph] */
    bool            *is_chosen; /* [tensor of the graph] has rows of chosen tokens only */
    uint8_t         *state;     /* [op] of the walk */
    int64_t          rows, tokens, sequences; /* of the step; planned; of the step */
    struct kind      kind[MOST_MASKS];
    int32_t          kind_count;
    emp_op_id        last_attention;
};

static const char *type_of(const struct maker *m, emp_op_id op)
{
    return m->g->type_name[m->g->type[op]];
}

static bool is(const struct maker *m, emp_op_id op, const char *type)
{
    return strcmp(type_of(m, op), type) == 0;
}

static emp_op_id producer_of(const struct maker *m, emp_op_id op, int32_t input)
{
    return m->g->tensor[m->g->input[m->g->input_offset[op] + input]].producer;
}

static int32_t count_inputs(const struct maker *m, emp_op_id op)
{
    return m->g->input_offset[op + 1] - m->g->input_offset[op];
}

/* The micro-batch that an op is of, as graphs/transformer names them: name/ubatch_1 is the second. */
static long round_of(const struct maker *m, emp_op_id op)
{
    const char *suffix = strstr(m->g->name[op], "/ubatch_");

    return suffix == NULL ? 0 : strtol(suffix + strlen("/ubatch_"), NULL, 10);
}

static bool is_held(const struct maker *m, emp_op_id op)
{
    return (m->g->op[op].flags & (EMP_OP_IS_VARIABLE | EMP_OP_IS_WEIGHTS)) != 0;
}

/* The cache that keys come from, or -1. */
static emp_op_id cache_of(const struct maker *m, emp_op_id op)
{
    while (!is_held(m, op) && count_inputs(m, op) > 0) op = producer_of(m, op, 0);
    return is_held(m, op) ? op : NONE;
}

static int64_t elements_of(const emp_shape *shape)
{
    int64_t count = 1;

    for (int32_t i = 0; i < shape->rank; i++)
        count *= shape->dim[i] > 0 ? shape->dim[i] : 1;
    return count;
}

static int64_t last_of(const emp_shape *shape)
{
    return shape->rank > 0 && shape->dim[shape->rank - 1] > 0
               ? shape->dim[shape->rank - 1]
               : 1;
}

static const emp_tensor *output_of(const struct maker *m, emp_op_id op)
{
    return &m->g->tensor[m->g->output_offset[op]];
}

/* The write to a cache of keys or values that an attention reads as they are made, or -1: llama.cpp reads them from
 * the cache. */
static emp_op_id write_of(const struct maker *m, emp_op_id op, emp_tensor_id tensor)
{
    const emp_graph *g = m->g;

    for (int32_t i = g->consumer_offset[tensor]; i < g->consumer_offset[tensor + 1]; i++)
        if (is(m, op, "Attention") &&
            (g->op[g->consumer[i]].flags & EMP_OP_UPDATES_REF) != 0)
            return g->consumer[i];
    return NONE;
}

static int64_t cells_in(const emp_shape *shape)
{
    const int64_t cells = shape->rank > 1 ? shape->dim[1] : 1;

    return (cells + CELLS - 1) / CELLS * CELLS;
}

/* The cache that an attention reads; without one, its keys. */
static struct kind kind_of(const struct maker *m, emp_op_id attention)
{
    const emp_tensor_id key = m->g->input[m->g->input_offset[attention] + 1];
    const emp_op_id     write = write_of(m, attention, key);
    const emp_op_id  cache = cache_of(m, write >= 0 ? write : m->g->tensor[key].producer);
    const emp_shape *shape =
        cache >= 0 ? output_of(m, cache)->shape : m->g->tensor[key].shape;
    const double outputs = (double)elements_of(output_of(m, attention)->shape);

    return (struct kind){cells_in(shape), m->g->op[attention].cost->flops / outputs};
}

static bool are_alike(const struct kind *a, const struct kind *b)
{
    return a->cells == b->cells && fabs(a->seen - b->seen) < 0.01 * a->seen;
}

/* The number of a kind, the last if there are too many. */
static int32_t find_kind(const struct maker *m, const struct kind *kind)
{
    int32_t i = 0;

    while (i < m->kind_count && !are_alike(&m->kind[i], kind)) i++;
    return i < MOST_MASKS ? i : MOST_MASKS - 1;
}

static int32_t mask_of(const struct maker *m, emp_op_id attention)
{
    const struct kind kind = kind_of(m, attention);

    return LEAF_FIRST_CACHE + 2 * find_kind(m, &kind) + 1;
}

/* The indices that a write to a cache reads. */
static int32_t indices_of(const struct maker *m, emp_op_id write)
{
    const int64_t cells = cells_in(output_of(m, write)->shape);
    int32_t       i = 0;

    while (i + 1 < m->kind_count && m->kind[i].cells != cells) i++;
    return m->kind_count > 0 ? LEAF_FIRST_CACHE + 2 * i : EXTERNAL;
}

/* Tokens of a step are those of a prompt's largest micro-batch, or one of each sequence. llama.cpp plans for a
 * micro-batch of a prompt, whatever it is about to run. */
static void count_tokens(struct maker *m, int64_t plan_tokens)
{
    int64_t context = 0, most = 0;
    long    last = 0;

    m->last_attention = NONE;
    m->rows = m->tokens = m->sequences = 1;
    for (int32_t i = 0; i < m->g->op_count; i++) {
        const emp_op_id op = m->g->topo[i];
        if (m->g->op[op].is_folded || !is(m, op, "Attention") || count_inputs(m, op) < 2)
            continue;
        const emp_shape  *shape = output_of(m, op)->shape;
        const struct kind kind = kind_of(m, op);
        m->sequences = shape->rank == 4 ? shape->dim[0] : 1;
        const int64_t rows = m->sequences * (shape->rank == 4 ? shape->dim[1] : 1);
        if (rows > most) most = rows;
        if (round_of(m, op) > last) last = round_of(m, op);
        const emp_shape *keys =
            m->g->tensor[m->g->input[m->g->input_offset[op] + 1]].shape;
        const int64_t seen = m->sequences * (keys->rank > 1 ? keys->dim[1] : 1);
        if (seen > context) context = seen;
        if (m->state[op] == SKIPPED) continue;
        const int32_t k = find_kind(m, &kind);
        if (k == m->kind_count) m->kind[m->kind_count++] = kind;
        m->last_attention = op;
        m->rows = rows;
    }
    if (plan_tokens > context) plan_tokens = context;
    if (m->last_attention >= 0)
        m->tokens = last > 0 || most > plan_tokens ? most : plan_tokens;
}

/* Activations are float32. A choice from the tokens of a prompt has a row for each sequence here, and a row
 * for each token in the plan. */
static int64_t bytes_of(const struct maker *m, emp_tensor_id tensor)
{
    const emp_tensor *t = &m->g->tensor[tensor];
    const int64_t     bytes =
        emp_dtype_is_float((emp_dtype)t->dtype) ? 4 * elements_of(t->shape) : t->bytes;
    const int64_t rows = m->is_chosen[tensor] ? m->sequences : m->rows;

    return bytes / (rows > 0 ? rows : 1) * m->tokens;
}

/* ---- the order ---- */

/* A sum reads its branch, which has no other reader, before the tensor that goes around it. */
static void sort_inputs(const struct maker *m, emp_op_id op, emp_tensor_id *input,
                        int32_t count)
{
    const emp_graph *g = m->g;

    for (int32_t i = 0; i < count; i++) input[i] = g->input[g->input_offset[op] + i];
    if (count != 2 || !is(m, op, "Add")) return;
    int32_t first = g->consumer_offset[input[0] + 1] - g->consumer_offset[input[0]];
    int32_t second = g->consumer_offset[input[1] + 1] - g->consumer_offset[input[1]];
    if (first <= 1 || second > 1) return;
    emp_tensor_id other = input[0];
    input[0] = input[1];
    input[1] = other;
}

static emp_tensor_id input_of(const struct maker *m, emp_op_id op, int32_t i)
{
    emp_tensor_id two[2];
    const int32_t count = count_inputs(m, op);

    if (count != 2) return m->g->input[m->g->input_offset[op] + i];
    sort_inputs(m, op, two, count);
    return two[i];
}

/* Ops of a depth-first walk, each behind all that it reads, inputs in their order. \a stack: [op]; \a next:
 * [op], the input to look at. */
static void walk_from(struct maker *m, emp_op_id from, emp_op_id *stack, int32_t *next)
{
    int32_t depth = 0;

    if (m->state[from] != UNSEEN) return;
    m->state[from] = SEEN;
    stack[depth++] = from;
    while (depth > 0) {
        const emp_op_id op = stack[depth - 1];
        if (next[op] == count_inputs(m, op)) {
            m->order[m->order_count++] = op;
            depth--;
            continue;
        }
        const emp_tensor_id input = input_of(m, op, next[op]++);
        const emp_op_id     write = write_of(m, op, input);
        const emp_op_id     before = write >= 0 ? write : m->g->tensor[input].producer;
        if (m->state[before] != UNSEEN) continue;
        m->state[before] = SEEN;
        stack[depth++] = before;
    }
}

/* One micro-batch is planned, the last: it has the head. */
static emp_status find_order(struct maker *m, emp_error *err)
{
    const emp_graph *g = m->g;
    emp_op_id       *stack = EMP_ADD_ARRAY(&m->arrays, emp_op_id, (size_t)g->op_count);
    int32_t         *next = EMP_ADD_ARRAY(&m->arrays, int32_t, (size_t)g->op_count);
    long             last = 0;

    m->order = EMP_ADD_ARRAY(&m->arrays, emp_op_id, (size_t)g->op_count);
    m->state = EMP_ADD_ARRAY(&m->arrays, uint8_t, (size_t)g->op_count);
    if (m->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "order of %d ops", g->op_count);
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (round_of(m, op) > last) last = round_of(m, op);
    for (emp_op_id op = 0; op < g->op_count; op++)
        m->state[op] = g->op[op].is_folded || is_held(m, op) || round_of(m, op) != last
                           ? SKIPPED
                           : UNSEEN;
    for (int32_t i = g->op_count - 1; i >= 0; i--) {
        if (m->state[g->topo[i]] != UNSEEN) continue;
        walk_from(m, g->topo[i], stack, next);
        break;
    }
    for (int32_t i = 0; i < g->op_count; i++) walk_from(m, g->topo[i], stack, next);
    return EMP_OK;
}

/* ---- nodes ---- */

static int32_t add_tensor(struct maker *m, int64_t bytes)
{
    m->plan->bytes[m->plan->tensor_count] = bytes;
    return m->plan->tensor_count++;
}

static void add_input(struct maker *m, int32_t tensor)
{
    if (tensor < 0) return;
    m->plan->input[m->plan->input_count++] = tensor;
    m->plan->node[m->plan->node_count].input_end++;
}

static void open_node(struct maker *m, emp_op_id op, uint32_t flags)
{
    emp_plan *p = m->plan;

    p->node[p->node_count] = (emp_plan_node){
        op, p->input_count, p->input_count, p->tensor_count, p->tensor_count, flags};
}

static void close_node(struct maker *m)
{
    m->plan->node[m->plan->node_count++].output_end = m->plan->tensor_count;
}

static bool has_weights(const struct maker *m, emp_op_id op)
{
    if (m->g->op[op].persistent_bytes > 0 && !is_held(m, op)) return true;
    for (int32_t i = 0; i < count_inputs(m, op); i++) {
        const emp_op *from = &m->g->op[producer_of(m, op, i)];
        if ((from->flags & (EMP_OP_IS_WEIGHTS | EMP_OP_STREAMS)) != 0) return true;
        if ((from->flags & EMP_OP_IS_VARIABLE) != 0 &&
            (from->flags & EMP_OP_IS_STATE) == 0)
            return true;
    }
    return false;
}

static bool is_only_reader(const struct maker *m, emp_tensor_id tensor)
{
    return m->g->consumer_offset[tensor + 1] - m->g->consumer_offset[tensor] == 1;
}

/* The product that an activation is fused with, if its other factor is as large: a gated unit, or -1. */
static emp_op_id gated_by(const struct maker *m, emp_op_id op)
{
    const emp_tensor_id out = m->g->output_offset[op];

    if ((m->g->op[op].flags & EMP_OP_IN_PLACE) == 0 || count_inputs(m, op) != 1 ||
        !is_only_reader(m, out))
        return NONE;
    const emp_op_id reader = m->g->consumer[m->g->consumer_offset[out]];
    if (!is(m, reader, "Mul") || count_inputs(m, reader) != 2 ||
        is(m, op, "RotaryEmbedding"))
        return NONE;
    for (int32_t i = 0; i < 2; i++) {
        const emp_tensor *t = &m->g->tensor[m->g->input[m->g->input_offset[reader] + i]];
        if (elements_of(t->shape) != elements_of(m->g->tensor[out].shape)) return NONE;
    }
    return reader;
}

static bool is_gated(const struct maker *m, emp_op_id op)
{
    if (!is(m, op, "Mul")) return false;
    for (int32_t i = 0; i < count_inputs(m, op); i++)
        if (gated_by(m, producer_of(m, op, i)) == op) return true;
    return false;
}

static bool is_experts_input(const struct maker *m, emp_op_id op)
{
    const emp_tensor_id out = m->g->output_offset[op];

    return is(m, op, "Gather") &&
           m->g->consumer_offset[out + 1] > m->g->consumer_offset[out] &&
           is(m, m->g->consumer[m->g->consumer_offset[out]], "ExpertsMatMul");
}

/* Whether output 0 has no bytes of its own: views, what only changes between floats, an activation that its product
 * computes, and rows that products of experts pick themselves. */
static bool is_alias(const struct maker *m, emp_op_id op)
{
    if (m->g->op[op].is_alias || gated_by(m, op) >= 0 || is_experts_input(m, op))
        return true;
    return is(m, op, "Cast") && emp_dtype_is_float((emp_dtype)output_of(m, op)->dtype);
}

static bool is_norm(const struct maker *m, emp_op_id op)
{
    return (is(m, op, "RMSNorm") || is(m, op, "LayerNorm")) && has_weights(m, op);
}

static uint32_t flags_of(const struct maker *m, emp_op_id op)
{
    const bool is_in_place = (m->g->op[op].flags & EMP_OP_IN_PLACE) != 0 &&
                             !is_gated(m, op) && !is(m, op, "RotaryEmbedding");

    return (has_weights(m, op) ? 0u : EMP_PLAN_IS_LOOSE) |
           (is_in_place ? EMP_PLAN_IN_PLACE : 0u) |
           (is(m, op, "CombineExperts") ? EMP_PLAN_FREES_REST : 0u);
}

/* A view of fewer rows chooses tokens, and what follows has a row for each. */
static void note_chosen(struct maker *m, emp_op_id op)
{
    bool is_chosen = false;

    for (int32_t i = 0; i < count_inputs(m, op); i++)
        is_chosen = is_chosen || m->is_chosen[m->g->input[m->g->input_offset[op] + i]];
    if (m->g->op[op].is_alias && m->g->output_offset[op] < m->g->output_offset[op + 1] &&
        m->tensor_of[m->g->input[m->g->input_offset[op]]] >= 0) {
        const emp_shape *to = output_of(m, op)->shape;
        const emp_shape *from = m->g->tensor[m->g->input[m->g->input_offset[op]]].shape;
        is_chosen = is_chosen ||
                    (last_of(to) == last_of(from) && elements_of(to) < elements_of(from));
    }
    for (int32_t t = m->g->output_offset[op]; t < m->g->output_offset[op + 1]; t++)
        m->is_chosen[t] = is_chosen;
}

static void add_inputs(struct maker *m, emp_op_id op)
{
    for (int32_t i = 0; i < count_inputs(m, op); i++) {
        const emp_tensor_id input = input_of(m, op, i);
        if (write_of(m, op, input) < 0) add_input(m, m->tensor_of[input]);
    }
    if (m->kind_count == 0) return;
    if (is(m, op, "Attention")) add_input(m, mask_of(m, op));
    if (is(m, op, "RotaryEmbedding")) add_input(m, LEAF_POSITIONS);
    if ((m->g->op[op].flags & EMP_OP_UPDATES_REF) != 0) add_input(m, indices_of(m, op));
}

/* Picks the tokens whose logits are asked for: from both sides of a sum, or from what a norm reads. */
static void choose_tokens(struct maker *m, emp_op_id op)
{
    for (int32_t i = 0; i < 2 && i < count_inputs(m, op); i++) {
        const emp_tensor_id tensor = input_of(m, op, i);
        if (m->tensor_of[tensor] < 0) continue;
        open_node(m, op,
                  EMP_PLAN_IS_LOOSE | (is_norm(m, op) ? EMP_PLAN_KEEPS_INPUT : 0u));
        add_input(m, m->tensor_of[tensor]);
        add_input(m, LEAF_CHOSEN);
        m->tensor_of[tensor] = add_tensor(m, m->plan->bytes[m->tensor_of[tensor]]);
        close_node(m);
    }
}

static void add_outputs(struct maker *m, emp_op_id op)
{
    const emp_graph *g = m->g;

    for (int32_t t = g->output_offset[op]; t < g->output_offset[op + 1]; t++) {
        int64_t bytes = bytes_of(m, t);
        m->tensor_of[t] = EXTERNAL;
        if (t > g->output_offset[op] && !emp_graph_is_read(g, t)) continue;
        if (t > g->output_offset[op] && is(m, op, "RouteTokens")) {
            /* all experts are sorted, and the best are a view */
            int64_t all = bytes_of(m, g->input[g->input_offset[op]]);
            bytes = all > bytes ? all : bytes;
        }
        m->tensor_of[t] = add_tensor(m, bytes);
    }
}

/* A norm and the product with its weights are two nodes. */
static void add_norm(struct maker *m, emp_op_id op)
{
    open_node(m, op,
              EMP_PLAN_IS_LOOSE | EMP_PLAN_IS_NORM |
                  (is(m, op, "RMSNorm") ? EMP_PLAN_IN_PLACE : 0u));
    add_inputs(m, op);
    const int32_t normed = add_tensor(m, bytes_of(m, m->g->output_offset[op]));
    close_node(m);
    open_node(m, op, EMP_PLAN_IN_PLACE);
    add_input(m, normed);
    add_outputs(m, op);
    close_node(m);
}

static void add_op(struct maker *m, emp_op_id op)
{
    const emp_graph *g = m->g;

    note_chosen(m, op);
    for (int32_t t = g->output_offset[op]; t < g->output_offset[op + 1]; t++)
        m->tensor_of[t] = EXTERNAL;
    if (m->state[op] == CHOOSES) choose_tokens(m, op);
    if ((g->op[op].flags & EMP_OP_FEED) != 0 || is(m, op, "SampleToken")) return;
    if ((g->op[op].flags & EMP_OP_UPDATES_REF) != 0) {
        open_node(m, op, 0);
        add_inputs(m, op);
        close_node(m);
    } else if (is_alias(m, op)) {
        if (count_inputs(m, op) > 0)
            m->tensor_of[g->output_offset[op]] =
                m->tensor_of[g->input[g->input_offset[op]]];
    } else if (is_norm(m, op)) {
        add_norm(m, op);
    } else {
        open_node(m, op, flags_of(m, op));
        add_inputs(m, op);
        add_outputs(m, op);
        close_node(m);
    }
}

/* llama.cpp reserves embeddings in place of tokens, too, though nothing reads them. */
static void add_leaves(struct maker *m)
{
    int64_t width = 0;

    for (int32_t i = 0; i < m->order_count && width == 0 && m->kind_count > 0; i++) {
        const emp_op_id op = m->order[i];
        if (is(m, op, "Gather") && has_weights(m, op))
            width = last_of(output_of(m, op)->shape);
    }
    add_tensor(m, 4 * m->tokens * width);
    add_tensor(m, m->kind_count > 0 ? 4 * m->tokens : 0);
    add_tensor(m, m->kind_count > 0 ? 4 * m->tokens : 0);
    for (int32_t i = 0; i < m->kind_count; i++) {
        add_tensor(m, 2 * 8 * m->tokens);
        add_tensor(m, 2 * m->kind[i].cells * m->tokens);
    }
    m->plan->leaf_count = m->plan->tensor_count;
}

/* The op before which tokens are chosen: in llama.cpp the first sum behind the last attention, and
 * the last norm in models whose attention has sinks. */
static void find_choice(struct maker *m)
{
    const bool has_sinks = m->last_attention >= 0 && has_weights(m, m->last_attention);
    bool       is_behind = false;
    emp_op_id  choice = NONE;

    for (int32_t i = 0; i < m->order_count; i++) {
        const emp_op_id op = m->order[i];
        is_behind = is_behind || op == m->last_attention;
        if (!is_behind) continue;
        const bool is_sum = is(m, op, "Add") && count_inputs(m, op) == 2;
        if (has_sinks ? is_norm(m, op) : is_sum && choice < 0) choice = op;
    }
    if (choice >= 0) m->state[choice] = CHOOSES;
}

static emp_status allocate(struct maker *m, emp_error *err)
{
    emp_plan    *p = m->plan;
    const size_t ops = (size_t)m->g->op_count, tensors = (size_t)m->g->tensor_count;
    const size_t devices = (size_t)p->problem->machine->device_count;
    const size_t most = tensors + ops + LEAF_FIRST_CACHE + 2 * MOST_MASKS +
                        4; /* a norm has two, and chosen rows */

    p->node = EMP_ADD_ARRAY(&p->arrays, emp_plan_node, 2 * ops + 2);
    p->input = EMP_ADD_ARRAY(&p->arrays, int32_t,
                             (size_t)m->g->input_offset[m->g->op_count] + 3 * ops + 4);
    p->bytes = EMP_ADD_ARRAY(&p->arrays, int64_t, most);
    p->device = EMP_ADD_ARRAY(&p->arrays, emp_device_id, 2 * ops + 2);
    p->home = EMP_ADD_ARRAY(&p->arrays, emp_device_id, most);
    p->buffer = EMP_ADD_ARRAY(&p->arrays, emp_plan_buffer, devices);
    m->tensor_of = EMP_ADD_ARRAY(&m->arrays, int32_t, tensors);
    m->is_chosen = EMP_ADD_ARRAY(&m->arrays, bool, tensors);
    if (p->arrays.is_short || m->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "plan of %d ops", m->g->op_count);
    for (size_t t = 0; t < tensors; t++) m->tensor_of[t] = EXTERNAL;
    return EMP_OK;
}

emp_status emp_plan_create(emp_plan **out, const emp_problem *problem, emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_plan    *p = EMP_NEW(emp_plan);
    struct maker m = {.plan = p, .g = problem->graph};
    const size_t devices = (size_t)problem->machine->device_count;

    *out = NULL;
    if (p == NULL) EMP_FAIL(EMP_ENOMEM, "plan");
    p->problem = problem;
    const emp_device *cpu = emp_machine_first(problem->machine, EMP_DEVICE_CPU);
    p->host = cpu != NULL ? (emp_device_id)(cpu - problem->machine->device) : 0;
    EMP_TRY(find_order(&m, err));
    EMP_TRY(allocate(&m, err));
    count_tokens(&m, problem->runtime.events.plan_tokens);
    add_leaves(&m);
    find_choice(&m);
    for (int32_t i = 0; i < m.order_count; i++) add_op(&m, m.order[i]);
    p->place =
        EMP_ADD_ARRAY(&p->arrays, emp_plan_place, (size_t)p->tensor_count * devices);
    if (p->arrays.is_short) EMP_FAIL(EMP_ENOMEM, "plan of %d tensors", p->tensor_count);
    *out = p;
    p = NULL;

cleanup:
    emp_arrays_clear(&m.arrays);
    emp_plan_destroy(p);
    return st;
}

void emp_plan_destroy(emp_plan *plan)
{
    if (plan == NULL) return;
    emp_arrays_clear(&plan->arrays);
    emp_free(plan);
}
