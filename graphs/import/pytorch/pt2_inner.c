// SPDX-License-Identifier: GPL-3.0-or-later
// Operands of higher-order ops: the signatures in PyTorch's torch/_higher_order_ops.
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/import/pytorch/program.h"

enum {
    DEPTH_MAX = 16,
    PREFIX_BYTES = 1024,
    GRAPHS_MAX = 2,
    LISTS_MAX = 3,
    ITERATIONS_MAX = 1 << 20
};

/* A higher-order op: its graphs, and the tensors that they are run with. */
typedef struct {
    emp_pt2_reader *outer;
    const char     *target; /* "cond" of "torch.ops.higher_order.cond" */
    const char     *name, *module, *place;
    const emp_json *graph[GRAPHS_MAX];
    int32_t         graph_count;
    emp_pt2_maker  *argument; /* all operands behind the graphs, lists flattened */
    int32_t         argument_count, argument_capacity;
    int32_t         list[LISTS_MAX]; /* members of each list among them */
    int32_t         list_count;
    emp_pt2_maker  *output; /* of the graph that has been run last */
    int32_t         output_count;
} inner;

/* ---- operands ---- */

static emp_pt2_maker maker_named(const emp_pt2_reader *r, const char *name)
{
    int32_t at =
        name == NULL ? -1 : emp_strmap_get(&r->maker_of_name, name, strlen(name));

    return at < 0 ? (emp_pt2_maker){-1, 0} : r->maker[at];
}

/* {"name": "x"}, or {"as_tensor": {"name": "x"}} in graphs' inputs and in lists with gaps. */
static const char *tensor_name(const emp_json *value)
{
    const emp_json *tensor = emp_json_get(value, "as_tensor");

    return emp_json_string(emp_json_get(tensor == NULL ? value : tensor, "name"));
}

static emp_status add_argument(inner *in, const char *name, emp_error *err)
{
    EMP_CHECK(EMP_GROW(in->argument, in->argument_count + 1, in->argument_capacity));
    in->argument[in->argument_count++] = maker_named(in->outer, name);
    return EMP_OK;
}

static emp_status read_operand(inner *in, const emp_json *operand, emp_error *err)
{
    const char     *key = emp_json_string(emp_json_get(operand, "name"));
    const emp_json *value = emp_json_first(emp_json_get(operand, "arg"));
    const char     *kind = emp_json_key(value);

    if (kind == NULL || (key != NULL && key[0] != '\0')) return EMP_OK; /* an option */
    if (strcmp(kind, "as_graph") == 0) {
        if (in->graph_count < GRAPHS_MAX)
            in->graph[in->graph_count] = emp_json_get(value, "graph");
        in->graph_count++;
        return EMP_OK;
    }
    if (in->graph_count == 0 || strcmp(kind, "as_string") == 0) return EMP_OK;
    if (!emp_json_is(value, EMP_JSON_ARRAY))
        return add_argument(in, tensor_name(value), err);
    if (in->list_count < LISTS_MAX) in->list[in->list_count] = emp_json_count(value);
    in->list_count++;
    for (const emp_json *v = emp_json_first(value); v != NULL; v = emp_json_next(v))
        EMP_CHECK(add_argument(in, tensor_name(v), err));
    return EMP_OK;
}

static int32_t count_of(const emp_json *graph, const char *key)
{
    const emp_json *list = emp_json_get(graph, key);

    return emp_json_is(list, EMP_JSON_ARRAY) ? emp_json_count(list) : -1;
}

static bool fits(const inner *in, int32_t graph)
{
    return count_of(in->graph[graph], "inputs") == in->argument_count &&
           count_of(in->graph[graph], "outputs") >= 0 &&
           count_of(in->graph[graph], "nodes") >= 0;
}

/* ---- one run of a graph ---- */

