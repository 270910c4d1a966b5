// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/calibrate/constants.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/units.h"

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
