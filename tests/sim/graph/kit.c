// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/sim/graph/kit.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
    char      letter;
    emp_dtype dtype;
} letters[] = {{'f', EMP_DTYPE_FLOAT}, {'d', EMP_DTYPE_DOUBLE},   {'i', EMP_DTYPE_INT32},
               {'l', EMP_DTYPE_INT64}, {'b', EMP_DTYPE_BOOL},     {'s', EMP_DTYPE_STRING},
               {'h', EMP_DTYPE_HALF},  {'r', EMP_DTYPE_RESOURCE}, {'u', EMP_DTYPE_UINT8},
               {'k', EMP_DTYPE_UINT64}};
enum { LETTERS = COUNT(letters) };

/* Reads numbers up to `close` into `number`; '?' is -1. Returns what follows. */
static const char *read_numbers(const char *text, char close, int64_t *number,
                                int32_t *count)
{
    *count = 0;
    while (*text != close) {
        char *end = NULL;
        cr_assert_lt(*count, EMP_MAX_CONST_VALUES);
        if (*text == '?') {
            number[(*count)++] = -1;
            text++;
        } else {
            number[(*count)++] = strtoll(text, &end, 10);
            cr_assert_neq(end, text, "not a number: %s", text);
            text = end;
        }
        if (*text == ',') text++;
    }
    return text + 1;
}

emp_graph_builder *kit_begin(void)
{
    emp_graph_builder *b = NULL;

    cr_assert_eq(emp_graph_builder_create(&b, NULL), EMP_OK);
    return b;
}

emp_port kit_tensor(emp_graph_builder *b, const char *name, const char *text)
{
    emp_op_attrs attrs = {.has_shape = true, .shape = EMP_SHAPE_UNKNOWN};
    int64_t      number[EMP_MAX_CONST_VALUES];
    int32_t      count;
    const char  *type = "Placeholder", *at = text;

    if (*at == '&') {
        type = "VariableV2";
        at++;
    }
    for (int i = 0; i < LETTERS; i++)
        if (letters[i].letter == *at) attrs.dtype = letters[i].dtype;
    cr_assert_neq(attrs.dtype, EMP_DTYPE_NONE, "no element type in %s", text);
    at++;
    if (*at == '[') {
        at = read_numbers(at + 1, ']', number, &attrs.shape.rank);
        for (int32_t d = 0; d < attrs.shape.rank; d++) attrs.shape.dim[d] = number[d];
    } else {
        cr_assert_eq(*at++, '?', "no shape in %s", text);
    }
    if (at[0] == '=') {
        at = read_numbers(at + 2, '}', number, &count);
        attrs.value = number;
        attrs.value_count = count;
        type = "Const";
    }
    cr_assert_eq(*at, '\0', "trailing text in %s", text);
    return kit_op(b, name, type, &attrs, 0);
}

emp_port kit_op(emp_graph_builder *b, const char *name, const char *type,
                const emp_op_attrs *attrs, int count, ...)
{
    static const emp_op_attrs none;
    emp_port                  input[64];
    emp_op_id                 op = -1;
    emp_error                 err = {0};
    va_list                   arguments;

    cr_assert_leq(count, 64);
    va_start(arguments, count);
    for (int i = 0; i < count; i++) input[i] = va_arg(arguments, emp_port);
    va_end(arguments);
    emp_status st = emp_graph_builder_add(b, name, type, attrs ? attrs : &none, input,
                                          count, NULL, 0, &op, &err);
    cr_assert_eq(st, EMP_OK, "%s: %s", name, err.msg);
    return (emp_port){op, 0};
}

static void append(char *text, size_t size, const char *more)
{
    size_t used = strlen(text);

    snprintf(text + used, size - used, "%s", more);
}

static void append_number(char *text, size_t size, int64_t number, bool is_first)
{
    char digits[32];

    snprintf(digits, sizeof digits, "%s%" PRId64, is_first ? "" : ",", number);
    if (number < 0) snprintf(digits, sizeof digits, "%s?", is_first ? "" : ",");
    append(text, size, digits);
}

