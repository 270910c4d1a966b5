// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/pytorch/program.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/text.h"
#include "graphs/import/notes/readers.h"

/* "torch.float32", "float32", "f32" -> the element type; EMP_DTYPE_NONE: not known. */
static emp_dtype torch_dtype(const char *name)
{
    static const struct {
        const char *name, *brief;
        emp_dtype   dtype;
    } table[] = {
        {"float32", "float", EMP_DTYPE_FLOAT},
        {"float64", "double", EMP_DTYPE_DOUBLE},
        {"float16", "half", EMP_DTYPE_HALF},
        {"bfloat16", "bf16", EMP_DTYPE_BFLOAT16},
        {"int64", "long", EMP_DTYPE_INT64},
        {"int32", "int", EMP_DTYPE_INT32},
        {"int16", "short", EMP_DTYPE_INT16},
        {"int8", "i8", EMP_DTYPE_INT8},
        {"uint8", "byte", EMP_DTYPE_UINT8},
        {"uint16", "u16", EMP_DTYPE_UINT16},
        {"uint32", "u32", EMP_DTYPE_UINT32},
        {"uint64", "u64", EMP_DTYPE_UINT64},
        {"bool", "b8", EMP_DTYPE_BOOL},
        {"complex64", "cfloat", EMP_DTYPE_COMPLEX64},
        {"complex128", "cdouble", EMP_DTYPE_COMPLEX128},
        {"float8_e4m3fn", "float8_e4m3fnuz", EMP_DTYPE_FLOAT8_E4M3},
        {"float8_e5m2", "float8_e5m2fnuz", EMP_DTYPE_FLOAT8_E5M2},
        {"float8_e8m0fnu", "f8e8m0", EMP_DTYPE_FLOAT8_E8M0},
        {"float4_e2m1fn_x2", "f4e2m1x2", EMP_DTYPE_FLOAT4_E2M1_X2},
        {"complex32", "chalf", EMP_DTYPE_COMPLEX32},
        {"qint8", "quint8", EMP_DTYPE_INT8},
        {"qint32", "qint32", EMP_DTYPE_INT32},
    };

    if (name == NULL) return EMP_DTYPE_NONE;
    if (strncmp(name, "torch.", 6) == 0) name += 6;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(name, table[i].name) == 0 || strcmp(name, table[i].brief) == 0)
            return table[i].dtype;
    return EMP_DTYPE_NONE;
}

enum { PLACE_BYTES = 140, RESULTS_MAX = EMP_MAX_OUTPUTS };

bool emp_fx_json_is(const emp_json *root)
{
    const char *format = emp_json_string(emp_json_get(root, "format"));

    return format != NULL && strncmp(format, "torch.fx", 8) == 0;
}

/* The members of a node. One pass, as looking them up one by one passes over all before them. */
typedef struct {
    const emp_json *name, *op, *target, *args, *kwargs, *inputs, *outputs, *module, *role,
        *parameter;
} members;

static members members_of(const emp_json *node)
{
    members m = {0};
    const struct {
        const char      *key;
        const emp_json **value;
    } known[] = {{"name", &m.name},          {"op", &m.op},         {"target", &m.target},
                 {"args", &m.args},          {"kwargs", &m.kwargs}, {"inputs", &m.inputs},
                 {"outputs", &m.outputs},    {"module", &m.module}, {"role", &m.role},
                 {"parameter", &m.parameter}};

    for (const emp_json *v = emp_json_first(node); v != NULL; v = emp_json_next(v))
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            if (strcmp(emp_json_key(v), known[i].key) == 0) *known[i].value = v;
    return m;
}

/* ---- arguments ---- */

static emp_status find_node(const emp_torch_program *p, const char *name,
                            const char *place, int32_t *node, emp_error *err)
{
    *node = emp_strmap_get(&p->node_of_name, name, strlen(name));
    if (*node < 0)
        return EMP_ERROR(EMP_EFORMAT, "%s reads \"%.80s\", which no node before it makes",
                         place, name);
    return EMP_OK;
}

static emp_status read_value(emp_torch_program *p, const emp_json *json, int32_t at,
                             const char *place, emp_error *err);

