// SPDX-License-Identifier: GPL-3.0-or-later
/* A list of ops with times, as other programs and emplace.Graph.from_ops() of Python write it:
 *
 *     {"format": "emplace-ops-1",
 *      "ops": [{"name": "a", "type": "MatMul", "gpu_s": 0.001, "cpu_s": 0.02, "output_bytes": 4096,
 *               "held_bytes": 4096, "persistent_bytes": 0, "copy_s": 0.0001, "devices": "any",
 *               "together": 0}, ...],
 *      "edges": [["a", "b"], ...], "controls": [["a", "c"], ...]}
 *
 * Only `name` is needed. `devices` is "any", "cpu" or "gpu". Ops with one number in `together` share a device.
 * A copy of the result takes `copy_s` between a GPU and host memory, or as long as its bytes take.
 */
#include <stdio.h>
#include <string.h>

#include "base/collections.h"
#include "graphs/import/notes/readers.h"

enum { PLACE_BYTES = 200, MAX_OPS = 1 << 19 };

typedef struct {
    emp_graph_builder *builder;
    emp_strmap         op_of_name;
} reader;

/* ---- values; a key that is left out keeps the value ---- */

static emp_status get_number(double *value, const emp_json *op, const char *place,
                             const char *key, double maximum, emp_error *err)
{
    const emp_json *number = emp_json_get(op, key);

    if (number == NULL) return EMP_OK;
    *value = emp_json_number(number);
    if ((emp_json_is(number, EMP_JSON_INTEGER) || emp_json_is(number, EMP_JSON_REAL)) &&
        *value >= 0.0 && *value <= maximum)
        return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT, "%s: %s must be a number from 0 to %g", place, key,
                     maximum);
}

static emp_status get_time(int64_t *ns, const emp_json *op, const char *place,
                           const char *key, emp_error *err)
{
    double seconds = -1.0;

    EMP_CHECK(get_number(&seconds, op, place, key, EMP_INSTANCE_MS_MAX * 1e-3, err));
    if (seconds >= 0.0) *ns = emp_instance_ns(seconds * 1e3);
    return EMP_OK;
}

static emp_status get_bytes(int64_t *bytes, const emp_json *op, const char *place,
                            const char *key, emp_error *err)
{
    double value = -1.0;

    EMP_CHECK(get_number(&value, op, place, key, EMP_INSTANCE_BYTES_MAX, err));
    if (value >= 0.0) *bytes = emp_instance_bytes(value);
    return EMP_OK;
}

static emp_status get_text(const char **text, const emp_json *op, const char *place,
                           const char *key, emp_error *err)
{
    const emp_json *value = emp_json_get(op, key);

    if (value == NULL) return EMP_OK;
    *text = emp_json_string(value);
    if (*text != NULL && **text != '\0') return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT, "%s: %s must be a text", place, key);
}

static emp_status get_kinds(uint32_t *kinds, const emp_json *op, const char *place,
                            emp_error *err)
{
    const char *devices = "any";

    EMP_CHECK(get_text(&devices, op, place, "devices", err));
    *kinds = strcmp(devices, "cpu") == 0   ? EMP_KIND_CPU
             : strcmp(devices, "gpu") == 0 ? EMP_KIND_GPU
             : strcmp(devices, "any") == 0 ? EMP_KIND_CPU | EMP_KIND_GPU
                                           : 0;
    if (*kinds != 0) return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT, "%s: devices is \"%.40s\"; it is any, cpu or gpu",
                     place, devices);
}

/* A key that is misspelt would pass as left out. */
static emp_status check_keys(const emp_json *op, const char *place, emp_error *err)
{
    static const char keys[] = " name type gpu_s cpu_s copy_s output_bytes held_bytes "
                               "persistent_bytes devices together ";
    char              word[64];

    for (const emp_json *m = emp_json_first(op); m != NULL; m = emp_json_next(m)) {
        snprintf(word, sizeof word, " %.60s ", emp_json_key(m));
        if (strstr(keys, word) == NULL)
            return EMP_ERROR(EMP_EFORMAT, "%s has the key \"%.60s\"; keys are%s", place,
                             emp_json_key(m), keys);
    }
    return EMP_OK;
}

/* ---- the graph ---- */

