// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/graph/graph_builder.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "sim/graph/graph_builder_internal.h"

emp_status emp_graph_builder_create(emp_graph_builder **out, emp_error *err)
{
    emp_status         st = EMP_OK;
    emp_graph_builder *b = NULL;

    EMP_NEED(out);
    *out = NULL;
    b = EMP_NEW(emp_graph_builder);
    if (b == NULL) EMP_FAIL(EMP_ENOMEM, "graph builder");
    EMP_TRY(EMP_ALLOC(b->output_buffer, EMP_MAX_OUTPUTS));
    b->dirty_outputs = EMP_MAX_OUTPUTS;
    EMP_TRY(EMP_ALLOC(b->value_buffer, EMP_VALUE_BUFFER_SIZE));

    *out = b;
    b = NULL;

cleanup:
    emp_graph_builder_destroy(b);
    return st;
}

void emp_graph_builder_destroy(emp_graph_builder *b)
{
    if (b == NULL) return;
    emp_free(b->id_of_name.slot);
    emp_strmap_clear(&b->index_of_type);
    emp_value_set_clear(&b->values);
    emp_arena_clear(&b->names);
    emp_arena_clear(&b->scratch);
    emp_free(b->node);
    emp_free(b->type_name);
    emp_free(b->type_entry);
    emp_free(b->last_attrs);
    emp_free(b->input_buffer);
    emp_free(b->output_buffer);
    emp_free(b->value_buffer);
    emp_free(b);
}

static bool is_op(const emp_graph_builder *b, emp_op_id op)
{
    return op >= 0 && op < b->node_count;
}

/* Index of a type name, which is new or seen before. */
static emp_status intern_type(emp_graph_builder *b, const char *type, size_t length,
                              int32_t *index, emp_error *err)
{
    *index = emp_strmap_get(&b->index_of_type, type, length);
    if (*index >= 0) return EMP_OK;

    if (b->type_count == b->type_capacity) {
        int32_t      capacity = b->type_capacity == 0 ? 64 : 2 * b->type_capacity;
        const char **name =
            emp_realloc((void *)b->type_name, (size_t)capacity, sizeof *name);
        if (name == NULL) return EMP_ERROR(EMP_ENOMEM, "%d op types", capacity);
        b->type_name = name;
        const emp_op_type **entry =
            emp_realloc((void *)b->type_entry, (size_t)capacity, sizeof *entry);
        if (entry == NULL) return EMP_ERROR(EMP_ENOMEM, "%d op types", capacity);
        b->type_entry = entry;
        const emp_op_attrs **attrs =
            emp_realloc((void *)b->last_attrs, (size_t)capacity, sizeof *attrs);
        if (attrs == NULL) return EMP_ERROR(EMP_ENOMEM, "%d op types", capacity);
        b->last_attrs = attrs;
        b->type_capacity = capacity;
    }
    const char *name = emp_arena_strndup(&b->names, type, length);
    if (name == NULL) return EMP_ERROR(EMP_ENOMEM, "name of an op type");
    EMP_CHECK(emp_strmap_set(&b->index_of_type, name, length, b->type_count, err));

    const emp_op_type *entry = emp_op_type_find(name);
    b->type_name[b->type_count] = name;
    b->type_entry[b->type_count] = entry != NULL ? entry : emp_op_type_unknown();
    b->last_attrs[b->type_count] = NULL;
    *index = b->type_count++;
    return EMP_OK;
}

/* ---- names ---- */

static uint32_t hash_name(const char *name, size_t length)
{
    return (uint32_t)emp_hash_of_process(name, length);
}

static emp_op_id find_name(const emp_graph_builder *b, const char *name, size_t length,
                           uint32_t hash)
{
    const emp_node_table *t = &b->id_of_name;

    if (t->capacity == 0) return -1;
    for (size_t i = hash;; i++) {
        const size_t    at = i & (t->capacity - 1);
        const emp_op_id id = t->slot[at].number - 1;
        if (id < 0) return -1;
        if (t->slot[at].hash != hash) continue;
        const char *own = b->node[id].name;
        if (strncmp(own, name, length) == 0 && own[length] == '\0') return id;
    }
}