static emp_status run_nodes(inner *in, emp_pt2_reader *r, const emp_json *graph,
                            emp_error *err)
{
    int32_t number = 0, at = 0;

    EMP_CHECK(emp_pt2_index_tensors(r, emp_json_get(graph, "tensor_values"), err));
    for (const emp_json *v = emp_json_first(emp_json_get(graph, "inputs")); v != NULL;
         v = emp_json_next(v), at++) {
        const char *name = tensor_name(v);
        if (name != NULL && in->argument[at].node >= 0)
            EMP_CHECK(emp_pt2_set_maker(r, name, in->argument[at], err));
    }
    for (const emp_json *v = emp_json_first(emp_json_get(graph, "nodes")); v != NULL;
         v = emp_json_next(v))
        EMP_CHECK(r->read_node(r, v, number++, err));
    at = 0;
    for (const emp_json *v = emp_json_first(emp_json_get(graph, "outputs")); v != NULL;
         v = emp_json_next(v))
        in->output[at++] = maker_named(r, tensor_name(v));
    return EMP_OK;
}

/* \a iteration: of a loop; -1: the graph runs once. */
static emp_status run(inner *in, const emp_json *graph, int32_t iteration, emp_error *err)
{
    char           prefix[PREFIX_BYTES], number[16] = "";
    emp_pt2_reader r = {.p = in->outer->p,
                        .weights = in->outer->weights,
                        .notes = in->outer->notes,
                        .kept = in->outer->kept,
                        .read_node = in->outer->read_node,
                        .prefix = prefix,
                        .module = in->module,
                        .depth = in->outer->depth + 1};

    if (iteration >= 0) snprintf(number, sizeof number, ".%d", iteration);
    if (r.depth > DEPTH_MAX)
        return EMP_ERROR(EMP_EUNSUPPORTED, "%s: more than %d graphs in each other",
                         in->place, DEPTH_MAX);
    if (snprintf(prefix, sizeof prefix, "%s%s%s/", in->outer->prefix, in->name, number) >=
        PREFIX_BYTES)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "%s: the names of the graphs around it have more than %d bytes",
                         in->place, PREFIX_BYTES);
    emp_free(in->output);
    in->output = NULL;
    in->output_count = count_of(graph, "outputs");
    EMP_CHECK(EMP_ALLOC(in->output, (size_t)in->output_count + 1));
    emp_status st = run_nodes(in, &r, graph, err);
    emp_pt2_reader_clear(&r);
    return st;
}

/* The op's results are what the graph has made. */
static emp_status set_results(inner *in, const char **names, int32_t count,
                              emp_error *err)
{
    for (int32_t i = 0; i < count; i++) {
        if (names[i] == NULL) continue;
        if (i >= in->output_count || in->output[i].node < 0)
            return EMP_ERROR(EMP_EFORMAT, "%s: its graph makes no tensor for \"%.80s\"",
                             in->place, names[i]);
        EMP_CHECK(emp_pt2_set_maker(in->outer, names[i], in->output[i], err));
    }
    return EMP_OK;
}

/* ---- branches ---- */

static double elements_of(emp_pt2_reader *r, const emp_json *value)
{
    const char     *name = tensor_name(value);
    emp_tensor_info tensor;

    if (name == NULL || emp_pt2_read_tensor(r, name, "", &tensor, NULL) != EMP_OK)
        return 0;
    return (double)emp_shape_elements(&tensor.shape);
}

/* Elements that the nodes of a graph read and write: a measure of its work that needs no op to be known. */
static emp_status weigh(inner *in, const emp_json *graph, double *weight, emp_error *err)
{
    emp_pt2_reader r = {.p = in->outer->p};
    emp_status st = emp_pt2_index_tensors(&r, emp_json_get(graph, "tensor_values"), err);

    *weight = 0;
    for (const emp_json *node =
             st == EMP_OK ? emp_json_first(emp_json_get(graph, "nodes")) : NULL;
         node != NULL; node = emp_json_next(node)) {
        const emp_json *v = emp_json_first(emp_json_get(node, "inputs"));
        for (; v != NULL; v = emp_json_next(v))
            *weight += elements_of(&r, emp_json_get(v, "arg"));
        for (v = emp_json_first(emp_json_get(node, "outputs")); v != NULL;
             v = emp_json_next(v))
            *weight += elements_of(&r, v);
    }
    emp_pt2_reader_clear(&r);
    return st;
}