static emp_status read_op(reader *r, const emp_json *op, int32_t number, emp_error *err)
{
    emp_stated_op   s = {.cost = {.copy_ns = -1, .colocation = -1}};
    const char     *name = NULL, *type = "Op";
    const emp_json *together = emp_json_get(op, "together");
    char            place[PLACE_BYTES];
    emp_op_id       id;

    snprintf(place, sizeof place, "ops[%d]", number);
    if (!emp_json_is(op, EMP_JSON_OBJECT) || emp_json_get(op, "name") == NULL)
        return EMP_ERROR(EMP_EFORMAT, "%s is no object with a name", place);
    EMP_CHECK(get_text(&name, op, place, "name", err));
    snprintf(place, sizeof place, "op \"%.150s\"", name);
    EMP_CHECK(check_keys(op, place, err));
    EMP_CHECK(get_text(&type, op, place, "type", err));
    EMP_CHECK(get_time(&s.cost.gpu_ns, op, place, "gpu_s", err));
    EMP_CHECK(get_time(&s.cost.cpu_ns, op, place, "cpu_s", err));
    EMP_CHECK(get_time(&s.cost.copy_ns, op, place, "copy_s", err));
    EMP_CHECK(get_bytes(&s.copy_bytes, op, place, "output_bytes", err));
    s.held_bytes = s.copy_bytes;
    EMP_CHECK(get_bytes(&s.held_bytes, op, place, "held_bytes", err));
    EMP_CHECK(get_bytes(&s.persistent_bytes, op, place, "persistent_bytes", err));
    EMP_CHECK(get_kinds(&s.kinds, op, place, err));
    if (together != NULL) {
        const int64_t group = emp_json_integer(together);
        if (!emp_json_is(together, EMP_JSON_INTEGER) || group < 0 || group > INT32_MAX)
            return EMP_ERROR(EMP_EFORMAT, "%s: together must be a whole number from 0 on",
                             place);
        s.cost.colocation = (int32_t)group;
    }
    EMP_CHECK(emp_instance_add(r->builder, name, false, type, &s, &id, err));
    return emp_strmap_set(&r->op_of_name, name, strlen(name), id, err);
}

/* The op that an end of an edge names. */
static emp_status find_end(emp_op_id *op, const reader *r, const emp_json *end,
                           const char *place, emp_error *err)
{
    const char *name = emp_json_string(end);

    *op = name == NULL ? -1 : emp_strmap_get(&r->op_of_name, name, strlen(name));
    if (*op >= 0) return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT, "%s: there is no op \"%.100s\"", place,
                     name != NULL ? name : "(no text)");
}

static emp_status read_edges(reader *r, const emp_json *edges, const char *key,
                             bool is_control, emp_error *err)
{
    char      place[PLACE_BYTES];
    int32_t   number = 0;
    emp_op_id from, to;

    if (edges != NULL && !emp_json_is(edges, EMP_JSON_ARRAY))
        return EMP_ERROR(EMP_EFORMAT, "%s is no list", key);
    const emp_json *edge = edges != NULL ? emp_json_first(edges) : NULL;
    for (; edge != NULL; edge = emp_json_next(edge)) {
        snprintf(place, sizeof place, "%s[%d]", key, number++);
        if (!emp_json_is(edge, EMP_JSON_ARRAY) || emp_json_count(edge) != 2)
            return EMP_ERROR(EMP_EFORMAT, "%s is no pair of names", place);
        EMP_CHECK(find_end(&from, r, emp_json_first(edge), place, err));
        EMP_CHECK(find_end(&to, r, emp_json_next(emp_json_first(edge)), place, err));
        EMP_CHECK(is_control ? emp_graph_builder_add_control(r->builder, from, to, err)
                             : emp_graph_builder_connect(r->builder, (emp_port){from, 0},
                                                         to, err));
    }
    return EMP_OK;
}

emp_status emp_ops_read(emp_graph_builder *builder, emp_reading *reading, emp_error *err)
{
    emp_status      st = EMP_OK;
    reader          r = {.builder = builder};
    const emp_json *ops = emp_json_get(reading->json, "ops");
    int32_t         number = 0;

    if (!emp_json_is(ops, EMP_JSON_ARRAY) || emp_json_count(ops) == 0)
        EMP_FAIL(EMP_EFORMAT, "the list \"ops\" is missing or empty");
    if (emp_json_count(ops) > MAX_OPS)
        EMP_FAIL(EMP_EUNSUPPORTED, "%d ops, at most %d can be read", emp_json_count(ops),
                 MAX_OPS);
    for (const emp_json *op = emp_json_first(ops); op != NULL; op = emp_json_next(op))
        EMP_TRY(read_op(&r, op, number++, err));
    EMP_TRY(read_edges(&r, emp_json_get(reading->json, "edges"), "edges", false, err));
    EMP_TRY(
        read_edges(&r, emp_json_get(reading->json, "controls"), "controls", true, err));

cleanup:
    emp_strmap_clear(&r.op_of_name);
    return st;
}
