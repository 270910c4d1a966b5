// SPDX-License-Identifier: GPL-3.0-or-later
// Names of fields and unions: PyTorch's torch/_export/serde/schema.py.
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/import/pytorch/program.h"

enum { PLACE_BYTES = 160, NAME_BYTES = 300 };

/* ---- nodes ---- */

/* "key,path,type;key,path,type": the path of the last. */
static const char *read_module(char module[NAME_BYTES], const emp_json *node)
{
    const char *stack =
        emp_json_string(emp_json_get(emp_json_get(node, "metadata"), "nn_module_stack"));
    const char *last = stack == NULL ? NULL : strrchr(stack, ';');

    last = last == NULL ? stack : last + 1;
    const char *path = last == NULL ? NULL : strchr(last, ',');
    if (path == NULL) return NULL;
    size_t length = strcspn(++path, ",");
    if (length == 0 || length >= NAME_BYTES) return NULL;
    snprintf(module, NAME_BYTES, "%.*s", (int)length, path);
    return module;
}

/* The tensors that come out: of {"as_tensor": ...} one, of {"as_tensors": [...]} each. The names of
 * results that are no tensors are NULL. */
static int32_t list_results(const emp_json *outputs, const char **names, int32_t room)
{
    int32_t count = 0;

    for (const emp_json *v = emp_json_first(outputs); v != NULL; v = emp_json_next(v)) {
        const emp_json *value = emp_json_first(v);
        bool            is_list = emp_json_is(value, EMP_JSON_ARRAY);
        const emp_json *item = is_list ? emp_json_first(value) : value;
        for (; item != NULL; item = is_list ? emp_json_next(item) : NULL) {
            const char *kind = emp_json_key(value);
            bool        is_tensor = kind != NULL && strncmp(kind, "as_tensor", 9) == 0;
            const char *name = emp_json_string(emp_json_get(item, "name"));
            if (count < room) names[count] = is_tensor ? name : NULL;
            count++;
        }
    }
    return count;
}

/* A getitem for each result of a tuple, as in a torch.fx graph. */
static emp_status add_getitem(emp_pt2_reader *r, const emp_torch_node *tuple,
                              int32_t from, int32_t result, const char *name,
                              const char *place, emp_error *err)
{
    emp_torch_node node = {.what = EMP_TORCH_CALL,
                           .name = name,
                           .target = "_operator.getitem",
                           .module = tuple->module,
                           .count = 2,
                           .result = &tuple->result[result],
                           .result_count = 1};

    EMP_CHECK(emp_torch_program_reserve(r->p, 2, &node.first, err));
    r->p->value[node.first] = (emp_torch_value){.kind = EMP_TORCH_TENSOR, .node = from};
    r->p->value[node.first + 1] =
        (emp_torch_value){.kind = EMP_TORCH_INT, .number = result};
    EMP_CHECK(emp_pt2_add_node(r, &node, place, err));
    return emp_pt2_set_maker(r, name, (emp_pt2_maker){r->p->node_count - 1, 0}, err);
}

static emp_status add_results(emp_pt2_reader *r, emp_torch_node *node, const char **names,
                              int32_t count, int32_t number, const char *place,
                              emp_error *err)
{
    char name[NAME_BYTES];

    node->result_count = count;
    node->is_tuple = count > 1;
    if (count > 0) {
        node->result =
            emp_arena_alloc(&r->p->texts, (size_t)count * sizeof *node->result);
        if (node->result == NULL) return EMP_ERROR(EMP_ENOMEM, "%d results", count);
    }
    for (int32_t i = 0; i < count; i++) {
        node->result[i] =
            (emp_tensor_info){.shape = EMP_SHAPE(0), .dtype = EMP_DTYPE_FLOAT};
        if (names[i] != NULL)
            EMP_CHECK(emp_pt2_read_tensor(r, names[i], place, &node->result[i], err));
    }
    snprintf(name, sizeof name, "node%d", number);
    node->name = count == 1 && names[0] != NULL ? names[0] : name;
    EMP_CHECK(emp_pt2_add_node(r, node, place, err));
    int32_t        self = r->p->node_count - 1;
    emp_torch_node tuple = r->p->node[self];
    if (count == 1 && names[0] != NULL)
        return emp_pt2_set_maker(r, names[0], (emp_pt2_maker){self, 0}, err);
    for (int32_t i = 0; i < count; i++)
        if (names[i] != NULL)
            EMP_CHECK(add_getitem(r, &tuple, self, i, names[i], place, err));
    return EMP_OK;
}

