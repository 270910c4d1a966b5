// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/calibrate/cells.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "bench/calibrate/micro.h"
#include "bench/tables/paper.h"
#include "graphs/load.h"

/* ---- the paper's cells ------------------------------------------------------------- */

enum { DEVICES = 2 };

static const char *const device_names[DEVICES] = {"cpu", "gpu"};

/* All cells with a figure: numbers first, then those out of memory. */
static int32_t list_cells(emp_cell *cells)
{
    int32_t count = 0;

    for (int wants_oom = 0; wants_oom <= 1; wants_oom++) {
        for (int32_t i = 0; i < EMP_PAPER_TASKS; i++) {
            for (int32_t d = 0; d < DEVICES; d++) {
                double   s = emp_paper_step_s(i, device_names[d]);
                emp_cell cell = {
                    .spec = emp_paper_task[i].spec, .device = d, .published_s = s};
                if (isnan(s) || isinf(s) != wants_oom) continue;
                snprintf(cell.name, sizeof cell.name, "%s:%s", emp_paper_task[i].key,
                         device_names[d]);
                cells[count++] = cell;
            }
        }
    }
    return count;
}

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

static emp_status fail_unknown(const char *text, size_t length, const emp_cell *known,
                               int32_t count, emp_error *err)
{
    char   list[256] = "all, cpu, gpu";
    size_t used = strlen(list);

    for (int32_t i = 0; i < count && used < sizeof list; i++) {
        used += (size_t)snprintf(list + used, sizeof list - used, ", %s", known[i].name);
    }
    return emp_error_set(err, EMP_EINVAL, __FILE__, __LINE__,
                         "no cell \"%.*s\"; there are %s", (int)length, text, list);
}

emp_status emp_cells_select(const char *list, emp_cell cells[EMP_MAX_CELLS],
                            int32_t *count, emp_error *err)
{
    emp_cell known[DEVICES * EMP_PAPER_TASKS];
    int32_t  known_count = list_cells(known);
    bool     is_chosen[DEVICES * EMP_PAPER_TASKS] = {false};

    *count = 0;
    for (const char *at = list; at != NULL;) {
        size_t length = strcspn(at, ",");
        bool   is_known = false;
        for (int32_t i = 0; i < known_count; i++) {
            if (!is_word(at, length, known[i].name) && !is_word(at, length, "all") &&
                !is_word(at, length, device_names[known[i].device]))
                continue;
            is_chosen[i] = is_known = true;
        }
        if (!is_known) return fail_unknown(at, length, known, known_count, err);
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    for (int32_t i = 0; i < known_count; i++) {
        if (is_chosen[i]) cells[(*count)++] = known[i];
    }
    return EMP_OK;
}

/* ---- the oracle -------------------------------------------------------------------- */

struct emp_cell_oracle {
    const emp_cell *cell;
    int32_t         count;
    emp_graph      *graph[EMP_MAX_CELLS];        /* owned by the first cell of a spec */
    emp_device_id  *device_of_op[EMP_MAX_CELLS]; /* legal */
};

/* The lowest cell of the same spec. */
static int32_t first_of(const emp_cell_oracle *o, int32_t i)
{
    int32_t first = 0;

    while (strcmp(o->cell[first].spec, o->cell[i].spec) != 0) first++;
    return first;
}

static emp_status add_cell(emp_cell_oracle *o, int32_t i, const emp_machine *machine,
                           const emp_runtime *runtime, emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_problem *problem = NULL;
    int32_t      first = first_of(o, i);

    if (first == i)
        EMP_TRY(emp_source_load(&o->graph[i], NULL, NULL, o->cell[i].spec, err));
    o->graph[i] = o->graph[first];
    int32_t op_count = o->graph[i]->op_count;
    EMP_TRY(EMP_ALLOC(o->device_of_op[i], (size_t)op_count));
    for (int32_t op = 0; op < op_count; op++) o->device_of_op[i][op] = o->cell[i].device;
    EMP_TRY(emp_problem_create(&problem, o->graph[i], machine, runtime, o->cell[i].spec,
                               err));
    emp_problem_legalize(problem, o->device_of_op[i]);

cleanup:
    emp_problem_destroy(problem);
    return st;
}

emp_status emp_cell_oracle_create(emp_cell_oracle **out, const emp_cell *cells,
                                  int32_t count, const emp_machine *machine,
                                  const emp_runtime *runtime, emp_error *err)
{
    emp_status       st = EMP_OK;
    emp_cell_oracle *o = EMP_NEW(emp_cell_oracle);

    *out = NULL;
    if (o == NULL) EMP_FAIL(EMP_ENOMEM, "oracle of %d cells", count);
    o->cell = cells;
    o->count = count;
    for (int32_t i = 0; i < count; i++) EMP_TRY(add_cell(o, i, machine, runtime, err));
    *out = o;
    o = NULL;

cleanup:
    emp_cell_oracle_destroy(o);
    return st;
}

void emp_cell_oracle_destroy(emp_cell_oracle *oracle)
{
    if (oracle == NULL) return;
    for (int32_t i = 0; i < oracle->count; i++) {
        if (first_of(oracle, i) == i) emp_graph_destroy(oracle->graph[i]);
        emp_free(oracle->device_of_op[i]);
    }
    emp_free(oracle);
}

/* The largest graphs come last in the table, so they are begun first. */
emp_status emp_cell_oracle_run(const emp_cell_oracle *oracle, int32_t count,
                               const emp_machine *machine, const emp_runtime *runtime,
                               int32_t threads, emp_sim_result *result, emp_error *err)
{
    emp_status status[EMP_MAX_CELLS];
    emp_error  error[EMP_MAX_CELLS] = {0};

#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int32_t i = count - 1; i >= 0; i--) {
        status[i] =
            emp_step_predict(&result[i], oracle->graph[i], oracle->device_of_op[i],
                             machine, runtime, oracle->cell[i].spec, &error[i]);
    }
    for (int32_t i = 0; i < count; i++) {
        if (status[i] != EMP_OK) {
            return EMP_ERROR(status[i], "cell %s: %s", oracle->cell[i].name,
                             error[i].msg);
        }
    }
    return EMP_OK;
}