/* The branch that is not taken has weights, too, and both wait for the condition. */
static emp_status keep(inner *in, const emp_json *node, emp_error *err)
{
    emp_pt2_kept   *kept = in->outer->kept;
    const emp_json *condition = emp_json_first(emp_json_get(node, "inputs"));
    emp_pt2_maker   made =
        maker_named(in->outer, tensor_name(emp_json_get(condition, "arg")));

    EMP_CHECK(
        EMP_GROW(kept->maker, kept->count + in->argument_count + 1, kept->capacity));
    if (made.node >= 0) kept->maker[kept->count++] = made;
    for (int32_t i = 0; i < in->argument_count; i++) {
        made = in->argument[i];
        if (made.node >= 0 && in->outer->p->node[made.node].what == EMP_TORCH_PLACEHOLDER)
            kept->maker[kept->count++] = made;
    }
    return EMP_OK;
}

static emp_status run_cond(inner *in, const emp_json *node, emp_error *err)
{
    double weight[2];

    EMP_CHECK(keep(in, node, err));

    for (int32_t g = 0; g < 2; g++) EMP_CHECK(weigh(in, in->graph[g], &weight[g], err));
    emp_import_notes_assume(in->outer->notes,
                            "%.80s takes the larger of its graphs, the %s", in->name,
                            weight[1] > weight[0] ? "second" : "first");
    return run(in, in->graph[weight[1] > weight[0]], -1, err);
}

/* ---- loops over slices ---- */

static const emp_tensor_info *info_of(const inner *in, emp_pt2_maker made)
{
    return &in->outer->p->node[made.node].result[made.result];
}

/* Slices that all of xs have; -1: xs are no tensors of one length. */
static int64_t slices_of(const inner *in, int32_t first, int32_t count)
{
    int64_t length = -1;

    for (int32_t i = first; i < first + count; i++) {
        if (in->argument[i].node < 0) return -1;
        const emp_tensor_info *x = info_of(in, in->argument[i]);
        if (x->shape.rank == 0 || (length >= 0 && x->shape.dim[0] != length)) return -1;
        length = x->shape.dim[0];
    }
    return length;
}

/* Adds a node of the outer graph with one result, whose tensors are values[first ..] or a list of them. */
static emp_status add_step(inner *in, const char *target, const char *name,
                           emp_torch_node *node, const emp_tensor_info *result,
                           emp_pt2_maker *made, emp_error *err)
{
    node->what = EMP_TORCH_CALL;
    node->target = target;
    node->name = name;
    node->module = in->module;
    node->result_count = 1;
    node->result = emp_arena_alloc(&in->outer->p->texts, sizeof *node->result);
    if (node->result == NULL) return EMP_ERROR(EMP_ENOMEM, "a node");
    *node->result = *result;
    EMP_CHECK(emp_pt2_add_node(in->outer, node, in->place, err));
    *made = (emp_pt2_maker){in->outer->p->node_count - 1, 0};
    return EMP_OK;
}

static emp_status take_slice(inner *in, emp_pt2_maker x, int32_t place, int32_t at,
                             emp_pt2_maker *slice, emp_error *err)
{
    emp_torch_program *p = in->outer->p;
    emp_torch_node     node = {.count = 3};
    emp_tensor_info    part = *info_of(in, x);
    char               name[PREFIX_BYTES];

    part.shape.rank--;
    memmove(part.shape.dim, part.shape.dim + 1,
            (size_t)part.shape.rank * sizeof part.shape.dim[0]);
    snprintf(name, sizeof name, "%.300s.%d/x%d", in->name, at, place);
    EMP_CHECK(emp_torch_program_reserve(p, 3, &node.first, err));
    p->value[node.first] =
        (emp_torch_value){.kind = EMP_TORCH_TENSOR, .node = x.node, .result = x.result};
    p->value[node.first + 1] = (emp_torch_value){.kind = EMP_TORCH_INT};
    p->value[node.first + 2] = (emp_torch_value){.kind = EMP_TORCH_INT, .number = at};
    return add_step(in, "torch.ops.aten.select.int", name, &node, &part, slice, err);
}