/* "_operator.mul" of two sizes, which Python computes before any op is issued. */
static bool is_of_sizes(const emp_json *outputs, const char *target)
{
    const char *kind = emp_json_key(emp_json_first(emp_json_first(outputs)));

    return kind != NULL && strncmp(kind, "as_sym", 6) == 0 &&
           strncmp(target, "torch.ops.", 10) != 0;
}

static emp_status read_node(emp_pt2_reader *r, const emp_json *json, int32_t number,
                            emp_error *err)
{
    emp_status      st = EMP_OK;
    const emp_json *outputs = emp_json_get(json, "outputs");
    const char     *target = emp_json_string(emp_json_get(json, "target"));
    char            module[NAME_BYTES], place[PLACE_BYTES], unnamed[32];
    emp_torch_node  node = {
         .what = EMP_TORCH_CALL, .target = target, .module = read_module(module, json)};
    int32_t      count = list_results(outputs, NULL, 0);
    const char **names = NULL;
    bool         is_run = false;

    snprintf(place, sizeof place, "nodes[%d] (%.60s)", number,
             target == NULL ? "" : target);
    if (target == NULL)
        EMP_FAIL(EMP_EFORMAT, "%s: the text \"target\" is missing", place);
    if (is_of_sizes(outputs, target)) goto cleanup;
    if (count > EMP_MAX_OUTPUTS)
        EMP_FAIL(EMP_EFORMAT, "%s has %d results, at most %d are possible", place, count,
                 EMP_MAX_OUTPUTS);
    EMP_TRY(EMP_ALLOC(names, (size_t)count + 1));
    (void)list_results(outputs, names, count);
    if (node.module == NULL) node.module = r->module;
    snprintf(unnamed, sizeof unnamed, "node%d", number);
    EMP_TRY(emp_pt2_run_inner(r, json, names, count,
                              count > 0 && names[0] != NULL ? names[0] : unnamed,
                              node.module, place, &is_run, err));
    if (is_run) goto cleanup;
    EMP_TRY(emp_pt2_read_arguments(r, &node, emp_json_get(json, "inputs"), place, err));
    EMP_TRY(add_results(r, &node, names, count, number, place, err));

cleanup:
    emp_free((void *)names);
    return st;
}

/* ---- what a graph begins and ends with ---- */

/* {"parameter": {"arg": {"name": "p_w"}, "parameter_name": "layer.w"}} and the like. */
static emp_torch_role read_spec(const emp_json *spec, const char **name,
                                const char **target)
{
    static const struct {
        const char    *key, *target;
        emp_torch_role role;
    } kinds[] = {{"parameter", "parameter_name", EMP_TORCH_PARAMETER},
                 {"buffer", "buffer_name", EMP_TORCH_BUFFER},
                 {"tensor_constant", "tensor_constant_name", EMP_TORCH_BUFFER},
                 {"user_input", NULL, EMP_TORCH_INPUT}};
    const emp_json *value = emp_json_first(spec);
    const char     *key = emp_json_key(value);
    const emp_json *arg = emp_json_get(value, "arg"),
                   *tensor = emp_json_get(arg, "as_tensor");

    *name = emp_json_string(emp_json_get(tensor == NULL ? arg : tensor, "name"));
    *target = NULL;
    for (size_t i = 0; key != NULL && i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(key, kinds[i].key) != 0) continue;
        if (kinds[i].target != NULL)
            *target = emp_json_string(emp_json_get(value, kinds[i].target));
        return kinds[i].role;
    }
    return EMP_TORCH_INPUT;
}

static emp_status add_placeholder(emp_pt2_reader *r, const char *name, const char *target,
                                  emp_torch_role role, emp_error *err)
{
    char           module[NAME_BYTES], place[PLACE_BYTES];
    const char    *dot = target == NULL ? NULL : strrchr(target, '.');
    emp_torch_node node = {.what = EMP_TORCH_PLACEHOLDER,
                           .role = role,
                           .name = name,
                           .target = target,
                           .result_count = 1};

    int32_t weight = target == NULL ? -1 : emp_pt2_weights_tensor(r->weights, target);
    if (weight >= 0 && r->node_of_weight[weight] >= 0)
        return emp_pt2_set_maker(r, name, (emp_pt2_maker){r->node_of_weight[weight], 0},
                                 err);
    snprintf(place, sizeof place, "input \"%.80s\"", name);
    if (dot != NULL && dot - target < NAME_BYTES && dot > target) {
        snprintf(module, sizeof module, "%.*s", (int)(dot - target), target);
        node.module = module;
    }
    node.result = emp_arena_alloc(&r->p->texts, sizeof *node.result);
    if (node.result == NULL) return EMP_ERROR(EMP_ENOMEM, "an input");
    EMP_CHECK(emp_pt2_read_tensor(r, name, place, node.result, err));
    EMP_CHECK(emp_torch_program_add(r->p, &node, place, err));
    if (weight >= 0) r->node_of_weight[weight] = r->p->node_count - 1;
    return emp_pt2_set_maker(r, name, (emp_pt2_maker){r->p->node_count - 1, 0}, err);
}