static void put_name(emp_node_table *t, emp_op_id number, uint32_t hash)
{
    size_t at = hash & (t->capacity - 1);

    while (t->slot[at].number != 0) at = (at + 1) & (t->capacity - 1);
    t->slot[at].number = number;
    t->slot[at].hash = hash;
}

/* Makes room for the names of so many nodes. */
static emp_status grow_names(emp_node_table *t, size_t count, emp_error *err)
{
    emp_node_table larger = {.capacity = t->capacity > 0 ? t->capacity : 256};

    while (4 * count > 3 * larger.capacity) larger.capacity *= 2;
    if (larger.capacity == t->capacity) return EMP_OK;
    larger.slot = emp_calloc_for_random_access(larger.capacity, sizeof *larger.slot);
    if (larger.slot == NULL) return EMP_ERROR(EMP_ENOMEM, "names of %zu ops", count);
    for (size_t i = 0; i < t->capacity; i++)
        if (t->slot[i].number != 0) put_name(&larger, t->slot[i].number, t->slot[i].hash);
    emp_free(t->slot);
    *t = larger;
    return EMP_OK;
}

emp_node_name emp_graph_builder_expect(const emp_graph_builder *b, const char *name,
                                       size_t length)
{
    const emp_node_name expected = {name, length, hash_name(name, length)};
    const size_t        at = expected.hash & (b->id_of_name.capacity - 1);

    if (b->id_of_name.capacity > 0) __builtin_prefetch(&b->id_of_name.slot[at]);
    return expected;
}

/* ---- nodes ---- */

/* The one copy of bytes that nodes point to. */
static void *keep(emp_graph_builder *b, const void *value, size_t bytes)
{
    return (void *)(uintptr_t)emp_value_keep(&b->values, &b->scratch, value, bytes);
}

/* The attributes in the builder, with those that they point to. Most ops have those of the type's last node. Those
 * that differ between their members only are not found equal, which does no harm. */
static const emp_op_attrs *keep_attrs(emp_graph_builder *b, int32_t type,
                                      const emp_op_attrs *attrs)
{
    static const emp_op_attrs none = {0};
    const emp_op_attrs       *last = b->last_attrs[type];
    emp_op_attrs              own;
    bool                      has_value;

    if (attrs == NULL) return &none;
    if (last != NULL && memcmp(last, attrs, sizeof *last) == 0) return last;
    memcpy(&own, attrs, sizeof own);
    has_value = attrs->value != NULL && attrs->value_count > 0 &&
                attrs->value_count <= EMP_MAX_CONST_VALUES;
    own.value = has_value ? keep(b, attrs->value,
                                 (size_t)attrs->value_count * sizeof *attrs->value)
                          : NULL;
    own.value_count = has_value ? attrs->value_count : 0;
    if (attrs->cost != NULL) own.cost = keep(b, attrs->cost, sizeof *attrs->cost);
    if ((has_value && own.value == NULL) || (attrs->cost != NULL && own.cost == NULL))
        return NULL;
    if (last == NULL || memcmp(last, &own, sizeof own) != 0)
        b->last_attrs[type] = keep(b, &own, sizeof own);
    return b->last_attrs[type];
}

static emp_status grow_nodes(emp_graph_builder *b, int32_t capacity, emp_error *err)
{
    emp_node *node = emp_realloc(b->node, (size_t)capacity, sizeof *node);

    if (node == NULL) return EMP_ERROR(EMP_ENOMEM, "%d nodes", capacity);
    b->node = node;
    b->node_capacity = capacity;
    return EMP_OK;
}

emp_status emp_graph_builder_reserve(emp_graph_builder *b, int32_t op_count,
                                     emp_error *err)
{
    if (op_count > b->node_capacity) EMP_CHECK(grow_nodes(b, op_count, err));
    return grow_names(&b->id_of_name, (size_t)op_count, err);
}

