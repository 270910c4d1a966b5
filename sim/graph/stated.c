// SPDX-License-Identifier: GPL-3.0-or-later
/* Facts about ops that their types and shapes do not have: times on device models, and of collectives. */
#include <ctype.h>
#include <string.h>

#include "base/collections.h"
#include "sim/graph/graph_builder_internal.h"

/* ---- names of device models ---- */

/* The next letter or digit, in lower case; 0 at the end. */
static int next_of_name(const char **at)
{
    while (**at != '\0' && !isalnum((unsigned char)**at)) (*at)++;
    return **at == '\0' ? 0 : tolower((unsigned char)*(*at)++);
}

bool emp_graph_is_same_model(const char *a, const char *b)
{
    int of_a;

    do {
        of_a = next_of_name(&a);
        if (of_a != next_of_name(&b)) return false;
    } while (of_a != 0);
    return true;
}

static int32_t find_model(const char *const *names, int32_t count, const char *name)
{
    for (int32_t i = 0; i < count; i++)
        if (emp_graph_is_same_model(names[i], name)) return i;
    return -1;
}

int32_t emp_graph_find_stated_model(const emp_graph *graph, const char *name)
{
    return find_model(graph->stated_model, graph->stated_model_count, name);
}

/* ---- the builder ---- */

static const emp_node_facts no_facts;

/* The facts of a node, to be added to; NULL: out of memory. */
static emp_node_facts *facts_of(emp_graph_builder *b, emp_op_id op)
{
    emp_node *node = &b->node[op];

    if (node->facts == NULL)
        node->facts = emp_arena_alloc(&b->scratch, sizeof *node->facts);
    return node->facts;
}

static const emp_node_facts *known_facts(const emp_graph_builder *b, emp_op_id op)
{
    return b->node[op].facts != NULL ? b->node[op].facts : &no_facts;
}

static bool is_stated_op(const emp_graph_builder *b, emp_op_id op)
{
    return op >= 0 && op < b->node_count && b->node[op].stated != NULL;
}

emp_status emp_graph_builder_state_model(emp_graph_builder *b, const char *name,
                                         int32_t *model, emp_error *err)
{
    const char *rest = name;

    *model = find_model(b->stated_model, b->stated_model_count, name);
    if (*model >= 0) return EMP_OK;
    if (next_of_name(&rest) == 0)
        return EMP_ERROR(EMP_EINVAL, "\"%.40s\" is no name of a device model", name);
    if (b->has_model_times)
        return EMP_ERROR(EMP_EINVAL,
                         "the device model \"%.40s\" is named after times are stated",
                         name);
    if (b->stated_model_count == EMP_STATED_MODELS_MAX)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "ops state times on more than %d device models",
                         EMP_STATED_MODELS_MAX);
    const char *copy = emp_arena_strndup(&b->names, name, strlen(name));
    if (copy == NULL) return EMP_ERROR(EMP_ENOMEM, "device model \"%.40s\"", name);
    *model = b->stated_model_count++;
    b->stated_model[*model] = copy;
    return EMP_OK;
}

emp_status emp_graph_builder_state_time(emp_graph_builder *b, emp_op_id op, int32_t model,
                                        int64_t gpu_ns, emp_error *err)
{
    if (!is_stated_op(b, op) || model < 0 || model >= b->stated_model_count || gpu_ns < 0)
        return EMP_ERROR(EMP_EINVAL, "%lld ns of op %d on device model %d",
                         (long long)gpu_ns, op, model);
    emp_node_facts *facts = facts_of(b, op);
    size_t          models = (size_t)b->stated_model_count;
    if (facts != NULL && facts->model_ns == NULL) {
        facts->model_ns = emp_arena_alloc(&b->scratch, models * sizeof *facts->model_ns);
        for (size_t i = 0; facts->model_ns != NULL && i < models; i++)
            facts->model_ns[i] = -1;
    }
    if (facts == NULL || facts->model_ns == NULL)
        return EMP_ERROR(EMP_ENOMEM, "times of op \"%s\"", b->node[op].name);
    facts->model_ns[model] = gpu_ns;
    b->has_model_times = true;
    return EMP_OK;
}

