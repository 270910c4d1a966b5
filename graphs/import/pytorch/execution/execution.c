// SPDX-License-Identifier: GPL-3.0-or-later
/* PyTorch's execution traces (ET) by themselves: operators with shapes and tensors, without times, as a graph whose
 * times the cost model predicts. graphs/import/traces/step_graph.h has the format.
 *
 * The whole trace is one step, unless the profiler recorded several, in which case the middle one is read. Its operators
 * run in the order of their ids (hierarchy.h says which). A tensor is known by its id and its storage:
 *
 * - A call that writes a storage that it reads works in place. A call that writes another one has allocated it anew.
 * - A tensor of a storage that an operator made is a view of it.
 * - A kernel of Triton has pointers as operands, and no results: it writes memory that is new, or that was only
 *   allocated, and operands that it has twice; if there are none, its first operand.
 * - A storage that nothing before has made was there when the trace began. Where the trace names the step of an optimizer,
 *   it is a parameter if that step writes it in place and something else reads it. Elsewhere it is a parameter if something
 *   writes it in place and a product, a convolution, a table look-up or a kernel of Triton reads it; a state if it is
 *   written otherwise; a buffer if it is the running mean or variance of a batch norm; else an input.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/import/pytorch/execution/hierarchy.h"
#include "graphs/import/pytorch/lower.h"
#include "graphs/import/traces/step_graph.h"

enum { KERNEL_OPERANDS_MAX = 1024 };
enum { NAME_BYTES = 192, KEY_BYTES = 16, PLACE_BYTES = 224 };

/* A tensor of the file: [id, storage, offset, elements, bytes of one, device]. */
typedef struct {
    int64_t         id, storage, elements, item_bytes;
    emp_tensor_info info;
} tensor;

/* Who made a tensor, or the newest data of a storage. */
typedef struct {
    int32_t node, result;
    /* For a storage, how often it was allocated. For a tensor, its storage's count when it was made. */
    int32_t generation;
    int32_t read_by; /* of a storage: the last call that reads it; calls count from 1 */
} version;

typedef struct {
    emp_torch_program   program;
    emp_execution_calls calls;
    version            *version;
    int32_t             version_count, version_capacity, generations;
    int32_t             call;                  /* the number of the call that is read */
    emp_strmap          of_tensor, of_storage; /* into version */
} reader;

/* Values, shapes and types of a node's inputs or outputs, side by side. */
typedef struct {
    const emp_json *value, *shape, *type;
} triple;

static triple first_of(const emp_json *values, const emp_json *shapes,
                       const emp_json *types)
{
    return (triple){emp_json_first(values), emp_json_first(shapes),
                    emp_json_first(types)};
}

static triple next_of(triple t)
{
    return (triple){emp_json_next(t.value), t.shape ? emp_json_next(t.shape) : NULL,
                    t.type ? emp_json_next(t.type) : NULL};
}

/* "inputs" or "outputs" of either schema. */
static triple values_of(const emp_json *node, const char *key, const char *shapes,
                        const char *types)
{
    const emp_json *list = emp_json_get(node, key);

    if (emp_json_is(list, EMP_JSON_OBJECT))
        return first_of(emp_json_get(list, "values"), emp_json_get(list, "shapes"),
                        emp_json_get(list, "types"));
    return first_of(list, emp_json_get(node, shapes), emp_json_get(node, types));
}

static triple inputs_of(const emp_json *node)
{
    return values_of(node, "inputs", "input_shapes", "input_types");
}

static triple outputs_of(const emp_json *node)
{
    return values_of(node, "outputs", "output_shapes", "output_types");
}

/* ---- tensors ---- */

static bool is_tensor(const emp_json *value)
{
    int64_t part[EMP_EXECUTION_PARTS];

    return emp_execution_tensor_parts(value, part) &&
           emp_json_count(value) == EMP_EXECUTION_PARTS + 1;
}

static bool is_list(const emp_json *value)
{
    return emp_json_is(value, EMP_JSON_ARRAY) && !is_tensor(value);
}