/* Appends a node without edges and outputs; it counts only once the caller commits it. */
static emp_status append_node(emp_graph_builder *b, const emp_node_name *expected,
                              const char *type, size_t type_length,
                              const emp_op_attrs *attrs, bool is_stated, emp_error *err)
{
    const char  *name = expected->name;
    const size_t name_length = expected->length;

    if (b->node_count > 0 && (b->node[0].stated != NULL) != is_stated)
        return EMP_ERROR(EMP_EINVAL,
                         "op \"%.*s\": a graph states the costs of all ops or of none",
                         (int)name_length, name);
    if (name_length == 0 || type_length == 0 || name_length > UINT16_MAX ||
        type_length > UINT16_MAX)
        return EMP_ERROR(EMP_EINVAL,
                         "op %d: a name of %zu and a type of %zu bytes, need 1..%d",
                         b->node_count, name_length, type_length, UINT16_MAX);
    if (emp_graph_builder_find_expected(b, expected) >= 0)
        return EMP_ERROR(EMP_EINVAL, "op name \"%.*s\" is taken", (int)name_length, name);
    if (b->node_count == b->node_capacity) {
        if (b->node_count > INT32_MAX / 2)
            return EMP_ERROR(EMP_EUNSUPPORTED, "more than %d ops", b->node_count);
        EMP_CHECK(grow_nodes(b, b->node_capacity == 0 ? 256 : 2 * b->node_capacity, err));
    }
    emp_node *node = &b->node[b->node_count];
    *node = (emp_node){0};
    EMP_CHECK(intern_type(b, type, type_length, &node->type, err));
    node->name = emp_arena_strndup(&b->names, name, name_length);
    node->attrs = keep_attrs(b, node->type, attrs);
    if (node->name == NULL || node->attrs == NULL)
        return EMP_ERROR(EMP_ENOMEM, "op %d, \"%.*s\"", b->node_count, (int)name_length,
                         name);
    return EMP_OK;
}

/* Makes the node of append_node() visible. */
static emp_status commit_node(emp_graph_builder *b, const emp_node_name *name,
                              emp_op_id *op, emp_error *err)
{
    EMP_CHECK(grow_names(&b->id_of_name, (size_t)b->node_count + 1, err));
    *op = b->node_count++;
    put_name(&b->id_of_name, b->node_count, name->hash);
    return EMP_OK;
}

/* Makes room in the arena for so many edges, and up to a power of two; in place of the full row \a edges if that is the
 * newest of the arena. NULL: out of memory. */
static void *extend_edges(emp_graph_builder *b, const void *edges, int32_t count,
                          int32_t wanted, size_t size)
{
    size_t room = wanted > 0 ? 1 : 0;

    while (room < (size_t)wanted) room *= 2;
    return emp_arena_extend(&b->scratch, edges, (size_t)count * size, room * size,
                            sizeof(emp_op_id));
}

static bool is_full(int32_t count) { return (count & (count - 1)) == 0; }

/* Room for twice as many edges as a full row has. */
static void *grow_edges(emp_graph_builder *b, const void *edges, int32_t count,
                        size_t size)
{
    if (count > INT32_MAX / 2) return NULL;
    return extend_edges(b, edges, count, count + 1, size);
}

/* Copies edges after checking them. */
static emp_status set_edges(emp_graph_builder *b, emp_node *node, const emp_port *inputs,
                            int32_t input_count, const emp_op_id *controls,
                            int32_t control_count, emp_error *err)
{
    if (input_count < 0 || control_count < 0)
        return EMP_ERROR(EMP_EINVAL, "op \"%s\" with %d inputs and %d control inputs",
                         node->name, input_count, control_count);
    for (int32_t i = 0; i < input_count; i++) {
        if (!is_op(b, inputs[i].op))
            return EMP_ERROR(EMP_EINVAL, "op \"%s\", input %d: op %d is outside 0..%d",
                             node->name, i, inputs[i].op, b->node_count - 1);
    }
    for (int32_t i = 0; i < control_count; i++) {
        if (!is_op(b, controls[i]))
            return EMP_ERROR(EMP_EINVAL,
                             "op \"%s\", control input %d: op %d is outside 0..%d",
                             node->name, i, controls[i], b->node_count - 1);
    }
    node->input_count = input_count;
    node->control_count = control_count;
    node->input = extend_edges(b, NULL, 0, input_count, sizeof *node->input);
    node->control = extend_edges(b, NULL, 0, control_count, sizeof *node->control);
    if (node->input == NULL || node->control == NULL)
        return EMP_ERROR(EMP_ENOMEM, "%d edges of op \"%s\"", input_count + control_count,
                         node->name);
    if (input_count > 0)
        memcpy(node->input, inputs, (size_t)input_count * sizeof *inputs);
    if (control_count > 0)
        memcpy(node->control, controls, (size_t)control_count * sizeof *controls);
    return EMP_OK;
}