static emp_status read_list(emp_torch_program *p, const emp_json *json, int32_t at,
                            const char *place, emp_error *err)
{
    int32_t count = emp_json_count(json), first;

    EMP_CHECK(emp_torch_program_reserve(p, count, &first, err));
    p->value[at].kind = EMP_TORCH_LIST;
    p->value[at].first = first;
    p->value[at].count = count;
    for (const emp_json *v = emp_json_first(json); v != NULL; v = emp_json_next(v))
        EMP_CHECK(read_value(p, v, first++, place, err));
    return EMP_OK;
}

static emp_status read_text(emp_torch_program *p, const char *text, int32_t at,
                            emp_error *err)
{
    p->value[at].kind = EMP_TORCH_TEXT;
    p->value[at].text = emp_arena_strndup(&p->texts, text, strlen(text));
    return p->value[at].text == NULL ? EMP_ERROR(EMP_ENOMEM, "an argument") : EMP_OK;
}

/* The JSON limits the depth. */
static emp_status read_value(emp_torch_program *p, const emp_json *json, int32_t at,
                             const char *place, emp_error *err)
{
    const char *name = emp_json_string(emp_json_get(json, "node"));

    if (name != NULL) {
        EMP_CHECK(find_node(p, name, place, &p->value[at].node, err));
        p->value[at].kind = EMP_TORCH_TENSOR;
    } else if (emp_json_is(json, EMP_JSON_ARRAY)) {
        return read_list(p, json, at, place, err);
    } else if (emp_json_is(json, EMP_JSON_STRING)) {
        return read_text(p, emp_json_string(json), at, err);
    } else if (emp_json_is(json, EMP_JSON_INTEGER)) {
        p->value[at].kind = EMP_TORCH_INT;
        p->value[at].number = emp_json_integer(json);
    } else if (emp_json_is(json, EMP_JSON_REAL) ||
               emp_json_is(json, EMP_JSON_NOT_FINITE)) {
        p->value[at].kind = EMP_TORCH_REAL;
    } else if (emp_json_is(json, EMP_JSON_TRUE) || emp_json_is(json, EMP_JSON_FALSE)) {
        p->value[at].kind = EMP_TORCH_BOOL;
        p->value[at].number = emp_json_is(json, EMP_JSON_TRUE);
    }
    return EMP_OK;
}

static emp_status read_arguments(emp_torch_program *p, emp_torch_node *node,
                                 const members *m, const char *place, emp_error *err)
{
    int32_t places = emp_json_is(m->args, EMP_JSON_ARRAY) ? emp_json_count(m->args) : 0;
    int32_t names =
        emp_json_is(m->kwargs, EMP_JSON_OBJECT) ? emp_json_count(m->kwargs) : 0;
    int32_t at;

    node->count = places + names;
    EMP_CHECK(emp_torch_program_reserve(p, node->count, &node->first, err));
    at = node->first;
    if (places > 0)
        for (const emp_json *v = emp_json_first(m->args); v != NULL; v = emp_json_next(v))
            EMP_CHECK(read_value(p, v, at++, place, err));
    if (names == 0) return EMP_OK;
    for (const emp_json *v = emp_json_first(m->kwargs); v != NULL; v = emp_json_next(v)) {
        const char *key = emp_json_key(v);
        EMP_CHECK(read_value(p, v, at, place, err));
        p->value[at].key = emp_arena_strndup(&p->texts, key, strlen(key));
        if (p->value[at++].key == NULL) return EMP_ERROR(EMP_ENOMEM, "an argument");
    }
    return EMP_OK;
}

/* Older files have the names that an output node reads as one text: "['loss', 'sub_1', ...". It may be
 * cut off, and so may the last name. */
static emp_status read_names(emp_torch_program *p, emp_torch_node *node, const char *text,
                             emp_error *err)
{
    for (int pass = 0; pass < 2; pass++) {
        int32_t count = 0;
        for (const char *c = strchr(text, '\''); c != NULL; c = strchr(c, '\'')) {
            const char *end = strchr(++c, '\'');
            if (end == NULL) break;
            int32_t made = emp_strmap_get(&p->node_of_name, c, (size_t)(end - c));
            if (made >= 0 && pass == 1)
                p->value[node->first + count] =
                    (emp_torch_value){.kind = EMP_TORCH_TENSOR, .node = made};
            count += made >= 0;
            c = end + 1;
        }
        node->count = count;
        if (pass == 0) EMP_CHECK(emp_torch_program_reserve(p, count, &node->first, err));
    }
    return EMP_OK;
}