/* The type of elements: as C++ calls it, else by its bytes. */
static emp_dtype dtype_of(const char *type, int64_t item_bytes)
{
    static const struct {
        const char *word;
        emp_dtype   dtype;
    } words[] = {{"complex<float>", EMP_DTYPE_COMPLEX64},
                 {"complex<double>", EMP_DTYPE_COMPLEX128},
                 {"Float8_e4m3", EMP_DTYPE_FLOAT8_E4M3},
                 {"Float8_e5m2", EMP_DTYPE_FLOAT8_E5M2},
                 {"BFloat16", EMP_DTYPE_BFLOAT16},
                 {"Half", EMP_DTYPE_HALF},
                 {"float", EMP_DTYPE_FLOAT},
                 {"double", EMP_DTYPE_DOUBLE},
                 {"long", EMP_DTYPE_INT64},
                 {"unsigned char", EMP_DTYPE_UINT8},
                 {"signed char", EMP_DTYPE_INT8},
                 {"short", EMP_DTYPE_INT16},
                 {"int", EMP_DTYPE_INT32},
                 {"bool", EMP_DTYPE_BOOL}};

    for (size_t i = 0; type != NULL && i < sizeof words / sizeof *words; i++)
        if (strstr(type, words[i].word) != NULL) return words[i].dtype;
    return item_bytes == 8   ? EMP_DTYPE_INT64
           : item_bytes == 2 ? EMP_DTYPE_HALF
           : item_bytes == 1 ? EMP_DTYPE_UINT8
                             : EMP_DTYPE_FLOAT;
}

/* A shape that does not fit the number of elements is a vector of them. */
static emp_shape shape_of(const emp_json *shape, int64_t elements)
{
    emp_shape out = {.rank = 0};

    if (emp_json_count(shape) > EMP_MAX_RANK) return EMP_SHAPE(elements);
    for (const emp_json *v = emp_json_first(shape); v != NULL; v = emp_json_next(v)) {
        if (!emp_json_is(v, EMP_JSON_INTEGER) || emp_json_integer(v) < 0)
            return EMP_SHAPE(elements);
        out.dim[out.rank++] = emp_json_integer(v);
    }
    return emp_shape_elements(&out) == elements ? out : EMP_SHAPE(elements);
}

static emp_status read_tensor(tensor *t, triple from, const char *type, emp_error *err)
{
    int64_t part[EMP_EXECUTION_PARTS];

    (void)emp_execution_tensor_parts(from.value, part);
    if (part[3] < 0 || part[4] < 0)
        return EMP_ERROR(EMP_EFORMAT, "tensor %" PRId64 " has a negative size", part[0]);
    if (!emp_json_is(from.shape, EMP_JSON_ARRAY))
        return EMP_ERROR(
            EMP_EFORMAT,
            "tensor %" PRId64 " has no shape, so that no time can be predicted", part[0]);
    *t = (tensor){
        .id = part[0], .storage = part[1], .elements = part[3], .item_bytes = part[4]};
    t->info = (emp_tensor_info){.shape = shape_of(from.shape, t->elements),
                                .dtype = dtype_of(type, t->item_bytes)};
    return EMP_OK;
}

/* ---- who made it ---- */

static emp_status set_version(reader *r, emp_strmap *map, const int64_t key[2],
                              version made, emp_error *err)
{
    int32_t at = emp_strmap_get(map, (const char *)key, KEY_BYTES);

    if (at >= 0) {
        r->version[at] = made;
        return EMP_OK;
    }
    EMP_CHECK(EMP_GROW(r->version, r->version_count + 1, r->version_capacity));
    char *kept = emp_arena_alloc(&r->program.texts, KEY_BYTES);
    if (kept == NULL) return EMP_ERROR(EMP_ENOMEM, "a tensor");
    memcpy(kept, key, KEY_BYTES);
    EMP_CHECK(emp_strmap_set(map, kept, KEY_BYTES, r->version_count, err));
    r->version[r->version_count++] = made;
    return EMP_OK;
}

static version *find_version(const reader *r, const emp_strmap *map, int64_t a, int64_t b)
{
    int64_t key[2] = {a, b};
    int32_t at = emp_strmap_get(map, (const char *)key, KEY_BYTES);

    return at >= 0 ? &r->version[at] : NULL;
}