emp_status emp_graph_builder_add(emp_graph_builder *b, const char *name, const char *type,
                                 const emp_op_attrs *attrs, const emp_port *inputs,
                                 int32_t input_count, const emp_op_id *controls,
                                 int32_t control_count, emp_op_id *op, emp_error *err)
{
    const emp_node_name expected = emp_graph_builder_expect(b, name, strlen(name));

    *op = -1;
    EMP_CHECK(append_node(b, &expected, type, strlen(type), attrs, false, err));
    EMP_CHECK(set_edges(b, &b->node[b->node_count], inputs, input_count, controls,
                        control_count, err));
    for (int32_t i = 0; i < input_count; i++) {
        emp_status st = emp_node_check_output(b, inputs[i], b->node_count, err);
        if (st != EMP_OK) return st == EMP_EFORMAT ? EMP_EINVAL : st;
    }
    EMP_CHECK(emp_node_infer(b, b->node_count, true, err));
    return commit_node(b, &expected, op, err);
}

/* ---- outputs ---- */

/* Makes out-of-range ranks and sizes unknown, so that no later code trips over them. */
static void shape_clean(emp_shape *shape)
{
    if (shape->rank < 0 || shape->rank > EMP_MAX_RANK) *shape = EMP_SHAPE_UNKNOWN;
    for (int32_t d = 0; d < shape->rank; d++)
        if (shape->dim[d] < 0) shape->dim[d] = -1;
}

/* The info with nothing between its members, or in sizes that it has not, so that equal ones have equal bytes. */
static emp_tensor_info plain_info(const emp_tensor_info *info, const emp_shape *shape)
{
    emp_tensor_info plain;

    memset(&plain, 0, sizeof plain);
    plain.shape.rank = shape->rank;
    for (int32_t d = 0; d < shape->rank; d++) plain.shape.dim[d] = shape->dim[d];
    plain.dtype = info->dtype;
    plain.is_ref = info->is_ref;
    plain.value = info->value;
    plain.value_count = info->value_count;
    return plain;
}

/* Gives the node the first outputs of the buffer, which are plain. */
static emp_status keep_outputs(emp_graph_builder *b, emp_node *node, int32_t count,
                               emp_error *err)
{
    if (count > b->dirty_outputs) b->dirty_outputs = count;
    emp_tensor_info *output =
        keep(b, b->output_buffer, (size_t)count * sizeof *node->output);
    if (output == NULL)
        return EMP_ERROR(EMP_ENOMEM, "%d outputs of op \"%s\"", count, node->name);
    node->output = output;
    node->output_count = (uint16_t)count;
    return EMP_OK;
}

emp_status emp_graph_builder_declare(emp_graph_builder *b, const char *name,
                                     size_t name_length, const char *type,
                                     size_t type_length, const emp_op_attrs *attrs,
                                     const emp_shape *outputs, int32_t output_count,
                                     emp_op_id *op, emp_error *err)
{
    const emp_node_name expected = emp_graph_builder_expect(b, name, name_length);

    return emp_graph_builder_declare_expected(b, &expected, type, type_length, attrs,
                                              outputs, output_count, op, err);
}

