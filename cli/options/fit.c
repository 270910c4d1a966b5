// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options/fit.h"

#include <stdio.h>
#include <string.h>

#include "base/text/options.h"
#include "base/text/units.h"
#include "cli/cli.h"
#include "cli/stop.h"
#include "graphs/workloads/workloads.h"
#include "sim/engine/sim.h"

enum { LIMIT = 1 << 30 };

/* A value of the spec, and whether it fits. */
typedef struct {
    int64_t        value;
    bool           fits;
    emp_sim_result result;
    emp_device_id full; /* the device with the least room, or the one that lacks memory */
    char          full_name[64];
    int64_t       full_bytes, memory_bytes;
    char refusal[sizeof((emp_error *)NULL)->msg]; /* of a value that SPEC may not have */
} probe;

typedef struct {
    const cli_fit_request *request;
    char                   machine[128], runtime[64];
    int32_t                probes;
    probe                  last; /* the largest value that fits so far */
    probe                  over; /* the least that does not; value 0: none is known */
} fit;

/* ---- specs ---- */

/* The item "KEY=..." behind a colon or a comma; NULL: there is none. */
static const char *find_item(const char *spec, const char *key)
{
    const size_t length = strlen(key);

    for (const char *at = strpbrk(spec, ":,"); at != NULL; at = strpbrk(at + 1, ":,"))
        if (strncmp(at + 1, key, length) == 0 && at[1 + length] == '=') return at + 1;
    return NULL;
}

emp_status cli_fit_spec(char *out, size_t size, const char *spec, const char *key,
                        int64_t value, emp_error *err)
{
    const emp_source_format *format = emp_source_format_of(spec);
    const bool  is_gguf = format != NULL && format->source == EMP_SOURCE_GGUF;
    const bool  is_bare = strchr(spec, ':') == NULL;
    const char *item = find_item(spec, key);
    int         written;

    if (is_bare && !is_gguf && !emp_workload_is_spec(spec))
        return EMP_ERROR(EMP_EINVAL,
                         "--fit %s changes a size of a spec, such as "
                         "hf:path=config.json,phase=decode, and %s is a file",
                         key, spec);
    if (item != NULL)
        written = snprintf(out, size, "%.*s%s=%lld%s", (int)(item - spec), spec, key,
                           (long long)value, item + strcspn(item, ","));
    else
        written =
            snprintf(out, size, "%s%s%s%s=%lld", is_bare && is_gguf ? "hf:path=" : "",
                     spec, is_bare && !is_gguf ? ":" : ",", key, (long long)value);
    if (written >= (int)size)
        return EMP_ERROR(EMP_EINVAL, "the spec has more than %zu characters", size - 1);
    return EMP_OK;
}

/* ---- one value ---- */

static void find_fullest(probe *p, const emp_machine *m)
{
    double most = -1.0;

    p->full = p->result.oom_device;
    for (emp_device_id d = 0; p->full < 0 && p->result.is_feasible && d < m->device_count;
         d++) {
        const double share =
            (double)p->result.peak_bytes[d] / (double)m->device[d].memory_bytes;
        if (share <= most) continue;
        most = share;
        p->full_bytes = p->result.peak_bytes[d];
        p->memory_bytes = m->device[d].memory_bytes;
        snprintf(p->full_name, sizeof p->full_name, "%s", m->device[d].name);
    }
    if (p->full < 0) return;
    p->memory_bytes = m->device[p->full].memory_bytes;
    snprintf(p->full_name, sizeof p->full_name, "%s", m->device[p->full].name);
}

static emp_status place_and_run(probe *p, fit *f, const cli_inputs *inputs,
                                emp_error *err)
{
    emp_status         st = EMP_OK;
    emp_owned_decision owned = {0};
    emp_sim           *sim = NULL;
    bool               is_partial = false;

    st = f->request->decide(&owned, &is_partial, f->request->args, inputs->problem, err);
    if (st == EMP_EINFEASIBLE) {
        p->fits = false;
        snprintf(p->refusal, sizeof p->refusal, "%s", err->msg);
        *err = (emp_error){0};
        st = EMP_OK;
        goto cleanup;
    }
    EMP_TRY(st);
    if (is_partial || cli_stop_is_asked()) EMP_FAIL(EMP_EINTERRUPTED, "interrupted");
    EMP_TRY(emp_sim_create(&sim, inputs->problem, err));
    const emp_decision decision = emp_decision_view(&owned);
    EMP_TRY(emp_sim_trace_decision(sim, &decision, NULL, &p->result, err));
    p->fits = p->result.is_feasible;
    find_fullest(p, inputs->machine);

cleanup:
    emp_sim_destroy(sim);
    emp_decision_clear(&owned);
    return st;
}