/* Notes that a node made a tensor: in memory that was not there before, unless the call reads it. */
static emp_status note_made(reader *r, const tensor *t, int32_t node, int32_t result,
                            emp_error *err)
{
    const version *storage = find_version(r, &r->of_storage, t->storage, 0);
    bool           is_read = storage != NULL && storage->read_by == r->call;
    version        made = {node, result, is_read ? storage->generation : ++r->generations,
                    is_read ? r->call : 0};

    EMP_CHECK(set_version(r, &r->of_tensor, (int64_t[2]){t->id, t->storage}, made, err));
    return set_version(r, &r->of_storage, (int64_t[2]){t->storage, 0}, made, err);
}

static emp_status add_node(reader *r, emp_torch_node *n, int32_t *number, emp_error *err)
{
    char place[PLACE_BYTES];

    snprintf(place, sizeof place, "node %.180s", n->name);
    *number = r->program.node_count;
    return emp_torch_program_add(&r->program, n, place, err);
}

static emp_status set_result(reader *r, emp_torch_node *n, const emp_tensor_info *info,
                             emp_error *err)
{
    n->result = emp_arena_alloc(&r->program.texts, sizeof *n->result);
    if (n->result == NULL) return EMP_ERROR(EMP_ENOMEM, "a result");
    n->result[0] = *info;
    n->result_count = 1;
    return EMP_OK;
}

static emp_status add_placeholder(reader *r, const tensor *t, emp_error *err)
{
    char           name[NAME_BYTES];
    emp_torch_node n = {
        .what = EMP_TORCH_PLACEHOLDER, .role = EMP_TORCH_INPUT, .name = name};
    int32_t number;

    snprintf(name, sizeof name, "tensor_%" PRId64 "_%d", t->id, r->program.node_count);
    EMP_CHECK(set_result(r, &n, &t->info, err));
    EMP_CHECK(add_node(r, &n, &number, err));
    return note_made(r, t, number, 0, err);
}

static emp_status add_view(reader *r, const tensor *t, version of, emp_error *err)
{
    char           name[NAME_BYTES];
    emp_torch_node n = {.what = EMP_TORCH_CALL, .target = "aten::view", .name = name};
    int32_t        number;

    snprintf(name, sizeof name, "view_%" PRId64 "_%d", t->id, r->program.node_count);
    n.count = 1;
    EMP_CHECK(emp_torch_program_reserve(&r->program, 1, &n.first, err));
    r->program.value[n.first] =
        (emp_torch_value){.kind = EMP_TORCH_TENSOR, .node = of.node, .result = of.result};
    EMP_CHECK(set_result(r, &n, &t->info, err));
    EMP_CHECK(add_node(r, &n, &number, err));
    return set_version(r, &r->of_tensor, (int64_t[2]){t->id, t->storage},
                       (version){number, 0, of.generation, 0}, err);
}

/* The node that made what a call reads; adds one if the tensor was there before, or is a view. */
static emp_status find_source(reader *r, const tensor *t, version *source, emp_error *err)
{
    const version *storage = find_version(r, &r->of_storage, t->storage, 0);
    const version *own = find_version(r, &r->of_tensor, t->id, t->storage);

    if (storage == NULL)
        EMP_CHECK(add_placeholder(r, t, err));
    else if (own == NULL || own->generation != storage->generation)
        EMP_CHECK(add_view(r, t, *storage, err));
    *source = *find_version(r, &r->of_tensor, t->id, t->storage);
    find_version(r, &r->of_storage, t->storage, 0)->read_by = r->call;
    return EMP_OK;
}

/* ---- arguments ---- */

static emp_status read_value(reader *r, triple from, emp_torch_value *out, emp_error *err)
{
    emp_torch_value value = {.kind = EMP_TORCH_NONE};
    tensor          t;
    version         source;

    if (is_tensor(from.value)) {
        EMP_CHECK(read_tensor(&t, from, emp_json_string(from.type), err));
        if (t.storage != 0 || t.elements > 0) { /* else it is undefined */
            EMP_CHECK(find_source(r, &t, &source, err));
            value.kind = EMP_TORCH_TENSOR;
            value.node = source.node;
            value.result = source.result;
        }
    } else if (emp_json_is(from.value, EMP_JSON_INTEGER)) {
        value.kind = EMP_TORCH_INT;
        value.number = emp_json_integer(from.value);
    } else if (emp_json_is(from.value, EMP_JSON_REAL) ||
               emp_json_is(from.value, EMP_JSON_NOT_FINITE)) {
        value.kind = EMP_TORCH_REAL;
    } else if (emp_json_is(from.value, EMP_JSON_TRUE) ||
               emp_json_is(from.value, EMP_JSON_FALSE)) {
        value.kind = EMP_TORCH_BOOL;
        value.number = emp_json_is(from.value, EMP_JSON_TRUE);
    }
    *out = value;
    return EMP_OK;
}