emp_status
emp_graph_builder_declare_expected(emp_graph_builder *b, const emp_node_name *name,
                                   const char *type, size_t type_length,
                                   const emp_op_attrs *attrs, const emp_shape *outputs,
                                   int32_t output_count, emp_op_id *op, emp_error *err)
{
    static const emp_tensor_info nothing = {0};

    *op = -1;
    EMP_CHECK(append_node(b, name, type, type_length, attrs, false, err));
    if (outputs != NULL) {
        emp_node *node = &b->node[b->node_count];
        if (output_count < 0 || output_count > EMP_MAX_OUTPUTS)
            return EMP_ERROR(EMP_EINVAL, "op \"%s\" with %d outputs, need 0..%d",
                             node->name, output_count, EMP_MAX_OUTPUTS);
        for (int32_t i = 0; i < output_count; i++) {
            emp_shape shape = outputs[i];
            shape_clean(&shape);
            b->output_buffer[i] = plain_info(&nothing, &shape);
        }
        EMP_CHECK(keep_outputs(b, node, output_count, err));
    }
    return commit_node(b, name, op, err);
}

emp_status emp_graph_builder_state_outputs(emp_graph_builder *b, emp_op_id op,
                                           const emp_tensor_info *outputs, int32_t count,
                                           emp_error *err)
{
    if (!is_op(b, op) || count < 0 || count > EMP_MAX_OUTPUTS)
        return EMP_ERROR(EMP_EINVAL, "%d outputs of op %d: ops are 0..%d, outputs 0..%d",
                         count, op, b->node_count - 1, EMP_MAX_OUTPUTS);
    emp_node *node = &b->node[op];
    for (int32_t i = 0; i < count; i++) {
        emp_shape shape = outputs[i].shape;
        shape_clean(&shape);
        b->output_buffer[i] = plain_info(&outputs[i], &shape);
        b->output_buffer[i].value = NULL;
        b->output_buffer[i].value_count = 0;
    }
    EMP_CHECK(keep_outputs(b, node, count, err));
    node->has_stated_outputs = true;
    return EMP_OK;
}

/* One output, of as many bytes as a copy carries. */
static emp_tensor_info result_of(int64_t copy_bytes)
{
    return (emp_tensor_info){.shape = {.rank = 1, .dim = {copy_bytes}},
                             .dtype = EMP_DTYPE_UINT8};
}

static emp_status state_node(emp_graph_builder *b, emp_node *node,
                             const emp_stated_op *stated, emp_error *err)
{
    node->stated = emp_arena_alloc(&b->scratch, sizeof *node->stated);
    node->output = emp_arena_alloc(&b->scratch, sizeof *node->output);
    if (node->stated == NULL || node->output == NULL)
        return EMP_ERROR(EMP_ENOMEM, "op %d, \"%s\"", b->node_count, node->name);
    *node->stated = *stated;
    *node->output = result_of(stated->copy_bytes);
    node->output_count = 1;
    node->is_inferred = true;
    b->type_entry[node->type] = emp_op_type_unknown();
    return EMP_OK;
}

static emp_status check_stated(const char *name, const emp_stated_op *stated,
                               emp_error *err)
{
    const emp_stated_cost *cost = &stated->cost;

    if (cost->gpu_ns < 0 || cost->cpu_ns < 0 || cost->copy_ns < -1)
        return EMP_ERROR(
            EMP_EINVAL,
            "op \"%s\" states %lld, %lld and %lld ns on a GPU, on a CPU and "
            "for a copy; times are not negative, and -1 for a copy is by its "
            "bytes",
            name, (long long)cost->gpu_ns, (long long)cost->cpu_ns,
            (long long)cost->copy_ns);
    if (stated->persistent_bytes < 0 || stated->held_bytes < 0 || stated->copy_bytes < 0)
        return EMP_ERROR(
            EMP_EINVAL,
            "op \"%s\" states %lld persistent, %lld held and %lld copied bytes; "
            "sizes are not negative",
            name, (long long)stated->persistent_bytes, (long long)stated->held_bytes,
            (long long)stated->copy_bytes);
    if (stated->kinds == 0 || stated->kinds > (EMP_KIND_CPU | EMP_KIND_GPU))
        return EMP_ERROR(
            EMP_EINVAL,
            "op \"%s\" has the kinds %u; they are a mask of EMP_KIND_CPU and "
            "EMP_KIND_GPU, not 0",
            name, stated->kinds);
    return EMP_OK;
}