static emp_status read_inputs(emp_pt2_reader *r, const emp_json *specs,
                              emp_problems *problems, emp_error *err)
{
    if (!emp_json_is(specs, EMP_JSON_ARRAY))
        return EMP_ERROR(EMP_EFORMAT, "the signature has no list \"input_specs\"");
    for (const emp_json *v = emp_json_first(specs); v != NULL; v = emp_json_next(v)) {
        const char    *name, *target;
        emp_error      reason = {0};
        emp_torch_role role = read_spec(v, &name, &target);
        if (name == NULL) continue; /* a number, a token, an object */
        EMP_CHECK(emp_problems_add(
            problems, add_placeholder(r, name, target, role, &reason), &reason, err));
    }
    return EMP_OK;
}

static emp_status add_output(emp_pt2_reader *r, const emp_json *outputs, emp_error *err)
{
    emp_torch_node node = {.what = EMP_TORCH_OUTPUT, .name = "output of the graph"};
    int32_t        count = 0, at;

    for (const emp_json *v = emp_json_first(outputs); v != NULL; v = emp_json_next(v))
        count += emp_json_get(v, "as_tensor") != NULL;
    EMP_CHECK(emp_torch_program_reserve(r->p, count + r->kept->count, &node.first, err));
    node.count = count + r->kept->count;
    at = node.first;
    for (int32_t i = 0; i < r->kept->count; i++)
        r->p->value[at++] = (emp_torch_value){.kind = EMP_TORCH_TENSOR,
                                              .node = r->kept->maker[i].node,
                                              .result = r->kept->maker[i].result};
    for (const emp_json *v = emp_json_first(outputs); v != NULL; v = emp_json_next(v)) {
        const emp_json *tensor = emp_json_get(v, "as_tensor");
        if (tensor == NULL) continue;
        EMP_CHECK(emp_pt2_set_tensor(
            r, at++, emp_json_string(emp_json_get(tensor, "name")), "the output", err));
    }
    return emp_torch_program_add(r->p, &node, "the output", err);
}

static emp_status read_graph(emp_pt2_reader *r, const emp_json *module, emp_error *err)
{
    const emp_json *graph = emp_json_get(module, "graph");
    const emp_json *nodes = emp_json_get(graph, "nodes");
    emp_problems    problems = {0};
    emp_error       reason = {0};
    int32_t         number = 0;

    if (!emp_json_is(nodes, EMP_JSON_ARRAY))
        return EMP_ERROR(EMP_EFORMAT,
                         "the archive's JSON has no list graph_module.graph.nodes");
    EMP_CHECK(emp_pt2_index_tensors(r, emp_json_get(graph, "tensor_values"), err));
    EMP_CHECK(EMP_ALLOC(r->node_of_weight, (size_t)r->weights->tensor_count + 1));
    for (int32_t i = 0; i < r->weights->tensor_count; i++) r->node_of_weight[i] = -1;
    EMP_CHECK(read_inputs(r,
                          emp_json_get(emp_json_get(module, "signature"), "input_specs"),
                          &problems, err));
    for (const emp_json *v = emp_json_first(nodes); v != NULL; v = emp_json_next(v)) {
        reason = (emp_error){0};
        EMP_CHECK(emp_problems_add(&problems, read_node(r, v, number++, &reason), &reason,
                                   err));
    }
    reason = (emp_error){0};
    EMP_CHECK(emp_problems_add(
        &problems, add_output(r, emp_json_get(graph, "outputs"), &reason), &reason, err));
    return emp_problems_report(&problems, err);
}

emp_status emp_pt2_read(emp_torch_program *program, const emp_json *root,
                        const emp_pt2_weights *weights, emp_import_notes *notes,
                        emp_error *err)
{
    emp_pt2_kept   kept = {0};
    emp_pt2_reader r = {.p = program,
                        .weights = weights,
                        .notes = notes,
                        .kept = &kept,
                        .prefix = "",
                        .read_node = read_node};

    program->kind = "torch.export graph";
    program->stated_parameters = -1;
    program->hides_ties = weights->is_silent;
    program->has_whole_ops = true;
    emp_status st = read_graph(&r, emp_json_get(root, "graph_module"), err);
    emp_pt2_reader_clear(&r);
    emp_free(kept.maker);
    return st;
}