/* Values in a list and in the lists within it. */
static int32_t count_values(const emp_json *value)
{
    int32_t count = 0;

    if (!is_list(value)) return 1;
    for (const emp_json *item = emp_json_first(value); item != NULL;
         item = emp_json_next(item))
        count += count_values(item);
    return count;
}

/* Lists within a list become one, as those that ranks gather. */
static emp_status read_items(reader *r, triple list, int32_t *at, emp_error *err)
{
    for (triple item = first_of(list.value, list.shape, NULL); item.value != NULL;
         item = next_of(item)) {
        emp_torch_value part;
        item.type = list.type;
        if (is_list(item.value)) {
            EMP_CHECK(read_items(r, item, at, err));
            continue;
        }
        EMP_CHECK(read_value(r, item, &part, err));
        r->program.value[(*at)++] = part;
    }
    return EMP_OK;
}

/* Items of a list have the shapes of a list; their one type belongs to the whole. */
static emp_status read_argument(reader *r, triple from, int32_t at, emp_error *err)
{
    emp_torch_value value = {.kind = EMP_TORCH_LIST};
    int32_t         first;

    if (!is_list(from.value)) {
        EMP_CHECK(read_value(r, from, &value, err));
        value.key = r->program.value[at].key;
        r->program.value[at] = value;
        return EMP_OK;
    }
    value.count = count_values(from.value);
    value.key = r->program.value[at].key;
    EMP_CHECK(emp_torch_program_reserve(&r->program, value.count, &value.first, err));
    r->program.value[at] = value;
    first = value.first;
    return read_items(r, from, &first, err);
}

/* The next parameter of "aten::conv2d(Tensor input, ..., SymInt[2] stride=[1, 1], ...) -> Tensor": its name, which is the
 * last word before "=", "," or ")". */
static const char *next_parameter(const char *at, const char **name, size_t *length)
{
    int depth = 0;

    *name = NULL;
    *length = 0;
    for (bool is_named = false; *at != '\0'; at++) {
        if (depth == 0 && (*at == ',' || *at == ')')) break;
        if (*at == '[' || *at == '(') depth++;
        if (*at == ']' || *at == ')') depth--;
        if (depth == 0 && *at == '=') is_named = true;
        if (is_named || depth > 0) continue;
        if (*at == ' ')
            *name = NULL;
        else if (*name == NULL)
            *name = at, *length = 1;
        else
            ++*length;
    }
    return at;
}

/* Names arguments as the schema calls them; "*" stands before those that have only a name. */
static emp_status name_arguments(reader *r, const emp_torch_node *n, const char *schema,
                                 emp_error *err)
{
    const char *at = strchr(schema, '('), *name;
    size_t      length;

    for (int32_t i = 0; i < n->count && at != NULL && *at != '\0' && *at != ')';) {
        at = next_parameter(at + 1, &name, &length);
        if (name == NULL || (length == 1 && *name == '*')) continue;
        const char *kept = emp_arena_strndup(&r->program.texts, name, length);
        if (kept == NULL) return EMP_ERROR(EMP_ENOMEM, "the name of an argument");
        r->program.value[n->first + i++].key = kept;
    }
    return EMP_OK;
}

/* ---- kernels of Triton ---- */

/* Whether an operand of a node is a tensor of that storage. */
static bool is_operand_of(const emp_json *node, int64_t storage)
{
    for (triple i = inputs_of(node); i.value != NULL; i = next_of(i)) {
        const emp_json *id = is_tensor(i.value) ? emp_json_first(i.value) : NULL;
        if (id != NULL && emp_json_integer(emp_json_next(id)) == storage) return true;
    }
    return false;
}