emp_status emp_graph_builder_state(emp_graph_builder *b, const char *name,
                                   const char *type, const emp_stated_op *stated,
                                   emp_op_id *op, emp_error *err)
{
    EMP_NEED(op);
    *op = -1;
    EMP_NEED(b);
    EMP_NEED(name);
    EMP_NEED(type);
    EMP_NEED(stated);
    EMP_CHECK(check_stated(name, stated, err));
    const emp_node_name expected = emp_graph_builder_expect(b, name, strlen(name));
    EMP_CHECK(append_node(b, &expected, type, strlen(type), NULL, true, err));
    EMP_CHECK(state_node(b, &b->node[b->node_count], stated, err));
    return commit_node(b, &expected, op, err);
}

/* The number of results says what there is room for: a power of two is full, and is doubled. */
emp_status emp_graph_builder_state_result(emp_graph_builder *b, emp_op_id op,
                                          int32_t number, int64_t copy_bytes,
                                          emp_error *err)
{
    if (!is_op(b, op) || b->node[op].stated == NULL || number < 0 ||
        number > b->node[op].output_count || number >= EMP_MAX_OUTPUTS || copy_bytes < 0)
        return EMP_ERROR(EMP_EINVAL, "result %d of op %d, of %lld bytes", number, op,
                         (long long)copy_bytes);
    emp_node *node = &b->node[op];
    if (number > 0 && is_full(number)) {
        const size_t     used = (size_t)number * sizeof *node->output;
        emp_tensor_info *larger = emp_arena_extend(&b->scratch, node->output, used,
                                                   2 * used, _Alignof(emp_tensor_info));
        if (larger == NULL)
            return EMP_ERROR(EMP_ENOMEM, "results of op \"%s\"", node->name);
        node->output = larger;
    }
    node->output[number] = result_of(copy_bytes);
    if (number == node->output_count) node->output_count++;
    return EMP_OK;
}

emp_status emp_graph_builder_connect(emp_graph_builder *b, emp_port from,
                                     emp_op_id consumer, emp_error *err)
{
    EMP_NEED(b);
    if (!is_op(b, from.op) || !is_op(b, consumer) || from.index < 0)
        return EMP_ERROR(EMP_EINVAL, "edge %d:%d -> %d: ops are 0..%d, outputs 0..%d",
                         from.op, from.index, consumer, b->node_count - 1,
                         EMP_MAX_OUTPUTS - 1);
    emp_node *node = &b->node[consumer];
    if (is_full(node->input_count)) {
        emp_port *larger = grow_edges(b, node->input, node->input_count, sizeof *larger);
        if (larger == NULL)
            return EMP_ERROR(EMP_ENOMEM, "inputs of op \"%s\"", node->name);
        node->input = larger;
    }
    node->input[node->input_count++] = from;
    return EMP_OK;
}

emp_status emp_graph_builder_add_control(emp_graph_builder *b, emp_op_id from,
                                         emp_op_id consumer, emp_error *err)
{
    EMP_NEED(b);
    if (!is_op(b, from) || !is_op(b, consumer))
        return EMP_ERROR(EMP_EINVAL, "control edge %d -> %d: ops are 0..%d", from,
                         consumer, b->node_count - 1);
    emp_node *node = &b->node[consumer];
    if (is_full(node->control_count)) {
        emp_op_id *larger =
            grow_edges(b, node->control, node->control_count, sizeof *larger);
        if (larger == NULL)
            return EMP_ERROR(EMP_ENOMEM, "control inputs of op \"%s\"", node->name);
        node->control = larger;
    }
    node->control[node->control_count++] = from;
    return EMP_OK;
}

void emp_graph_builder_set_target(emp_graph_builder *b, emp_op_id op)
{
    if (is_op(b, op)) b->node[op].is_target = true;
}

void emp_graph_builder_assume_kernels(emp_graph_builder *b) { b->has_all_kernels = true; }