emp_status emp_graph_builder_describe_kernel(emp_graph_builder *b, emp_op_id op,
                                             const emp_traced_kernel *kernel,
                                             emp_error               *err)
{
    if (!is_stated_op(b, op))
        return EMP_ERROR(EMP_EINVAL, "op %d does not state its costs", op);
    emp_node_facts    *facts = facts_of(b, op);
    emp_traced_kernel *copy = emp_arena_alloc(&b->scratch, sizeof *copy);
    if (facts == NULL || copy == NULL)
        return EMP_ERROR(EMP_ENOMEM, "the kernel of op \"%s\"", b->node[op].name);
    *copy = *kernel;
    facts->kernel = copy;
    b->has_kernels = true;
    return EMP_OK;
}

/* ---- the graph ---- */

static emp_status allocate(emp_graph *g, int32_t models, bool has_kernels, emp_error *err)
{
    size_t ops = (size_t)g->op_count;

    if (has_kernels) g->traced = EMP_ADD_ARRAY(&g->arrays, emp_traced_kernel, ops);

    if (models > 0) {
        g->stated_model = EMP_ADD_ARRAY(&g->arrays, const char *, (size_t)models);
        g->stated_model_ns = EMP_ADD_ARRAY(&g->arrays, int64_t, (size_t)models * ops);
    }
    if (g->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "stated times of %d ops on %d device models",
                         g->op_count, models);
    g->stated_model_count = models;
    return EMP_OK;
}

emp_status emp_stated_finish(emp_graph_builder *b, emp_graph *g, emp_error *err)
{
    int32_t models = b->has_model_times ? b->stated_model_count : 0;

    EMP_CHECK(allocate(g, models, b->has_kernels, err));
    for (int32_t m = 0; m < models; m++) g->stated_model[m] = b->stated_model[m];
    for (emp_op_id op = 0; op < g->op_count; op++) {
        const emp_node_facts *facts = known_facts(b, op);
        if (facts->kernel != NULL) g->traced[op] = *facts->kernel;
        for (int32_t m = 0; m < models; m++) {
            int64_t ns = facts->model_ns == NULL ? -1 : facts->model_ns[m];
            g->stated_model_ns[(size_t)m * (size_t)g->op_count + (size_t)op] =
                ns < 0 ? b->node[op].stated->cost.gpu_ns : ns;
        }
    }
    return EMP_OK;
}

emp_status emp_stated_prune(emp_graph *g, const emp_graph *whole,
                            const int32_t *new_of_op, emp_error *err)
{
    EMP_CHECK(allocate(g, whole->stated_model_count, whole->traced != NULL, err));
    for (int32_t m = 0; m < g->stated_model_count; m++)
        g->stated_model[m] = whole->stated_model[m];
    for (emp_op_id old = 0; old < whole->op_count; old++) {
        emp_op_id op = new_of_op[old];
        if (op < 0) continue;
        if (whole->traced != NULL) g->traced[op] = whole->traced[old];
        for (int32_t m = 0; m < g->stated_model_count; m++)
            g->stated_model_ns[(size_t)m * (size_t)g->op_count + (size_t)op] =
                emp_graph_stated_gpu_ns(whole, old, m);
    }
    return EMP_OK;
}

uint64_t emp_stated_hash(uint64_t hash, const emp_graph *g)
{
    size_t times = (size_t)g->stated_model_count * (size_t)g->op_count;

    for (int32_t m = 0; m < g->stated_model_count; m++)
        hash = emp_hash_bytes(hash, g->stated_model[m], strlen(g->stated_model[m]) + 1);
    for (size_t i = 0; i < times; i++)
        hash = emp_hash_u64(hash, (uint64_t)g->stated_model_ns[i]);
    return hash;
}

/* ---- collectives ---- */

emp_status emp_graph_builder_set_collective(emp_graph_builder *b, emp_op_id op,
                                            const emp_collective_part *part,
                                            emp_error                 *err)
{
    bool has_ranks =
        part->ranks >= 1 || part->ranks == EMP_RANKS_ALL ||
        (part->ranks == EMP_RANKS_ALL_GATHER && part->op == EMP_COLLECTIVE_ALL_GATHER);

    if (op < 0 || op >= b->node_count || !has_ranks || part->bytes < 0 || part->set < 0 ||
        part->set > b->node_count)
        return EMP_ERROR(EMP_EINVAL, "a collective of %d ranks and %lld bytes as op %d",
                         part->ranks, (long long)part->bytes, op);
    emp_node_facts      *facts = facts_of(b, op);
    emp_collective_part *copy = emp_arena_alloc(&b->scratch, sizeof *copy);
    if (facts == NULL || copy == NULL)
        return EMP_ERROR(EMP_ENOMEM, "collective \"%s\"", b->node[op].name);
    *copy = *part;
    facts->collective = copy;
    b->has_collectives = true;
    return EMP_OK;
}

