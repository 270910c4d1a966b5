// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/calibrate/calibrate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/units.h"
#include "bench/calibrate/micro.h"
#include "bench/tables/paper.h"
#include "graphs/load.h"

/* ---- free constants ---------------------------------------------------------------- */

#define IN_DEVICE(member)  offsetof(emp_device, member)
#define IN_RUNTIME(member) offsetof(emp_runtime, member)

const emp_constant emp_constants[EMP_CONSTANTS] = {
    {"issue", EMP_CALIBRATE_RUNTIME, "us", 1e-6, 5e-6, 40e-6,
     "a bare kernel launch on Kepler takes 5 us; published unrolled LSTMs imply 28 us at "
     "2.3 GHz",
     IN_RUNTIME(events.issue_s)},
    {"skinny_factor", EMP_CALIBRATE_GPU, "", 1.0, 1.0, 4.0,
     "no faster than square products; at worst a quarter of their rate",
     IN_DEVICE(gemm_skinny_factor)},
    {"conv_factor", EMP_CALIBRATE_GPU, "", 1.0, 0.5, 2.0,
     "1 is cuDNN against its products on Maxwell GPUs; half or twice as fast at most",
     IN_DEVICE(conv_factor)},
    {"gemm_core", EMP_CALIBRATE_CPU, "GFLOP/s", 1e9, 5e9, 60.8e9,
     "at best 32 FLOP per cycle at the AVX base clock of 1.9 GHz",
     IN_DEVICE(gemm_core_flops_per_s)},
    {"conv_core", EMP_CALIBRATE_CPU, "GFLOP/s", 1e9, 1e9, 60.8e9,
     "at best 32 FLOP per cycle at the AVX base clock of 1.9 GHz",
     IN_DEVICE(conv_core_flops_per_s)},
    {"scaling_exponent", EMP_CALIBRATE_CPU, "", 1.0, 0.5, 1.0,
     "1 is perfect scaling; at 0.5 the 18 cores would do the work of 4",
     IN_DEVICE(scaling_exponent)},
};

static emp_device_kind kind_of(emp_calibrate_file file)
{
    return file == EMP_CALIBRATE_CPU ? EMP_DEVICE_CPU : EMP_DEVICE_GPU;
}

double emp_constant_get(const emp_constant *c, const emp_machine *machine,
                        const emp_runtime *runtime)
{
    double      value;
    const char *from = (const char *)runtime;

    if (c->file == EMP_CALIBRATE_LINKS)
        from = (const char *)&machine->link[0];
    else if (c->file != EMP_CALIBRATE_RUNTIME)
        from = (const char *)emp_machine_first(machine, kind_of(c->file));
    memcpy(&value, from + c->offset, sizeof value);
    return value;
}

/* All links alike: so are all routes, within one host. */
static void set_links(emp_machine *m, size_t offset, double value)
{
    for (int32_t i = 0; i < m->link_count; i++)
        memcpy((char *)&m->link[i] + offset, &value, sizeof value);
    for (int32_t i = 0; i < m->device_count; i++) {
        for (int32_t j = 0; j < m->device_count; j++) {
            if (m->route[i][j].link_count == 0) continue;
            m->route[i][j].bytes_per_s = m->link[0].bytes_per_s;
            m->route[i][j].latency_s = m->link[0].latency_s;
        }
    }
}

void emp_constant_set(const emp_constant *c, emp_machine *machine, emp_runtime *runtime,
                      double value)
{
    if (c->file == EMP_CALIBRATE_RUNTIME) {
        memcpy((char *)runtime + c->offset, &value, sizeof value);
        return;
    }
    if (c->file == EMP_CALIBRATE_LINKS) {
        set_links(machine, c->offset, value);
        return;
    }
    for (int32_t i = 0; i < machine->device_count; i++) {
        emp_device *device = &machine->device[i];
        if (device->kind != kind_of(c->file)) continue;
        memcpy((char *)device + c->offset, &value, sizeof value);
    }
}

const char *emp_constant_section(const emp_constant *c)
{
    const size_t passes = offsetof(emp_device, passes);

    if (c->file == EMP_CALIBRATE_RUNTIME) return "";
    if (c->file == EMP_CALIBRATE_CPU) return "cpu";
    return c->offset >= passes && c->offset < passes + sizeof(emp_passes) ? "passes"
                                                                          : "gpu";
}