/* Whether memory has no data yet: no call around the kernel is given it and nothing has made it, or it was only
 * allocated. */
static bool is_empty(const reader *r, const emp_execution_call *call, int64_t storage)
{
    const version *made = find_version(r, &r->of_storage, storage, 0);
    emp_aten_op    op;

    if (made != NULL) {
        const emp_torch_node *n = &r->program.node[made->node];
        return n->what == EMP_TORCH_CALL &&
               emp_aten_parse(&op, n->target, strlen(n->target)) && op.type != NULL &&
               op.type->work == EMP_WORK_NOTHING && !op.is_view;
    }
    for (int32_t p = call->parent; p >= 0; p = r->calls.call[p].parent)
        if (is_operand_of(r->calls.call[p].json, storage)) return false;
    return true;
}

static bool has_storage(const tensor *list, int32_t count, int64_t storage)
{
    for (int32_t i = 0; i < count; i++)
        if (list[i].storage == storage) return true;
    return false;
}

/* The operands that a kernel writes. */
static emp_status find_written(reader *r, emp_torch_node *n, tensor **made,
                               const emp_execution_call *call, emp_error *err)
{
    tensor  all[KERNEL_OPERANDS_MAX];
    int32_t count = 0;

    if (n->count > KERNEL_OPERANDS_MAX)
        return EMP_ERROR(EMP_EUNSUPPORTED, "a kernel of %d operands, at most %d are read",
                         n->count, KERNEL_OPERANDS_MAX);
    *made = emp_arena_alloc(&r->program.texts, (size_t)n->count * sizeof **made + 1);
    n->result =
        emp_arena_alloc(&r->program.texts, (size_t)n->count * sizeof *n->result + 1);
    if (*made == NULL || n->result == NULL)
        return EMP_ERROR(EMP_ENOMEM, "%d operands", n->count);
    for (triple i = inputs_of(call->json); i.value != NULL; i = next_of(i)) {
        tensor *t = &all[count];
        if (!is_tensor(i.value)) continue;
        EMP_CHECK(read_tensor(t, i, emp_json_string(i.type), err));
        bool is_written =
            has_storage(all, count, t->storage) || is_empty(r, call, t->storage);
        if (is_written && !has_storage(*made, n->result_count, t->storage))
            (*made)[n->result_count++] = *t;
        count++;
    }
    if (n->result_count == 0 && count > 0) (*made)[n->result_count++] = all[0];
    for (int32_t k = 0; k < n->result_count; k++) n->result[k] = (*made)[k].info;
    n->is_tuple = n->result_count > 1;
    return EMP_OK;
}

/* ---- calls ---- */

/* A tensor, or those of a list. */
static emp_status read_result(emp_torch_node *n, tensor *made, triple from,
                              emp_error *err)
{
    triple part = first_of(from.value, from.shape, NULL);

    if (is_tensor(from.value)) {
        tensor *t = &made[n->result_count];
        EMP_CHECK(read_tensor(t, from, emp_json_string(from.type), err));
        n->result[n->result_count++] = t->info;
        return EMP_OK;
    }
    for (; is_list(from.value) && part.value != NULL; part = next_of(part)) {
        part.type = from.type;
        EMP_CHECK(read_result(n, made, part, err));
    }
    return EMP_OK;
}

static emp_status read_results(reader *r, emp_torch_node *n, tensor **made,
                               const emp_json *node, emp_error *err)
{
    int32_t count = 0;

    for (triple o = outputs_of(node); o.value != NULL; o = next_of(o))
        count += count_values(o.value);
    *made = emp_arena_alloc(&r->program.texts, (size_t)count * sizeof **made + 1);
    n->result = emp_arena_alloc(&r->program.texts, (size_t)count * sizeof *n->result + 1);
    if (*made == NULL || n->result == NULL)
        return EMP_ERROR(EMP_ENOMEM, "%d results", count);
    for (triple o = outputs_of(node); o.value != NULL; o = next_of(o))
        EMP_CHECK(read_result(n, *made, o, err));
    n->is_tuple = n->result_count > 1;
    return EMP_OK;
}