/* A value that SPEC refuses fits no more than one without room. The first one, which is the least, fails instead. */
static emp_status try_value(probe *p, fit *f, int64_t value, emp_error *err)
{
    emp_status              st = EMP_OK;
    const cli_task_options *task = &f->request->run->task;
    cli_inputs              inputs = {0};
    char                    spec[EMP_SPEC_BYTES];
    emp_error               why = {0};

    *p = (probe){.value = value, .full = -1};
    EMP_TRY(cli_fit_spec(spec, sizeof spec, task->spec, f->request->key, value, err));
    cli_inputs_take_options(&inputs, task);
    cli_warn_only_once(f->probes++ > 0);
    st = cli_inputs_load(&inputs, spec, task->machine, task->runtime, &why);
    if (st != EMP_OK && st != EMP_ENOMEM && value > 1) {
        snprintf(p->refusal, sizeof p->refusal, "%s", why.msg);
        st = EMP_OK;
        goto cleanup;
    }
    if (st != EMP_OK)
        EMP_FAIL(st, "--fit %s tries %s=1 first: %s", f->request->key, f->request->key,
                 why.msg);
    snprintf(f->machine, sizeof f->machine, "%s", inputs.machine->name);
    snprintf(f->runtime, sizeof f->runtime, "%s", inputs.problem->runtime.name);
    EMP_TRY(place_and_run(p, f, &inputs, err));

cleanup:
    cli_inputs_clear(&inputs);
    cli_warn_only_once(false);
    return st;
}

/* ---- all values ---- */

static emp_status search(fit *f, emp_error *err)
{
    probe p;

    for (int64_t value = 1; f->over.value == 0 && value <= LIMIT; value *= 2) {
        EMP_CHECK(try_value(&p, f, value, err));
        *(p.fits ? &f->last : &f->over) = p;
    }
    while (f->over.value > f->last.value + 1) {
        EMP_CHECK(
            try_value(&p, f, f->last.value + (f->over.value - f->last.value) / 2, err));
        *(p.fits ? &f->last : &f->over) = p;
    }
    return EMP_OK;
}

static void add_probe(json_t *object, const char *name, const probe *p)
{
    json_t *one = json_null();

    if (p->value > 0)
        one = json_pack("{s:I, s:s?, s:s?, s:I, s:o}", "value", (json_int_t)p->value,
                        "device", p->full_name[0] != '\0' ? p->full_name : NULL,
                        "refusal", p->refusal[0] != '\0' ? p->refusal : NULL,
                        "memory_bytes", (json_int_t)p->memory_bytes, "step_time_s",
                        p->fits ? cli_json_number(1e-9 * (double)p->result.step_time_ns)
                                : json_null());
    json_object_set_new(object, name, one);
}

static void print_text(const fit *f)
{
    const probe *last = &f->last, *over = &f->over;
    char         bytes[32], memory[32], time[32];

    printf("%s on %s, runtime %s, placement %s: ", f->request->run->task.spec, f->machine,
           f->runtime, f->request->placement);
    if (last->value > 0)
        printf("%s=%lld is the most that fits\n", f->request->key,
               (long long)last->value);
    else
        printf("no %s fits\n", f->request->key);
    if (last->value > 0)
        printf("%-12lld step time %s; %s is the fullest, with %s of %s\n",
               (long long)last->value,
               emp_units_format_seconds(1e-9 * (double)last->result.step_time_ns, time,
                                        sizeof time),
               last->full_name,
               emp_units_format_bytes(last->full_bytes, bytes, sizeof bytes),
               emp_units_format_bytes(last->memory_bytes, memory, sizeof memory));
    if (over->value > 0 && over->refusal[0] != '\0')
        printf("%-12lld %s\n", (long long)over->value, over->refusal);
    else if (over->value > 0)
        printf("%-12lld does not fit: %s, which has %s, is out of memory\n",
               (long long)over->value, over->full_name,
               emp_units_format_bytes(over->memory_bytes, memory, sizeof memory));
}

emp_status cli_fit(const cli_fit_request *request, emp_error *err)
{
    fit                     f = {.request = request};
    const cli_task_options *task = &request->run->task;

    EMP_CHECK(search(&f, err));
    if (task->format == EMP_SHEET_TEXT) {
        print_text(&f);
        return EMP_OK;
    }
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:I, s:i}", "workload", task->spec, "machine",
        f.machine, "runtime", f.runtime, "placement", request->placement, "fit",
        request->key, "value", (json_int_t)f.last.value, "probes", (int)f.probes);
    if (object != NULL) {
        add_probe(object, "fits", &f.last);
        add_probe(object, "fails", &f.over);
    }
    return cli_print_object(object, task->format, err);
}