const char *emp_constant_format(const emp_constant *c, double value, int digits,
                                char *buffer, size_t size)
{
    emp_units_format_number(value / c->scale, digits, buffer, size);
    size_t used = strlen(buffer);
    snprintf(buffer + used, size - used, "%s%s", c->unit[0] == '\0' ? "" : " ", c->unit);
    return buffer;
}

const char *emp_calibrate_file_path(emp_calibrate_file file, const emp_machine *machine,
                                    const emp_runtime *runtime)
{
    if (file == EMP_CALIBRATE_RUNTIME) return runtime->path;
    return emp_machine_first_model(machine, kind_of(file))->path;
}

const char *emp_calibrate_file_name(emp_calibrate_file file, const emp_machine *machine,
                                    const emp_runtime *runtime)
{
    const char *path = emp_calibrate_file_path(file, machine, runtime);
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

const char *emp_constant_interval(const emp_constant *constant, const emp_fit *fit,
                                  int32_t number, char *text, size_t size)
{
    char low[48], high[48];

    if (!fit->is_fitted[number]) return "kept: not determined";
    if (fit->is_at_bound[number]) return "at its bound";
    if (isnan(fit->low[number])) return "none: nothing to spare";
    snprintf(text, size, "%s .. %s",
             emp_constant_format(constant, fit->low[number], 3, low, sizeof low),
             emp_constant_format(constant, fit->high[number], 3, high, sizeof high));
    return text;
}

enum { DIGITS = 5 };

/* ---- the model that is fitted ------------------------------------------------------ */

struct model {
    emp_calibration            *calibration;
    const emp_cell_oracle      *oracle;
    const emp_calibrate_params *params;
};

static void set_constants(emp_calibration *c, const double *value)
{

    for (int32_t j = 0; j < EMP_CONSTANTS; j++) {
        emp_constant_set(&emp_constants[j], c->machine, &c->runtime, value[j]);
    }
}

static emp_status run_model(void *context, const double *parameter, double *value,
                            emp_error *err)
{
    const struct model *m = (const struct model *)context;
    emp_calibration    *c = m->calibration;
    emp_status          st = EMP_OK;
    emp_sim_result     *result = EMP_NEW_ARRAY(emp_sim_result, (size_t)c->timed_count);

    if (result == NULL) EMP_FAIL(EMP_ENOMEM, "results of %d cells", c->timed_count);
    set_constants(c, parameter);
    EMP_TRY(emp_cell_oracle_run(m->oracle, c->timed_count, c->machine, &c->runtime,
                                m->params->threads, result, err));
    for (int32_t i = 0; i < c->timed_count; i++) {
        value[i] = (double)result[i].step_time_ns * 1e-9;
    }

cleanup:
    emp_free(result);
    return st;
}

static void on_progress(void *context, double done_frac)
{
    const struct model *m = (const struct model *)context;

    if (m->params->on_progress != NULL) {
        m->params->on_progress(m->params->context, done_frac);
    }
}

/* ---- fitting ----------------------------------------------------------------------- */

static emp_status check_start(const emp_calibration *c, emp_error *err)
{

    for (int32_t j = 0; j < EMP_CONSTANTS; j++) {
        const emp_constant *k = &emp_constants[j];
        char                value[48], low[48], high[48];
        if (c->before[j] >= k->low && c->before[j] <= k->high) continue;
        return EMP_ERROR(
            EMP_EINVAL, "%s: %s is %s; a fit keeps it within %s .. %s: %s",
            emp_calibrate_file_path(k->file, c->machine, &c->runtime), k->name,
            emp_constant_format(k, c->before[j], DIGITS, value, sizeof value),
            emp_constant_format(k, k->low, DIGITS, low, sizeof low),
            emp_constant_format(k, k->high, DIGITS, high, sizeof high), k->why);
    }
    return EMP_OK;
}

static emp_status load(emp_calibration *c, const emp_calibrate_params *params,
                       emp_error *err)
{

    EMP_CHECK(emp_machine_load(&c->machine, params->machine, err));
    EMP_CHECK(emp_runtime_init(&c->runtime, params->runtime, err));
    if (c->runtime.rules != EMP_RULES_EVENTS) {
        return EMP_ERROR(EMP_EINVAL,
                         "nothing of runtime %s is fitted: its rules are '%s'",
                         c->runtime.name, emp_rules_str(c->runtime.rules));
    }
    if (emp_machine_count(c->machine, EMP_DEVICE_GPU) == 0) {
        return EMP_ERROR(EMP_EINVAL,
                         "machine %s has no GPU; a fit needs a CPU and a GPU model",
                         c->machine->name);
    }
    if (c->machine->model_count > EMP_DEVICE_KINDS) {
        return EMP_ERROR(EMP_EINVAL,
                         "machine %s has several models of GPUs or CPUs; a fit needs one "
                         "of each",
                         c->machine->name);
    }
    c->cells = params->cells;
    c->cell_count = params->cell_count;
    while (c->timed_count < c->cell_count &&
           isfinite(c->cells[c->timed_count].published_s))
        c->timed_count++;
    if (c->timed_count == 0) {
        return EMP_ERROR(EMP_EINVAL,
                         "none of the cells has a step time to fit to; add one that "
                         "fits in memory");
    }
    for (int32_t j = 0; j < EMP_CONSTANTS; j++) {
        c->before[j] = emp_constant_get(&emp_constants[j], c->machine, &c->runtime);
    }
    return check_start(c, err);
}

static emp_status fit_constants(emp_calibration *c, struct model *model, emp_error *err)
{
    double          low[EMP_FIT_MAX_PARAMETERS], high[EMP_FIT_MAX_PARAMETERS];
    double          target[EMP_FIT_MAX_CELLS];
    emp_fit_problem problem = {.parameter_count = EMP_CONSTANTS,
                               .cell_count = c->timed_count,
                               .start = c->before,
                               .low = low,
                               .high = high,
                               .target = target,
                               .model = run_model,
                               .on_progress = on_progress,
                               .context = model};

    for (int32_t j = 0; j < EMP_CONSTANTS; j++) {
        low[j] = emp_constants[j].low;
        high[j] = emp_constants[j].high;
    }
    for (int32_t i = 0; i < c->timed_count; i++) target[i] = c->cells[i].published_s;
    return emp_fit_solve(&c->fit, &problem, err);
}

/* As the files will have them, so that what is reported is what they give. */
static void round_constants(emp_calibration *c)
{

    for (int32_t j = 0; j < EMP_CONSTANTS; j++) {
        char text[48];
        if (!c->fit.is_fitted[j]) continue;
        emp_constant_format(&emp_constants[j], c->fit.parameter[j], DIGITS, text,
                            sizeof text);
        c->fit.parameter[j] = strtod(text, NULL) * emp_constants[j].scale;
    }
    set_constants(c, c->fit.parameter);
}

static emp_status simulate_all(emp_calibration *c, const struct model *model,
                               emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_sim_result *result = EMP_NEW_ARRAY(emp_sim_result, (size_t)c->cell_count);

    if (result == NULL) EMP_FAIL(EMP_ENOMEM, "results of %d cells", c->cell_count);
    EMP_TRY(emp_cell_oracle_run(model->oracle, c->cell_count, c->machine, &c->runtime,
                                model->params->threads, result, err));
    for (int32_t i = 0; i < c->cell_count; i++) {
        emp_device_id device = c->cells[i].device;
        c->outcome[i] = (emp_cell_outcome){
            (double)result[i].step_time_ns * 1e-9, result[i].is_feasible,
            result[i].peak_bytes[device], c->machine->device[device].memory_bytes};
    }

cleanup:
    emp_free(result);
    return st;
}

emp_status emp_calibration_create(emp_calibration           **out,
                                  const emp_calibrate_params *params, emp_error *err)
{
    emp_status       st = EMP_OK;
    emp_cell_oracle *oracle = NULL;
    emp_calibration *c = EMP_NEW(emp_calibration);

    *out = NULL;
    if (c == NULL) EMP_FAIL(EMP_ENOMEM, "calibration");
    EMP_TRY(load(c, params, err));
    EMP_TRY(emp_cell_oracle_create(&oracle, c->cells, c->cell_count, c->machine,
                                   &c->runtime, err));
    struct model model = {c, oracle, params};
    EMP_TRY(fit_constants(c, &model, err));
    round_constants(c);
    EMP_TRY(simulate_all(c, &model, err));
    *out = c;
    c = NULL;

cleanup:
    emp_cell_oracle_destroy(oracle);
    emp_calibration_destroy(c);
    return st;
}

void emp_calibration_destroy(emp_calibration *calibration)
{
    if (calibration == NULL) return;
    emp_machine_destroy(calibration->machine);
    emp_free(calibration);
}

bool emp_calibration_leans(const emp_calibration *c, int32_t constant, int32_t cell)
{
    return c->fit.share[constant][cell] >= EMP_LEANS_SHARE;
}

double emp_cell_off(const emp_cell *cell, double step_s)
{
    return step_s / cell->published_s - 1.0;
}

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