static void append_tensor(char *text, size_t size, const emp_tensor_info *info)
{
    char letter[3] = {info->is_ref ? '&' : '\0'};

    for (int i = 0; i < LETTERS; i++)
        if (letters[i].dtype == info->dtype) letter[strlen(letter)] = letters[i].letter;
    append(text, size, letter);
    if (info->shape.rank < 0) {
        append(text, size, "?");
        return;
    }
    append(text, size, "[");
    for (int32_t d = 0; d < info->shape.rank; d++)
        append_number(text, size, info->shape.dim[d], d == 0);
    append(text, size, "]");
    if (info->value == NULL) return;
    append(text, size, "={");
    for (int32_t i = 0; i < info->value_count; i++)
        append_number(text, size, info->value[i], i == 0);
    append(text, size, "}");
}

const char *kit_outputs(const emp_graph_builder *b, emp_op_id op, char *text, size_t size)
{
    text[0] = '\0';
    for (int32_t i = 0; i < emp_graph_builder_output_count(b, op); i++) {
        if (i > 0) append(text, size, " ");
        append_tensor(text, size, emp_graph_builder_output(b, (emp_port){op, i}));
    }
    return text;
}

emp_graph *kit_finish(emp_graph_builder *b)
{
    emp_error  err = {0};
    emp_graph *graph = NULL;

    cr_assert_eq(emp_graph_builder_finish(b, &graph, &err), EMP_OK, "%s", err.msg);
    emp_graph_builder_destroy(b);
    return graph;
}

emp_op_id kit_find(const emp_graph *graph, const char *name)
{
    emp_op_id op = emp_graph_find(graph, name);

    cr_assert_geq(op, 0, "no op \"%s\"", name);
    return op;
}

void kit_expect_outputs(const emp_graph_builder *b, const char *op, const char *want)
{
    char text[512];

    cr_expect_str_eq(kit_outputs(b, kit_port(b, op).op, text, sizeof text), want,
                     "%s has %s, not %s", op, text, want);
}

emp_port kit_port(const emp_graph_builder *b, const char *name)
{
    const char *colon = strchr(name, ':');
    size_t      length = colon == NULL ? strlen(name) : (size_t)(colon - name);
    emp_op_id   op = emp_graph_builder_find(b, name, length);

    cr_assert_geq(op, 0, "no op %s", name);
    return (emp_port){op, colon == NULL ? 0 : (int32_t)strtol(colon + 1, NULL, 10)};
}

static void add_op(emp_graph_builder *b, const char *name, char *call,
                   const emp_op_attrs *attrs)
{
    emp_port  in[16];
    int32_t   count = 0;
    emp_op_id op;
    emp_error err = {0};
    char     *rest, *type = strtok_r(call, " @", &rest);

    for (char *word; (word = strtok_r(NULL, " @", &rest)) != NULL; count++)
        in[count] = kit_port(b, word);
    cr_assert_eq(
        emp_graph_builder_add(b, name, type, attrs, in, count, NULL, 0, &op, &err),
        EMP_OK, "%s: %s", name, err.msg);
}

void kit_ops(emp_graph_builder *b, const char *text, ...)
{
    static const emp_op_attrs none;
    char                      copy[2048], *rest, *names;
    va_list                   attrs;

    cr_assert_lt(snprintf(copy, sizeof copy, "%s", text), (int)sizeof copy);
    va_start(attrs, text);
    for (char *s = strtok_r(copy, ";", &rest); s; s = strtok_r(NULL, ";", &rest)) {
        char *value = strstr(s, " = ");
        cr_assert_not_null(value, "%s", s);
        *value = '\0';
        value += 3;
        const bool is_tensor = strchr("[?", value[1 + (value[0] == '&')]) != NULL;
        for (char *name = strtok_r(s, ", ", &names); name != NULL;
             name = strtok_r(NULL, ", ", &names)) {
            if (is_tensor)
                kit_tensor(b, name, value);
            else
                add_op(b, name, value,
                       strchr(value, '@') ? va_arg(attrs, const emp_op_attrs *) : &none);
        }
    }
    va_end(attrs);
}

int kit_inputs(emp_graph_builder *b, const char *texts, emp_port *input)
{
    char copy[256], name[16];
    int  count = 0;

    snprintf(copy, sizeof copy, "%s", texts);
    for (char *text = strtok(copy, " "); text != NULL; text = strtok(NULL, " ")) {
        snprintf(name, sizeof name, "in%d", count);
        input[count++] = kit_tensor(b, name, text);
    }
    return count;
}

const emp_op *kit_fact(const emp_graph *graph, const char *name)
{
    return &graph->op[kit_find(graph, name)];
}

const emp_op_cost *kit_cost(const emp_graph *graph, const char *name)
{
    return kit_fact(graph, name)->cost;
}