/* Reads the operands, but for memory without data that the call only writes. */
static emp_status read_operands(reader *r, const emp_torch_node *n, const tensor *made,
                                const emp_execution_call *call, emp_error *err)
{
    int32_t at = n->first;

    for (triple i = inputs_of(call->json); i.value != NULL; i = next_of(i), at++) {
        const char *key = r->program.value[at].key;
        tensor      t = {0};
        bool        is_out = key != NULL && strcmp(key, "out") == 0;
        bool        is_empty_result = false;
        if (is_tensor(i.value)) {
            EMP_CHECK(read_tensor(&t, i, emp_json_string(i.type), err));
            if (call->is_triton)
                is_empty_result = is_empty(r, call, t.storage);
            else if (is_out)
                is_empty_result = find_version(r, &r->of_storage, t.storage, 0) == NULL;
        }
        if (!is_empty_result) EMP_CHECK(read_argument(r, i, at, err));
        r->program.value[at].is_written =
            is_out || (call->is_triton && has_storage(made, n->result_count, t.storage));
    }
    return EMP_OK;
}

/* Kernels that Inductor fuses are passes over their operands. It calls kernels of templates, which multiply matrices,
 * "triton_tem_..."; their sizes do not follow from their operands. */
static bool is_template(const char *name)
{
    return strncmp(name, "triton_tem_", 11) == 0;
}

/* The call within a collective has the number of its group's ranks as its last operand
 * (torch/csrc/distributed/c10d/ParamCommsUtils.hpp). */
static void find_ranks(emp_execution_calls *calls)
{
    for (int32_t i = 0; i < calls->count; i++) {
        const emp_execution_call *call = &calls->call[i];
        int64_t                   ranks = 0;
        if (call->parent < 0 || strcmp(call->name, "record_param_comms") != 0) continue;
        for (triple v = inputs_of(call->json); v.value != NULL; v = next_of(v))
            ranks = emp_json_integer(v.value);
        if (ranks > 0 && ranks <= INT32_MAX)
            calls->call[call->parent].ranks = (int32_t)ranks;
    }
}

static emp_status add_call(reader *r, const emp_execution_call *call, emp_error *err)
{
    char           name[NAME_BYTES];
    const char    *base = strrchr(call->name, ':');
    emp_torch_node n = {.what = EMP_TORCH_CALL,
                        .target = call->name,
                        .name = name,
                        .is_update = call->is_update,
                        .ranks = call->ranks};
    tensor        *made = NULL;
    int32_t        number;

    snprintf(name, sizeof name, "%.128s_%" PRId64, base == NULL ? call->name : base + 1,
             call->id);
    for (triple i = inputs_of(call->json); i.value != NULL; i = next_of(i)) n.count++;
    EMP_CHECK(emp_torch_program_reserve(&r->program, n.count, &n.first, err));
    EMP_CHECK(name_arguments(r, &n, call->schema, err));
    if (call->is_triton) {
        n.target = is_template(call->name) ? call->name : "triton::fused";
        EMP_CHECK(find_written(r, &n, &made, call, err));
        EMP_CHECK(read_operands(r, &n, made, call, err));
    } else {
        EMP_CHECK(read_operands(r, &n, NULL, call, err));
        EMP_CHECK(read_results(r, &n, &made, call->json, err));
    }
    EMP_CHECK(add_node(r, &n, &number, err));
    for (int32_t k = 0; k < n.result_count; k++)
        EMP_CHECK(note_made(r, &made[k], number, k, err));
    return EMP_OK;
}

/* Messages name the node. */
static emp_status take_call(reader *r, const emp_execution_call *call, emp_error *err)
{
    emp_error  reason = {0};
    emp_status st = add_call(r, call, &reason);

    if (st == EMP_OK) return EMP_OK;
    return EMP_ERROR(st, "node %" PRId64 " (%.80s): %s", call->id, call->name,
                     reason.msg);
}

/* ---- memory that was there before ---- */

/* Whether an op reads an operand as weights: not element by element. */
static bool reads_weights(const emp_aten_op *op)
{
    switch (op->type->work) {
    case EMP_WORK_CONVOLUTION: return op->type->part == EMP_PART_FORWARD;
    case EMP_WORK_PRODUCT:
    case EMP_WORK_LOOKUP:
    case EMP_WORK_RECURRENT:
    case EMP_WORK_NORM: return true;
    default: return false;
    }
}