void emp_graph_builder_leave_targets(emp_graph_builder *b) { b->leaves_hash = true; }

void emp_graph_builder_set_program_order(emp_graph_builder *b)
{
    b->in_program_order = true;
}

int32_t emp_graph_builder_op_count(const emp_graph_builder *b) { return b->node_count; }

emp_op_id emp_graph_builder_find_expected(const emp_graph_builder *b,
                                          const emp_node_name     *name)
{
    return find_name(b, name->name, name->length, name->hash);
}

emp_op_id emp_graph_builder_find(const emp_graph_builder *b, const char *name,
                                 size_t length)
{
    return find_name(b, name, length, hash_name(name, length));
}

const char *emp_graph_builder_name(const emp_graph_builder *b, emp_op_id op)
{
    return b->node[op].name;
}

const char *emp_graph_builder_type(const emp_graph_builder *b, emp_op_id op)
{
    return b->type_name[b->node[op].type];
}

const emp_op_attrs *emp_graph_builder_attrs(const emp_graph_builder *b, emp_op_id op)
{
    return b->node[op].attrs;
}

int32_t emp_graph_builder_input_count(const emp_graph_builder *b, emp_op_id op)
{
    return b->node[op].input_count;
}

emp_port emp_graph_builder_input(const emp_graph_builder *b, emp_op_id op, int32_t i)
{
    return b->node[op].input[i];
}

int32_t emp_graph_builder_output_count(const emp_graph_builder *b, emp_op_id op)
{
    return b->node[op].output_count;
}

const emp_tensor_info *emp_graph_builder_output(const emp_graph_builder *b, emp_port port)
{
    return &b->node[port.op].output[port.index];
}

// The builder's view of an op's outputs: inference by its type, merged with the file.
static const emp_tensor_info unknown_output = {.shape = {.rank = -1},
                                               .dtype = EMP_DTYPE_FLOAT};

emp_status emp_node_check_output(emp_graph_builder *b, emp_port port, emp_op_id consumer,
                                 emp_error *err)
{
    emp_node          *node = &b->node[port.op];
    const emp_op_type *type = b->type_entry[node->type];

    if (port.index >= 0 && port.index < node->output_count) return EMP_OK;
    if (port.index < 0 || port.index >= EMP_MAX_OUTPUTS ||
        !(type->flags & EMP_OP_OPEN_OUTPUTS))
        return EMP_ERROR(EMP_EFORMAT,
                         "op \"%s\" reads output %d of \"%s\" (%s), which has %d",
                         b->node[consumer].name, port.index, node->name,
                         b->type_name[node->type], node->output_count);

    for (int32_t i = 0; i <= port.index; i++) {
        const emp_tensor_info *info =
            i < node->output_count ? &node->output[i] : &unknown_output;
        b->output_buffer[i] = plain_info(info, &info->shape);
    }
    return keep_outputs(b, node, port.index + 1, err);
}

emp_status emp_node_view(emp_graph_builder *b, emp_op_id op, emp_op_view *view,
                         emp_error *err)
{
    const emp_node *node = &b->node[op];

    if (node->input_count > b->input_buffer_capacity) {
        emp_tensor_info *larger =
            emp_realloc(b->input_buffer, (size_t)node->input_count, sizeof *larger);
        if (larger == NULL) return EMP_ERROR(EMP_ENOMEM, "%d inputs", node->input_count);
        b->input_buffer = larger;
        b->input_buffer_capacity = node->input_count;
    }
    for (int32_t i = 0; i < node->input_count; i++)
        b->input_buffer[i] = b->node[node->input[i].op].output[node->input[i].index];
    *view = (emp_op_view){.type = b->type_entry[node->type],
                          .attrs = node->attrs,
                          .input = b->input_buffer,
                          .input_count = node->input_count,
                          .output = node->output,
                          .output_count = node->output_count};
    return EMP_OK;
}

/* The file's shape where it knows a size, else the inferred one. */
static emp_shape merge_shapes(const emp_shape *file, const emp_shape *inferred)
{
    if (file->rank < 0) return *inferred;
    emp_shape merged = *file;
    if (inferred->rank != file->rank) return merged;
    for (int32_t d = 0; d < merged.rank; d++)
        if (merged.dim[d] < 0) merged.dim[d] = inferred->dim[d];
    return merged;
}

