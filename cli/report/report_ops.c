// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/report/report_ops.h"

#include <stdio.h>
#include <string.h>

#include "base/text/text.h"
#include "base/text/units.h"

enum { NAME_WIDTH = 34 };

/* What a share is of; the name of a scope is not terminated. */
struct subject {
    const char *key; /* in JSON */
    const char *name;
    size_t      length;
};

typedef struct subject name_share(const emp_problem *problem, const emp_explain *why,
                                  int32_t id);

static struct subject name_type(const emp_problem *problem, const emp_explain *why,
                                int32_t id)
{
    const char *name = problem->graph->type_name[id];

    (void)why;
    return (struct subject){"type", name, strlen(name)};
}

static struct subject name_op(const emp_problem *problem, const emp_explain *why,
                              int32_t id)
{
    const char *name = problem->graph->name[id];

    (void)why;
    return (struct subject){"op", name, strlen(name)};
}

static struct subject name_scope(const emp_problem *problem, const emp_explain *why,
                                 int32_t id)
{
    const emp_scope *scope = &why->scopes.scope[id];

    (void)problem;
    return (struct subject){"scope", scope->name, (size_t)scope->length};
}

static double part(emp_time_ns time, emp_time_ns whole)
{
    return whole > 0 ? (double)time / (double)whole : 0.0;
}

static double per_second(double amount, emp_time_ns time)
{
    return time > 0 ? amount / ((double)time * 1e-9) : 0.0;
}

/* ---- JSON ---- */

static json_t *json_share(const emp_explain_share *share, const emp_explain_share *whole)
{
    return json_pack("{s:I, s:f, s:i, s:f, s:I}", "time_ns", (json_int_t)share->time_ns,
                     "share", part(share->time_ns, whole->time_ns), "count",
                     share->op_count, "flops", share->flops, "bytes",
                     (json_int_t)share->bytes);
}

static json_t *json_top(const emp_problem *problem, const emp_explain *why,
                        const emp_explain_device *device, const emp_explain_top *top,
                        name_share *name)
{
    json_t *all = json_array();

    for (int32_t i = 0; i < top->count; i++) {
        struct subject subject = name(problem, why, top->share[i].id);
        json_t        *o = json_share(&top->share[i], &device->ops);
        json_object_set_new(o, subject.key, json_stringn(subject.name, subject.length));
        json_array_append_new(all, o);
    }
    return all;
}

json_t *cli_ops_json(const emp_problem *problem, const emp_explain *why, emp_device_id d)
{
    const emp_explain_device *device = &why->device[d];
    const emp_explain_share  *bound = &device->launch_bound;
    const emp_device         *model = &problem->machine->device[d];

    return json_pack("{s:I, s:i, s:f, s:f, s:o, s:o, s:o, s:I, s:{s:i, s:I, s:f}}",
                     "time_ns", (json_int_t)device->ops.time_ns, "count",
                     device->ops.op_count, "peak_flops_per_s", model->peak_flops_per_s,
                     "peak_bytes_per_s", model->memory_bytes_per_s, "types",
                     json_top(problem, why, device, &device->types, name_type), "scopes",
                     json_top(problem, why, device, &device->scopes, name_scope),
                     "longest", json_top(problem, why, device, &device->longest, name_op),
                     "issue_ns", (json_int_t)device->issue_ns, "launch_bound", "count",
                     bound->op_count, "time_ns", (json_int_t)bound->time_ns, "share",
                     part(bound->time_ns, device->ops.time_ns));
}

/* ---- text ---- */

static void print_rate(double rate, double peak)
{
    char text[EMP_UNITS_TEXT_BYTES];

    printf(" %7s", rate > 0.0 && peak > 0.0
                       ? emp_units_format_percent(rate / peak, text, sizeof text)
                       : "-");
}

static void print_top(const emp_problem *problem, const emp_explain *why, emp_device_id d,
                      const emp_explain_top *top, name_share *name, const char *title)
{
    const emp_explain_device *device = &why->device[d];
    const emp_device         *model = &problem->machine->device[d];
    char                      words[NAME_WIDTH + 1], time[32], part_text[32];

    printf("  %s\n", title);
    for (int32_t i = 0; i < top->count; i++) {
        const emp_explain_share *share = &top->share[i];
        struct subject           subject = name(problem, why, share->id);
        if (subject.length == 0) subject = (struct subject){"scope", "(no scope)", 10};
        printf("    %-*s %8s %7s %6d", NAME_WIDTH,
               emp_text_shorten(subject.name, subject.length, NAME_WIDTH, words),
               emp_units_format_seconds((double)share->time_ns * 1e-9, time, sizeof time),
               emp_units_format_percent(part(share->time_ns, device->ops.time_ns),
                                        part_text, sizeof part_text),
               share->op_count);
        print_rate(per_second(share->flops, share->time_ns), model->peak_flops_per_s);
        print_rate(per_second((double)share->bytes, share->time_ns),
                   model->memory_bytes_per_s);
        printf("\n");
    }
}

static void print_issue(const emp_explain *why, emp_device_id d)
{
    const emp_explain_device *device = &why->device[d];
    char                      time[32], share[32];

    if (device->issue_ns == 0) return;
    printf("  its host thread issues ops for %s, %s of the step\n",
           emp_units_format_seconds((double)device->issue_ns * 1e-9, time, sizeof time),
           emp_units_format_percent(part(device->issue_ns, why->result.step_time_ns),
                                    share, sizeof share));
    printf(
        "  launch-bound (longer to issue than to run): %d op%s, %s of the time\n",
        device->launch_bound.op_count, emp_units_plural(device->launch_bound.op_count),
        emp_units_format_percent(part(device->launch_bound.time_ns, device->ops.time_ns),
                                 share, sizeof share));
}

void cli_ops_print(const emp_problem *problem, const emp_explain *why)
{
    for (emp_device_id d = 0; d < why->result.device_count; d++) {
        const emp_explain_device *device = &why->device[d];
        char                      title[64], time[32];
        if (device->ops.op_count == 0) continue;
        emp_units_format_seconds((double)device->ops.time_ns * 1e-9, time, sizeof time);
        snprintf(title, sizeof title, "%s runs ops for %s",
                 problem->machine->device[d].name, time);
        printf("\n%-38s     time   share    ops  FLOP/s    B/s\n", title);
        print_top(problem, why, d, &device->types, name_type,
                  "op types; rates as shares of the device's peaks");
        print_top(problem, why, d, &device->scopes, name_scope,
                  "name scopes, with their gradients");
        print_top(problem, why, d, &device->longest, name_op, "longest ops");
        print_issue(why, d);
    }
}