/* ---- results ---- */

static emp_status read_tensor(emp_tensor_info *tensor, const emp_json *json,
                              const char *place, emp_error *err)
{
    const emp_json *shape = emp_json_get(json, "shape");
    const char     *dtype = emp_json_string(emp_json_get(json, "dtype"));

    *tensor = (emp_tensor_info){.shape = {.rank = 0}, .dtype = torch_dtype(dtype)};
    if (json == NULL || emp_json_is(json, EMP_JSON_NULL)) { /* a result that is None */
        *tensor = (emp_tensor_info){.shape = EMP_SHAPE(0), .dtype = EMP_DTYPE_FLOAT};
        return EMP_OK;
    }
    if (!emp_json_is(shape, EMP_JSON_ARRAY))
        return EMP_ERROR(EMP_EFORMAT, "%s: a result has no list \"shape\"", place);
    if (tensor->dtype == EMP_DTYPE_NONE)
        return EMP_ERROR(EMP_EFORMAT,
                         "%s: the dtype \"%.40s\" is not known; float32 and int64 are",
                         place, dtype == NULL ? "" : dtype);
    if (emp_json_count(shape) > EMP_MAX_RANK)
        return EMP_ERROR(EMP_EFORMAT, "%s: a result of rank %d, at most %d are possible",
                         place, emp_json_count(shape), EMP_MAX_RANK);
    for (const emp_json *v = emp_json_first(shape); v != NULL; v = emp_json_next(v)) {
        if (!emp_json_is(v, EMP_JSON_INTEGER) || emp_json_integer(v) < 0)
            return EMP_ERROR(
                EMP_EFORMAT,
                "%s: a size of a result is no whole number from 0; export the "
                "model with sizes that are numbers",
                place);
        tensor->shape.dim[tensor->shape.rank++] = emp_json_integer(v);
    }
    return EMP_OK;
}

static emp_status read_results(emp_torch_program *p, emp_torch_node *node,
                               const emp_json *outputs, const char *place, emp_error *err)
{
    int32_t count = emp_json_count(outputs), i = 0;

    if (!emp_json_is(outputs, EMP_JSON_ARRAY) || count == 0) return EMP_OK;
    if (count > RESULTS_MAX)
        return EMP_ERROR(EMP_EFORMAT, "%s has %d results, at most %d are possible", place,
                         count, RESULTS_MAX);
    node->result = emp_arena_alloc(&p->texts, (size_t)count * sizeof *node->result);
    if (node->result == NULL) return EMP_ERROR(EMP_ENOMEM, "%d results", count);
    node->result_count = count;
    node->is_tuple = count > 1;
    for (const emp_json *v = emp_json_first(outputs); v != NULL; v = emp_json_next(v))
        EMP_CHECK(read_tensor(&node->result[i++], v, place, err));
    return EMP_OK;
}

/* ---- nodes ---- */

static emp_status read_what(emp_torch_node *node, const members *m, const char *place,
                            emp_error *err)
{
    const char *op = emp_json_string(m->op);

    if (op == NULL)
        return EMP_ERROR(EMP_EFORMAT, "%s: the text \"op\" is missing", place);
    if (strcmp(op, "placeholder") == 0 || strcmp(op, "get_attr") == 0)
        node->what = EMP_TORCH_PLACEHOLDER;
    else if (strcmp(op, "output") == 0)
        node->what = EMP_TORCH_OUTPUT;
    else if (strcmp(op, "call_function") == 0)
        node->what = EMP_TORCH_CALL;
    else
        return EMP_ERROR(
            EMP_EFORMAT,
            "%s: op is \"%.40s\", and only placeholder, get_attr, call_function "
            "and output can be read; trace the model with make_fx or "
            "torch.export",
            place, op);
    if (strcmp(op, "get_attr") == 0) node->role = EMP_TORCH_BUFFER;
    return EMP_OK;
}

