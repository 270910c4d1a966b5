// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/graphs/graphs.h"

#include "base/mem.h"
#include "graphs/workloads/workloads.h"
#include "tests/test.h"

static emp_graph *kept[512];
static int        kept_count;

emp_graph *graph_keep(emp_graph *g)
{
    cr_assert_lt(kept_count, (int)COUNT(kept));
    return kept[kept_count++] = g;
}

emp_graph *graph_load(const char *source, emp_import_notes *notes,
                      emp_import_devices *devices)
{
    emp_graph *step = NULL;
    SCOPED(emp_import_notes, emp_import_notes_clear) own = {0};

    ASSERT_OK(emp_source_load_noted(&step, NULL, devices, notes != NULL ? notes : &own,
                                    source, &err));
    return graph_keep(step);
}

emp_graph *graph_import(const char *path, emp_import_notes *notes,
                        emp_import_devices *devices)
{
    emp_import_params params = emp_import_params_default();
    emp_graph        *graph = NULL;

    params.notes = notes;
    ASSERT_OK(emp_import_load(&graph, devices, path, &params, &err));
    return graph;
}

emp_graph *graph_build(const char *spec)
{
    emp_graph *graph = NULL;

    ASSERT_OK(emp_workload_build(&graph, spec, &err));
    return graph_keep(graph);
}

const char *graph_source_path(const char *path)
{
    const char *folder = getenv("EMP_SOURCE_DIR");

    return scratch_print("%s/%s", folder != NULL ? folder : ".", path);
}

void graph_expect_refused(const char *source, emp_status status, const char *part)
{
    emp_graph *step = NULL;
    emp_error  err = {0};

    emp_status got = emp_source_load(&step, NULL, NULL, source, &err);
    cr_expect(got != EMP_OK && (got == status || status == EMP_OK),
              "%s, where \"%s\" is wanted: %d, %s", source, part, got, err.msg);
    cr_expect_not_null(strstr(err.msg, part), "no \"%s\" in \"%s\"", part, err.msg);
    cr_expect_null(step);
    emp_graph_destroy(step);
}

void graph_expect_faults(const char *name, const graph_fault *faults, size_t count,
                         emp_status status)
{
    const long before = emp_mem_live_blocks();

    for (size_t i = 0; i < count; i++) {
        scratch_write_json(name, faults[i].text);
        graph_expect_refused(scratch_path(name), status, faults[i].part);
        cr_expect_eq(emp_mem_live_blocks(), before, "%s", faults[i].part);
    }
}

void graph_tear_down(void)
{
    while (kept_count > 0) emp_graph_destroy(kept[--kept_count]);
    scratch_remove();
    expect_all_freed();
}

void graph_survives(const char *source)
{
    emp_graph *step = NULL;

    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_source_load(&step, NULL, NULL, source, NULL),
                                      cr_assert_null(step));
    emp_graph_destroy(step);
}

const char *graph_replace(const char *text, const char *from, const char *to)
{
    static char changed[1 << 14];
    const char *place = strstr(text, from);

    cr_assert_not_null(place, "%s", from);
    cr_assert_lt(strlen(text) + strlen(to), sizeof changed);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(place - text), text, to,
             place + strlen(from));
    return changed;
}

static bool is_among(const char *const *list, int32_t count, const char *words)
{
    for (int32_t i = 0; i < count && i < EMP_NOTES_MAX; i++)
        if (list[i] != NULL && strstr(list[i], words) != NULL) return true;
    return false;
}

bool graph_is_noted(const emp_import_notes *notes, const char *words)
{
    return is_among(notes->assumption, notes->assumption_count, words) ||
           is_among(notes->warning, notes->warning_count, words) ||
           is_among(notes->problem, notes->problem_count, words);
}

emp_op_id graph_find(const emp_graph *g, const char *name)
{
    emp_op_id    found = emp_graph_find(g, name);
    const size_t length = strlen(name);

    for (emp_op_id op = 0, end = found < 0 ? g->op_count : 0; op < end; op++) {
        const size_t size = strlen(g->name[op]);
        if (size <= length || g->name[op][size - length - 1] != '/' ||
            strcmp(g->name[op] + size - length, name) != 0)
            continue;
        cr_assert_lt(found, 0, "two ops are \"%s\"", name);
        found = op;
    }
    cr_assert_geq(found, 0, "no op \"%s\"", name);
    return found;
}

const char *graph_type(const emp_graph *g, const char *name)
{
    return emp_graph_op_type(g, graph_find(g, name));
}

int32_t graph_count_type(const emp_graph *g, const char *type)
{
    int32_t count = 0;

    for (emp_op_id op = 0; op < g->op_count; op++)
        count += strcmp(emp_graph_op_type(g, op), type) == 0;
    return count;
}

bool graph_reads(const emp_graph *g, const char *consumer, const char *producer)
{
    emp_op_id op = graph_find(g, consumer), from = graph_find(g, producer);

    for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++)
        if (g->tensor[g->input[i]].producer == from) return true;
    return false;
}

bool graph_waits(const emp_graph *g, const char *name, const char *before)
{
    emp_op_id op = graph_find(g, name), from = graph_find(g, before);

    for (int32_t i = g->control_offset[op]; i < g->control_offset[op + 1]; i++)
        if (g->control[i] == from) return true;
    return false;
}

bool graph_is_bound(const emp_graph *g, const char *name, const char *other)
{
    return g->op[graph_find(g, name)].colocation_class ==
           g->op[graph_find(g, other)].colocation_class;
}

void graph_expect_types(const emp_graph *g, const char *counts)
{
    char    type[128];
    int32_t count;

    for (int at; sscanf(counts, " %127[^=]=%d%n", type, &count, &at) == 2; counts += at)
        cr_expect_eq(graph_count_type(g, type), count, "%d of %s",
                     graph_count_type(g, type), type);
    cr_assert_eq(*counts, '\0', "%s", counts);
}

static void expect_pairs(const emp_graph *g, const char *pairs, const char *verb,
                         bool (*holds)(const emp_graph *, const char *, const char *))
{
    char op[256], other[256];

    for (int at; sscanf(pairs, " %255[^<]<%255s%n", op, other, &at) == 2; pairs += at) {
        const bool is_not = other[0] == '!';
        cr_expect_eq(holds(g, op, other + is_not), !is_not, "%s %s%s %s", op,
                     is_not ? "does not " : "", verb, other + is_not);
    }
    cr_assert_eq(*pairs, '\0', "%s", pairs);
}

void graph_expect_reads(const emp_graph *g, const char *pairs)
{
    expect_pairs(g, pairs, "read", graph_reads);
}

void graph_expect_waits(const emp_graph *g, const char *pairs)
{
    expect_pairs(g, pairs, "wait for", graph_waits);
}

double graph_class_flops(const emp_graph *g, emp_op_class op_class)
{
    double flops = 0;

    for (emp_op_id op = 0; op < g->op_count; op++)
        if (g->op[op].cost->op_class == op_class) flops += g->op[op].cost->flops;
    return flops;
}