/* Completes an inferred output, whose shape the file may know (NULL: it does not), and makes it plain. */
static emp_status complete_output(emp_graph_builder *b, emp_tensor_info *output,
                                  const emp_shape *in_file)
{
    emp_shape shape =
        in_file != NULL ? merge_shapes(in_file, &output->shape) : output->shape;

    shape_clean(&shape);
    if (output->value != NULL) {
        const bool fits = output->value_count >= 0 &&
                          output->value_count <= EMP_MAX_CONST_VALUES &&
                          emp_shape_is_known(&shape) &&
                          emp_shape_elements(&shape) == output->value_count;
        output->value =
            fits ? keep(b, output->value, (size_t)output->value_count * sizeof(int64_t))
                 : NULL;
        if (fits && output->value == NULL) return EMP_ENOMEM;
    }
    if (output->value == NULL) output->value_count = 0;
    *output = plain_info(output, &shape);
    return EMP_OK;
}

static emp_status check_input_count(const emp_graph_builder *b, const emp_node *node,
                                    emp_error *err)
{
    const emp_op_type *type = b->type_entry[node->type];

    if (node->input_count < type->min_inputs)
        return EMP_ERROR(EMP_EFORMAT, "op \"%s\" of type %s has %d inputs, needs %d",
                         node->name, b->type_name[node->type], node->input_count,
                         type->min_inputs);
    return EMP_OK;
}

/* So many outputs an infer function may have written that failed before it set their count. */
enum { OUTPUTS_FEW = 2 };

/* Runs the type's inference into the output buffer. Inputs of a file that do not fit
 * leave the outputs unknown, since its attributes may say more than we read. */
static emp_status run_inference(emp_graph_builder *b, emp_op_id op, bool strict,
                                int32_t *count, emp_error *err)
{
    const emp_node *node = &b->node[op];
    emp_op_view     view;
    emp_error       reason = {0};
    emp_value_pool  pool = {b->value_buffer, b->value_buffer + EMP_VALUE_BUFFER_SIZE};

    EMP_CHECK(emp_node_view(b, op, &view, err));
    view.pool = &pool;
    for (int32_t i = 0; i < b->dirty_outputs; i++) b->output_buffer[i] = unknown_output;
    b->dirty_outputs = EMP_MAX_OUTPUTS;
    *count = 1;
    emp_status st = view.type->infer(&view, b->output_buffer, count, &reason);
    if (st == EMP_OK || st == EMP_EFORMAT)
        b->dirty_outputs = *count > OUTPUTS_FEW ? *count : OUTPUTS_FEW;
    if (st == EMP_EFORMAT && !strict) {
        st = EMP_OK;
        for (int32_t i = 0; i < *count; i++)
            b->output_buffer[i].shape = EMP_SHAPE_UNKNOWN;
    }
    if (st != EMP_OK)
        return EMP_ERROR(st, "op \"%s\" of type %s: %s", node->name,
                         b->type_name[node->type], reason.msg);
    return EMP_OK;
}

emp_status emp_node_infer(emp_graph_builder *b, emp_op_id op, bool strict, emp_error *err)
{
    emp_node *node = &b->node[op];
    int32_t   count = 0, file_count = node->output_count;

    EMP_CHECK(check_input_count(b, node, err));
    if (node->has_stated_outputs) {
        node->is_inferred = true;
        return EMP_OK;
    }
    EMP_CHECK(run_inference(b, op, strict, &count, err));
    if (count < file_count) count = file_count;
    for (int32_t i = 0; i < count; i++)
        if (complete_output(b, &b->output_buffer[i],
                            i < file_count ? &node->output[i].shape : NULL) != EMP_OK)
            return EMP_ERROR(EMP_ENOMEM, "outputs of op \"%s\"", node->name);
    EMP_CHECK(keep_outputs(b, node, count, err));
    node->is_inferred = true;
    return EMP_OK;
}