static emp_status read_role(emp_torch_node *node, const members *m, const char *place,
                            emp_error *err)
{
    static const char *const words[] = {"input", "parameter", "buffer", "state"};
    const char              *role = emp_json_string(m->role);

    if (role == NULL) return EMP_OK;
    for (int i = 0; i < 4; i++)
        if (strcmp(role, words[i]) == 0) {
            node->role = (emp_torch_role)(EMP_TORCH_INPUT + i);
            return EMP_OK;
        }
    return EMP_ERROR(EMP_EFORMAT,
                     "%s: the role is \"%.40s\", want input, parameter, buffer or state",
                     place, role);
}

static emp_status read_node(emp_torch_program *p, const emp_json *json, int32_t number,
                            emp_error *err)
{
    members        m = members_of(json);
    const char    *name = emp_json_string(m.name);
    emp_torch_node node = {.name = name,
                           .target = emp_json_string(m.target),
                           .module = emp_json_string(m.module)};
    char           place[PLACE_BYTES];

    snprintf(place, sizeof place, "nodes[%d]%s%.80s%s", number, name == NULL ? "" : " (",
             name == NULL ? "" : name, name == NULL ? "" : ")");
    if (node.module != NULL && node.module[0] == '\0') node.module = NULL;
    EMP_CHECK(read_what(&node, &m, place, err));
    EMP_CHECK(read_role(&node, &m, place, err));
    EMP_CHECK(read_arguments(p, &node, &m, place, err));
    if (node.what == EMP_TORCH_OUTPUT && emp_json_is(m.inputs, EMP_JSON_STRING))
        EMP_CHECK(read_names(p, &node, emp_json_string(m.inputs), err));
    EMP_CHECK(read_results(p, &node, m.outputs, place, err));
    return emp_torch_program_add(p, &node, place, err);
}

emp_status emp_fx_json_read(emp_torch_program *program, const emp_json *root,
                            emp_error *err)
{
    const emp_json *nodes = emp_json_get(root, "nodes");
    const emp_json *count = emp_json_get(root, "param_count");
    emp_problems    problems = {0};
    int32_t         number = 0;

    program->kind = "torch.fx graph";
    program->states_results = program->has_whole_ops = true;
    program->stated_parameters =
        emp_json_is(count, EMP_JSON_INTEGER) ? emp_json_integer(count) : -1;
    if (!emp_json_is(nodes, EMP_JSON_ARRAY) || emp_json_count(nodes) == 0)
        return EMP_ERROR(EMP_EFORMAT, "a torch.fx graph without the list \"nodes\"");
    for (const emp_json *v = emp_json_first(nodes); v != NULL; v = emp_json_next(v)) {
        emp_error reason = {0};
        EMP_CHECK(emp_problems_add(&problems, read_node(program, v, number++, &reason),
                                   &reason, err));
    }
    return emp_problems_report(&problems, err);
}

enum { NODES_MAX = 1 << 22, VALUES_MAX = 1 << 26, TEXT_BYTES_MAX = 4096 };

void emp_torch_program_clear(emp_torch_program *p)
{
    emp_free(p->node);
    emp_free(p->value);
    emp_strmap_clear(&p->node_of_name);
    emp_arena_clear(&p->texts);
    *p = (emp_torch_program){0};
}

/* Names end up in messages, in JSON files and on terminals. */
static emp_status check_text(const char *what, const char *text, const char *place,
                             emp_error *err)
{
    size_t length = text != NULL ? strlen(text) : 0;

    if (length == 0) return EMP_ERROR(EMP_EFORMAT, "%s: the %s is missing", place, what);
    if (length > TEXT_BYTES_MAX)
        return EMP_ERROR(EMP_EFORMAT, "%s: a %s of %zu bytes, at most %d are possible",
                         place, what, length, TEXT_BYTES_MAX);
    for (const char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || (unsigned char)*c >= '\x7f')
            return EMP_ERROR(EMP_EFORMAT,
                             "%s: the %s holds the byte %d, which is no ASCII text",
                             place, what, (unsigned char)*c);
    return EMP_OK;
}