/* The use that calls make of memory that was there before. */
typedef struct {
    bool is_written, is_weight;
    bool is_updated, is_read; /* by an optimizer's step; outside of it */
} use;

/* The use that a call makes of one of its operands. */
static void note_use(use *u, const emp_torch_calls *c, int32_t node,
                     const emp_torch_value *v, int32_t argument)
{
    const emp_aten_op *op = c->op_of[node];
    bool               is_written = emp_torch_writes(c, node, argument) || v->is_written;
    bool               is_fused = strcmp(op->name, "triton.fused") == 0 && !is_written;

    u->is_written |= is_written;
    u->is_weight |= reads_weights(op) || is_fused;
    u->is_updated |= is_written && c->program->node[node].is_update;
    u->is_read |= !c->program->node[node].is_update && !op->is_view && !is_written;
}

static void note_uses(emp_torch_program *p, const emp_torch_calls *c, use *of)
{
    for (int32_t i = 0; i < p->node_count; i++) {
        const emp_aten_op     *op = c->op_of[i];
        emp_torch_walk         at = {0};
        const emp_torch_value *v;
        if (op == NULL || op->type == NULL) continue;
        while ((v = emp_torch_next_tensor(p, &p->node[i], &at)) != NULL) {
            emp_torch_node *owner = &p->node[c->owner[v->node]];
            if (owner->what != EMP_TORCH_PLACEHOLDER) continue;
            if (v->key != NULL && strncmp(v->key, "running_", 8) == 0)
                owner->role = EMP_TORCH_BUFFER;
            note_use(&of[c->owner[v->node]], c, i, v, at.argument);
        }
    }
}

static void set_roles(emp_torch_program *p, const use *of)
{
    bool has_update = false;

    for (int32_t i = 0; i < p->node_count; i++) has_update |= of[i].is_updated;
    for (int32_t i = 0; i < p->node_count; i++) {
        emp_torch_node *n = &p->node[i];
        bool            is_parameter =
            has_update ? of[i].is_updated && of[i].is_read : of[i].is_weight;
        if (n->what == EMP_TORCH_PLACEHOLDER && of[i].is_written &&
            n->role != EMP_TORCH_BUFFER)
            n->role = is_parameter ? EMP_TORCH_PARAMETER : EMP_TORCH_STATE;
    }
}

/* Gives placeholders their roles: what of the memory that was there before is kept from step to step. */
static emp_status find_kept(emp_torch_program *p, emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_torch_calls calls = {0};
    use            *of = NULL;

    EMP_TRY(emp_torch_calls_init(&calls, p, err));
    EMP_TRY(EMP_ALLOC(of, (size_t)p->node_count));
    note_uses(p, &calls, of);
    set_roles(p, of);

cleanup:
    emp_free(of);
    emp_torch_calls_clear(&calls);
    return st;
}

/* ---- the trace ---- */

emp_status emp_torch_execution_read(emp_graph_builder *builder, emp_reading *reading,
                                    emp_error *err)
{
    emp_status st = EMP_OK;
    reader r = {.program = {.kind = "PyTorch execution trace", .stated_parameters = -1}};

    EMP_TRY(emp_execution_calls_read(&r.calls, reading->json, err));
    find_ranks(&r.calls);
    if (r.calls.step != NULL)
        emp_import_notes_assume(
            reading->notes, "of the trace's %d steps of the profiler the step is %.40s",
            r.calls.step_count, r.calls.step);
    for (int32_t i = 0; i < r.calls.count; i++) {
        r.call = i + 1;
        if (r.calls.call[i].is_taken) EMP_TRY(take_call(&r, &r.calls.call[i], err));
    }
    if (r.program.node_count == 0)
        EMP_FAIL(EMP_EFORMAT,
                 "a PyTorch execution trace in which no operator did any work");
    EMP_TRY(find_kept(&r.program, err));
    EMP_TRY(emp_pytorch_lower(builder, reading, &r.program, err));

cleanup:
    emp_free(r.version);
    emp_strmap_clear(&r.of_tensor);
    emp_strmap_clear(&r.of_storage);
    emp_execution_calls_clear(&r.calls);
    emp_torch_program_clear(&r.program);
    return st;
}
