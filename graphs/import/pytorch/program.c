// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/pytorch/program.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "graphs/import/pytorch/lower.h"
#include "graphs/import/pytorch/pt2.h"

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

emp_dtype emp_torch_dtype(const char *name)
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
        {"float8_e8m0fnu", "float4_e2m1fn_x2", EMP_DTYPE_UINT8},
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

/* Graphs of PyTorch: torch.fx graphs as JSON, archives of torch.export. */

/* ---- notes of a file ---- */

static void say_how_much_is_known(emp_text *n, const emp_torch_calls *c)
{
    const emp_torch_program *p = c->program;
    int32_t                  unknown = 0;
    const char              *example = "";

    for (int32_t i = 0; i < p->node_count; i++) {
        if (p->node[i].what != EMP_TORCH_CALL) continue;
        if (c->op_of[i] != NULL && c->op_of[i]->type != NULL) continue;
        if (unknown++ == 0) example = p->node[i].target;
    }
    emp_text_add(n, "A %s of %d node%s, ", p->kind, p->node_count,
                 emp_units_plural(p->node_count));
    if (unknown == 0)
        emp_text_add(n, "all known");
    else
        emp_text_add(n, "%d of unknown ops, which count as element-wise (%.60s%s)",
                     unknown, example, unknown > 1 ? ", ..." : "");
}

static void say_roles(emp_text *n, const emp_torch_roles *r)
{
    emp_text_add(
        n,
        ". It has %d parameter%s, %d state%s of an optimizer, %d buffer%s and %d input%s",
        r->count[EMP_TORCH_PARAMETER], emp_units_plural(r->count[EMP_TORCH_PARAMETER]),
        r->count[EMP_TORCH_STATE], emp_units_plural(r->count[EMP_TORCH_STATE]),
        r->count[EMP_TORCH_BUFFER], emp_units_plural(r->count[EMP_TORCH_BUFFER]),
        r->count[EMP_TORCH_INPUT], emp_units_plural(r->count[EMP_TORCH_INPUT]));
    if (r->by_graph + r->by_name == 0) return;
    emp_text_add(n, "; assumed: %d role%s by what the step gives back, %d by name",
                 r->by_graph, emp_units_plural(r->by_graph), r->by_name);
}

static void say_parameters(emp_text *n, const emp_torch_program *p)
{
    int64_t elements = 0;

    for (int32_t i = 0; i < p->node_count; i++) {
        if (p->node[i].role != EMP_TORCH_PARAMETER || p->node[i].result_count != 1)
            continue;
        int64_t own = emp_shape_elements(&p->node[i].result[0].shape);
        if (__builtin_add_overflow(elements, own, &elements)) elements = INT64_MAX;
    }
    if (p->stated_parameters >= 0 && p->stated_parameters != elements)
        emp_text_add(n,
                     ". The file states %" PRId64 " parameters, and these have %" PRId64,
                     p->stated_parameters, elements);
    emp_text_add(n,
                 p->hides_ties
                     ? ". It was exported on \"meta\", so parameters that share a tensor "
                       "are counted each."
                     : ".");
}

static void say_modules(emp_text *n, const emp_torch_program *p)
{
    for (int32_t i = 0; i < p->node_count; i++)
        if (p->node[i].module != NULL) return;
    emp_text_add(n, " It names no modules, so there is no device_map of it.");
}

/* torch.cond and its like take graphs as operands, which no op of the table stands for. */
static void warn_of_graphs_within(emp_import_notes *notes, const emp_torch_calls *c)
{
    for (int32_t i = 0; i < c->program->node_count; i++) {
        const emp_torch_node *n = &c->program->node[i];
        if (n->what == EMP_TORCH_CALL && strstr(n->target, "higher_order") != NULL &&
            (c->op_of[i] == NULL || c->op_of[i]->type == NULL))
            emp_import_notes_warn(notes,
                                  "%.80s (%.80s) runs a graph of its own, whose work is "
                                  "not counted",
                                  n->name, n->target);
    }
}

/* ---- reading ---- */

static emp_status read_archive(emp_torch_program *program, emp_slice archive,
                               emp_import_notes *notes, emp_error *err)
{
    emp_status        st = EMP_OK;
    emp_json_document d = {0};
    emp_pt2_weights   weights = {0};
    char             *json = NULL;
    size_t            size = 0;

    EMP_TRY(emp_pt2_unpack(archive.data, archive.size, &json, &size, err));
    EMP_TRY(emp_json_parse(&d, json, size, err));
    EMP_TRY(emp_pt2_weights_read(&weights, archive.data, archive.size, err));
    EMP_TRY(emp_pt2_read(program, d.root, &weights, notes, err));

cleanup:
    emp_pt2_weights_clear(&weights);
    emp_json_clear(&d);
    emp_free(json);
    return st;
}

emp_status emp_pytorch_lower(emp_graph_builder *builder, emp_reading *r,
                             emp_torch_program *program, emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_torch_calls calls = {0};
    emp_torch_roles roles = {0};
    emp_text        n = {r->devices->note, sizeof r->devices->note, 0};

    EMP_TRY(emp_torch_calls_init(&calls, program, err));
    EMP_TRY(emp_torch_roles_find(&roles, &calls, err));
    EMP_TRY(emp_torch_lower(builder, &calls, &roles, err));
    warn_of_graphs_within(r->notes, &calls);
    say_how_much_is_known(&n, &calls);
    say_roles(&n, &roles);
    say_parameters(&n, program);
    say_modules(&n, program);

cleanup:
    emp_torch_roles_clear(&roles);
    emp_torch_calls_clear(&calls);
    return st;
}

emp_status emp_pytorch_read(emp_graph_builder *builder, emp_reading *r, emp_error *err)
{
    emp_torch_program program = {0};
    emp_status        st = r->json != NULL ? emp_fx_json_read(&program, r->json, err)
                                           : read_archive(&program, r->bytes, r->notes, err);

    if (st == EMP_OK) st = emp_pytorch_lower(builder, r, &program, err);
    emp_torch_program_clear(&program);
    return st;
}