static const char *copy(emp_torch_program *p, const char *text)
{
    return text == NULL ? NULL : emp_arena_strndup(&p->texts, text, strlen(text));
}

emp_status emp_torch_program_add(emp_torch_program *p, const emp_torch_node *node,
                                 const char *place, emp_error *err)
{
    EMP_CHECK(check_text("name", node->name, place, err));
    if (node->what == EMP_TORCH_CALL)
        EMP_CHECK(check_text("target", node->target, place, err));
    if (node->module != NULL) EMP_CHECK(check_text("module", node->module, place, err));
    if (emp_strmap_get(&p->node_of_name, node->name, strlen(node->name)) >= 0)
        return EMP_ERROR(EMP_EFORMAT, "%s: the name \"%.80s\" is taken", place,
                         node->name);
    if (p->node_count >= NODES_MAX)
        return EMP_ERROR(EMP_EUNSUPPORTED, "more than %d nodes", NODES_MAX);
    EMP_CHECK(EMP_GROW(p->node, p->node_count + 1, p->node_capacity));
    emp_torch_node *added = &p->node[p->node_count];
    *added = *node;
    added->name = copy(p, node->name);
    added->target = copy(p, node->target == NULL ? "" : node->target);
    added->module = copy(p, node->module);
    if (added->name == NULL || added->target == NULL ||
        (node->module != NULL && added->module == NULL))
        return EMP_ERROR(EMP_ENOMEM, "node %d", p->node_count);
    EMP_CHECK(emp_strmap_set(&p->node_of_name, added->name, strlen(added->name),
                             p->node_count, err));
    p->node_count++;
    return EMP_OK;
}

emp_status emp_torch_program_reserve(emp_torch_program *p, int32_t count, int32_t *first,
                                     emp_error *err)
{
    if (count > VALUES_MAX - p->value_count)
        return EMP_ERROR(EMP_EUNSUPPORTED, "more than %d arguments", VALUES_MAX);
    EMP_CHECK(EMP_GROW(p->value, p->value_count + count, p->value_capacity));
    *first = p->value_count;
    p->value_count += count;
    if (count > 0) memset(p->value + *first, 0, (size_t)count * sizeof *p->value);
    return EMP_OK;
}

const emp_torch_value *emp_torch_argument(const emp_torch_program *p,
                                          const emp_torch_node *node, int32_t place,
                                          const char *key)
{
    const emp_torch_value *found = NULL;

    for (int32_t i = 0; i < node->count; i++) {
        const emp_torch_value *v = &p->value[node->first + i];
        if (v->key == NULL ? i == place : strcmp(v->key, key) == 0) found = v;
    }
    return found == NULL || found->kind == EMP_TORCH_NONE ? NULL : found;
}

bool emp_torch_is_list_of(const emp_torch_program *p, const emp_torch_value *v,
                          emp_torch_kind kind)
{
    if (v->kind != EMP_TORCH_LIST) return v->kind == kind;
    for (int32_t i = 0; i < v->count; i++)
        if (p->value[v->first + i].kind != kind) return false;
    return v->count > 0;
}

/* ---- problems of nodes ---- */

emp_status emp_problems_add(emp_problems *p, emp_status status, const emp_error *reason,
                            emp_error *err)
{
    size_t used = strlen(p->text), room = sizeof p->text - used;

    if (status == EMP_OK) return EMP_OK;
    if (status != EMP_EFORMAT)
        return emp_error_set(err, status, reason->file, reason->line, "%s", reason->msg);
    p->count++;
    if (p->shown == EMP_PROBLEMS_SHOWN ||
        (p->shown > 0 && strlen(reason->msg) + 3 > room))
        return EMP_OK;
    snprintf(p->text + used, room, "%s%s", p->shown > 0 ? "; " : "", reason->msg);
    p->shown++;
    return EMP_OK;
}

emp_status emp_problems_report(const emp_problems *p, emp_error *err)
{
    if (p->count == 0) return EMP_OK;
    if (p->count == p->shown) return EMP_ERROR(EMP_EFORMAT, "%s", p->text);
    return EMP_ERROR(EMP_EFORMAT, "%s; and %d more problems", p->text,
                     p->count - p->shown);
}