/* parts[0], parts[stride], ... become the result of that name. */
static emp_status stack(inner *in, const emp_pt2_maker *parts, int32_t stride,
                        int32_t count, const char *result, emp_pt2_maker *made,
                        emp_error *err)
{
    emp_torch_program *p = in->outer->p;
    emp_torch_node     node = {.count = 1};
    emp_tensor_info    whole;
    int32_t            first;

    EMP_CHECK(emp_pt2_read_tensor(in->outer, result, in->place, &whole, err));
    EMP_CHECK(emp_torch_program_reserve(p, 1 + count, &node.first, err));
    first = node.first + 1;
    p->value[node.first] =
        (emp_torch_value){.kind = EMP_TORCH_LIST, .first = first, .count = count};
    for (int32_t i = 0; i < count; i++)
        p->value[first + i] = (emp_torch_value){.kind = EMP_TORCH_TENSOR,
                                                .node = parts[i * stride].node,
                                                .result = parts[i * stride].result};
    return add_step(in, "torch.ops.aten.stack.default", result, &node, &whole, made, err);
}

/* The state's first \a carried tensors go from iteration to iteration, the next \a xs are cut into slices. Results
 * behind the state are stacked. */
static emp_status run_scan(inner *in, int32_t carried, int32_t xs, const char **names,
                           int32_t count, emp_error *err)
{
    emp_status     st = EMP_OK;
    int32_t        slices = (int32_t)slices_of(in, carried, xs), parts = count - carried;
    emp_pt2_maker *whole = NULL, *part = NULL;

    EMP_TRY(EMP_ALLOC(whole, (size_t)xs));
    EMP_TRY(EMP_ALLOC(part, (size_t)slices * (size_t)(parts > 0 ? parts : 1)));
    memcpy(whole, in->argument + carried, (size_t)xs * sizeof *whole);
    for (int32_t t = 0; t < slices; t++) {
        for (int32_t x = 0; x < xs; x++)
            EMP_TRY(take_slice(in, whole[x], x, t, &in->argument[carried + x], err));
        EMP_TRY(run(in, in->graph[0], t, err));
        for (int32_t i = 0; i < count && i < in->output_count; i++) {
            if (i < carried) in->argument[i] = in->output[i];
            if (in->output[i].node < 0)
                EMP_FAIL(EMP_EFORMAT, "%s: output %d of its graph is no tensor",
                         in->place, i);
            if (i >= carried) part[t * parts + i - carried] = in->output[i];
        }
    }
    for (int32_t i = carried; i < count; i++)
        if (names[i] != NULL)
            EMP_TRY(stack(in, part + i - carried, parts, slices, names[i], &in->output[i],
                          err));

cleanup:
    emp_free(whole);
    emp_free(part);
    return st;
}

/* ---- loops with a condition ---- */

/* The node of a graph that makes a tensor; NULL: none does. */
static const emp_json *node_that_makes(const emp_json *graph, const char *name)
{
    for (const emp_json *n = emp_json_first(emp_json_get(graph, "nodes"));
         n != NULL && name != NULL; n = emp_json_next(n)) {
        const char *made = tensor_name(emp_json_first(emp_json_get(n, "outputs")));
        if (made != NULL && strcmp(made, name) == 0) return n;
    }
    return NULL;
}

/* The number of a node that computes "input \a place of the graph OP number"; -1: it is no such node. */
static int64_t number_beside_input(const emp_json *graph, const emp_json *node,
                                   const char *target, int32_t *place)
{
    const emp_json *first = emp_json_first(emp_json_get(node, "inputs"));
    const emp_json *second = first == NULL ? NULL : emp_json_next(first);
    const emp_json *number = emp_json_get(emp_json_get(second, "arg"), "as_int");
    const char     *own = emp_json_string(emp_json_get(node, "target"));
    const char     *read = tensor_name(emp_json_get(first, "arg"));
    int32_t         at = 0;

    if (own == NULL || read == NULL || strstr(own, target) == NULL ||
        !emp_json_is(number, EMP_JSON_INTEGER))
        return -1;
    for (const emp_json *v = emp_json_first(emp_json_get(graph, "inputs")); v != NULL;
         v = emp_json_next(v), at++) {
        const char *name = tensor_name(v);
        if (name == NULL || strcmp(name, read) != 0) continue;
        *place = at;
        return emp_json_integer(number);
    }
    return -1;
}

static const char *output_name(const emp_json *graph, int32_t place)
{
    const emp_json *v = emp_json_first(emp_json_get(graph, "outputs"));

    while (v != NULL && place-- > 0) v = emp_json_next(v);
    return tensor_name(v);
}