/* The number of ranks whose parts make up the whole; unknown if that is not a number. */
static int32_t count_ranks(int64_t whole, int64_t part)
{
    if (part <= 0 || whole % part != 0) return EMP_RANKS_ALL;
    int64_t ranks = whole / part;
    return ranks >= 2 && ranks <= INT32_MAX ? (int32_t)ranks : EMP_RANKS_ALL;
}

/* Ops of these types are given what they write to, too. */
static bool is_given_output(const char *type)
{
    size_t length = strlen(type);

    return strncmp(type, "c10d.", 5) == 0 ||
           (length > 4 && strcmp(type + length - 4, "_out") == 0);
}

/* The data that an op of such a type exchanges, by the sizes of its inputs and results; \a ranks of 0 are unknown. */
static emp_collective_part part_of(const emp_graph *g, emp_op_id op, emp_collective what,
                                   int32_t ranks)
{
    emp_collective_part part = {.op = what, .ranks = EMP_RANKS_ALL};
    int64_t             in = 0, out = 0;

    for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++)
        in = emp_add_saturating(in, g->tensor[g->input[i]].copy_bytes);
    for (int32_t t = g->output_offset[op]; t < g->output_offset[op + 1]; t++)
        out = emp_add_saturating(out, g->tensor[t].copy_bytes);
    if (in > out && out > 0 && is_given_output(g->type_name[g->type[op]])) in -= out;
    if (what == EMP_COLLECTIVE_ALL_GATHER) part.ranks = count_ranks(out, in);
    if (what == EMP_COLLECTIVE_REDUCE_SCATTER) part.ranks = count_ranks(in, out);
    part.bytes = what == EMP_COLLECTIVE_REDUCE_SCATTER || out == 0 ? in : out;
    if (what == EMP_COLLECTIVE_ALL_GATHER && out == 0) {
        part.ranks = EMP_RANKS_ALL_GATHER;
        if (ranks > 0) part.bytes = emp_mul_saturating(in, ranks);
    }
    if (ranks > 0) part.ranks = ranks;
    return part;
}

static bool has_collective_type(const emp_graph *g)
{
    emp_collective op;

    for (int32_t t = 0; g->stated == NULL && t < g->type_count; t++)
        if (emp_collective_of_type(&op, g->type_name[t])) return true;
    return false;
}

static emp_status allocate_collectives(emp_graph *g, emp_error *err)
{
    g->collective = EMP_ADD_ARRAY(&g->arrays, emp_collective_part, (size_t)g->op_count);
    if (g->collective == NULL)
        return EMP_ERROR(EMP_ENOMEM, "collectives of %d ops", g->op_count);
    return EMP_OK;
}

emp_status emp_collectives_finish(emp_graph_builder *b, emp_graph *g, emp_error *err)
{
    emp_collective what;

    if (!b->has_collectives && !has_collective_type(g)) return EMP_OK;
    EMP_CHECK(allocate_collectives(g, err));
    for (emp_op_id op = 0; op < g->op_count; op++) {
        const emp_node_facts *facts = known_facts(b, op);
        if (facts->collective != NULL)
            g->collective[op] = *facts->collective;
        else if (g->stated == NULL &&
                 emp_collective_of_type(&what, g->type_name[g->type[op]]))
            g->collective[op] = part_of(g, op, what, b->node[op].attrs->count);
    }
    return EMP_OK;
}

emp_status emp_collectives_prune(emp_graph *g, const emp_graph *whole,
                                 const int32_t *new_of_op, emp_error *err)
{
    if (whole->collective == NULL) return EMP_OK;
    EMP_CHECK(allocate_collectives(g, err));
    for (emp_op_id old = 0; old < whole->op_count; old++)
        if (new_of_op[old] >= 0) g->collective[new_of_op[old]] = whole->collective[old];
    return EMP_OK;
}

uint64_t emp_collectives_hash(uint64_t hash, const emp_graph *g)
{
    for (emp_op_id op = 0; g->collective != NULL && op < g->op_count; op++) {
        const emp_collective_part *part = &g->collective[op];
        hash = emp_hash_u64(hash, (uint64_t)part->op);
        hash = emp_hash_u64(hash, (uint64_t)part->ranks);
        hash = emp_hash_u64(hash, (uint64_t)part->bytes);
        hash = emp_hash_u64(hash, (uint64_t)part->set);
    }
    return hash;
}
