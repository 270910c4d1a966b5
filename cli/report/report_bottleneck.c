// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/report/report_bottleneck.h"

#include <stdio.h>

#include "base/text/units.h"

static const char *device_name(const emp_problem *problem, emp_device_id device)
{
    return problem->machine->device[device].name;
}

json_t *cli_bottleneck_json(const emp_problem *problem, const emp_explain *why)
{
    emp_bottleneck b = emp_explain_bottleneck(why);
    json_t *o = json_pack("{s:s, s:I}", "kind", emp_bottleneck_key(b.kind), "time_ns",
                          (json_int_t)b.time_ns);

    if (b.device < 0) return o;
    json_object_set_new(o, "device", json_string(device_name(problem, b.device)));
    if (b.to >= 0) json_object_set_new(o, "to", json_string(device_name(problem, b.to)));
    json_object_set_new(o, "device_ns", json_integer((json_int_t)b.device_ns));
    return o;
}

/* ---- text ---- */

static const char *percent(const emp_explain *why, emp_time_ns part,
                           char text[EMP_UNITS_TEXT_BYTES])
{
    emp_time_ns whole = why->result.step_time_ns;

    return emp_units_format_percent(whole > 0 ? (double)part / (double)whole : 0.0, text,
                                    EMP_UNITS_TEXT_BYTES);
}

static void print_kind(const emp_explain *why, const emp_bottleneck *b)
{
    static const char *const names[EMP_BOTTLENECK_KINDS] = {
        [EMP_BOTTLENECK_COMPUTE] = "compute",
        [EMP_BOTTLENECK_HOST] = "host threads",
        [EMP_BOTTLENECK_COPIES] = "copies",
        [EMP_BOTTLENECK_MESSAGES] = "control messages",
        [EMP_BOTTLENECK_STEP] = "its fixed cost"};
    static const char *const words[EMP_BOTTLENECK_KINDS] = {
        [EMP_BOTTLENECK_COMPUTE] = "Ops that run, and waits for busy devices, are",
        [EMP_BOTTLENECK_HOST] = "Host threads that issue ops, and waits for them, are",
        [EMP_BOTTLENECK_COPIES] = "Copies between devices are",
        [EMP_BOTTLENECK_MESSAGES] = "Control messages between devices are",
        [EMP_BOTTLENECK_STEP] = "The fixed cost of a step is"};
    char share[EMP_UNITS_TEXT_BYTES];

    printf("\nwhat bounds the step: %s\n", names[b->kind]);
    printf("  The critical path is the chain of events that ends last.\n");
    printf("  %s %s of it.\n", words[b->kind], percent(why, b->time_ns, share));
}

static void print_device(const emp_problem *problem, const emp_explain *why,
                         const emp_bottleneck *b)
{
    char share[EMP_UNITS_TEXT_BYTES];

    if (b->device < 0) return;
    printf("  The largest part, %s, is %s %s", percent(why, b->device_ns, share),
           b->to >= 0 ? "from" : "on", device_name(problem, b->device));
    if (b->to >= 0) printf(" to %s", device_name(problem, b->to));
    printf(".\n");
}

static emp_device_id busiest_device(const emp_explain *why)
{
    emp_device_id busiest = 0;

    for (emp_device_id d = 1; d < why->result.device_count; d++) {
        if (why->device[d].busy_ns > why->device[busiest].busy_ns) busiest = d;
    }
    return busiest;
}

/* How long the device is busy, and what it idles for most. */
static void print_busy(const emp_problem *problem, const emp_explain *why,
                       emp_device_id id)
{
    static const char *const words[EMP_IDLE_COUNT] = {
        [EMP_IDLE_TRANSFER] = "for copies",
        [EMP_IDLE_OTHER_DEVICE] = "for other GPUs",
        [EMP_IDLE_CPU] = "for the CPU",
        [EMP_IDLE_ISSUE] = "for host threads",
        [EMP_IDLE_MESSAGE] = "for control messages",
        [EMP_IDLE_NOTHING_LEFT] = "after its last op",
        [EMP_IDLE_STEP] = "for the fixed cost"};
    const emp_explain_device *device = &why->device[id];
    char                      share[EMP_UNITS_TEXT_BYTES];
    int                       most = 0;

    for (int i = 1; i < EMP_IDLE_COUNT; i++) {
        if (device->idle_ns[i] > device->idle_ns[most]) most = i;
    }
    printf("  %s is busy %s of the step", device_name(problem, id),
           percent(why, device->busy_ns, share));
    if (device->idle_ns[most] > 0) {
        printf(" and idles most %s, %s", words[most],
               percent(why, device->idle_ns[most], share));
    }
    printf(".\n");
}

void cli_bottleneck_print(const emp_problem *problem, const emp_explain *why)
{
    emp_bottleneck b = emp_explain_bottleneck(why);
    bool           has_ends = b.to >= 0 || b.device < 0;

    print_kind(why, &b);
    print_device(problem, why, &b);
    print_busy(problem, why, has_ends ? busiest_device(why) : b.device);
}
