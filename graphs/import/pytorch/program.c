// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/pytorch/program.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

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