/* Iterations of "while i < N: i += K", i from 0; -1: the loop is no such loop. */
static int64_t iterations_of(const inner *in)
{
    const emp_json *condition = in->graph[0], *body = in->graph[1];
    int32_t         place = -1, counted = -1;

    int64_t end = number_beside_input(
        condition, node_that_makes(condition, output_name(condition, 0)), "aten.lt.",
        &place);
    if (end < 0) return -1;
    int64_t step = number_beside_input(
        body, node_that_makes(body, output_name(body, place)), "aten.add.", &counted);
    if (step <= 0 || counted != place) return -1;
    int64_t count = end / step + (end % step != 0);
    return count <= ITERATIONS_MAX ? count : -1;
}

static emp_status run_while(inner *in, emp_error *err)
{
    int64_t count = iterations_of(in);

    if (count > 0)
        emp_import_notes_assume(in->outer->notes,
                                "%.80s has %lld iterations, as its counter begins at 0",
                                in->name, (long long)count);
    else
        emp_import_notes_assume(in->outer->notes,
                                "%.80s has one iteration, as its length depends on data",
                                in->name);
    for (int32_t n = 0; n == 0 || n < count; n++) {
        EMP_CHECK(run(in, in->graph[1], n, err));
        for (int32_t i = 0; i < in->output_count && i < in->argument_count; i++)
            in->argument[i] = in->output[i];
    }
    return EMP_OK;
}

/* ---- which op it is ---- */

static bool is_wrapper(const char *target)
{
    static const char *const names[] = {"invoke_subgraph", "tag_activation_checkpoint",
                                        "hints_wrapper"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(target, names[i]) == 0) return true;
    return strncmp(target, "wrap", 4) == 0;
}

static emp_status dispatch(inner *in, const emp_json *node, const char **names,
                           int32_t count, bool *is_run, emp_error *err)
{
    int32_t graphs = in->graph_count;
    bool is_map = strcmp(in->target, "map_impl") == 0 || strcmp(in->target, "map") == 0;

    *is_run = true;
    if (graphs == 1 && fits(in, 0) && is_wrapper(in->target))
        return run(in, in->graph[0], -1, err);
    if (graphs == 2 && fits(in, 0) && fits(in, 1) && strcmp(in->target, "cond") == 0)
        return run_cond(in, node, err);
    if (graphs == 2 && fits(in, 0) && fits(in, 1) &&
        strcmp(in->target, "while_loop") == 0)
        return run_while(in, err);
    int32_t carried = is_map ? 0 : in->list[0], xs = is_map ? in->list[0] : in->list[1];
    int32_t lists = is_map ? 2 : 3;
    if (graphs == 1 && fits(in, 0) && (is_map || strcmp(in->target, "scan") == 0) &&
        in->list_count == lists && count_of(in->graph[0], "outputs") == count &&
        carried <= count) {
        int64_t slices = slices_of(in, carried, xs);
        if (slices > 0 && slices <= ITERATIONS_MAX)
            return run_scan(in, carried, xs, names, count, err);
    }
    *is_run = false;
    return EMP_OK;
}

emp_status emp_pt2_run_inner(emp_pt2_reader *r, const emp_json *node, const char **names,
                             int32_t count, const char *name, const char *module,
                             const char *place, bool *is_run, emp_error *err)
{
    static const char kind[] = "higher_order.";
    emp_status        st = EMP_OK;
    const char       *target = emp_json_string(emp_json_get(node, "target"));
    const char       *behind = target == NULL ? NULL : strstr(target, kind);
    inner             in = {.outer = r, .name = name, .module = module, .place = place};

    *is_run = false;
    if (behind == NULL) return EMP_OK;
    in.target = behind + sizeof kind - 1;
    const emp_json *inputs = emp_json_get(node, "inputs");
    for (const emp_json *v = emp_json_is(inputs, EMP_JSON_ARRAY) ? emp_json_first(inputs)
                                                                 : NULL;
         v != NULL; v = emp_json_next(v))
        EMP_TRY(read_operand(&in, v, err));
    EMP_TRY(dispatch(&in, node, names, count, is_run, err));
    if (*is_run) EMP_TRY(set_results(&in, names, count, err));

cleanup:
    emp_free(in.argument);
    emp_free(in.output);
    return st;
}
