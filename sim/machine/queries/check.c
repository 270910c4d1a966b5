// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/machine/queries/check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/text/units.h"
#include "sim/machine/queries/known.h"

/* No device made so far is outside these. */
static const double MOST_FLOPS = 1e17, LEAST_FLOPS = 1e9;
static const double MOST_STREAM = 1e14, LEAST_STREAM = 1e9;
static const double MOST_LINK = 2e12, LEAST_LINK = 1e7;
static const double MOST_HERTZ = 1e10, LEAST_HERTZ = 1e8;
static const double LONGEST_KERNEL_S = 1e-3, LONGEST_LATENCY_S = 10e-3;
static const double MOST_MEMORY = 0x1p44, LEAST_MEMORY = 0x1p28;
/* FLOP of fp32 that a GPU can do for each byte that its memory streams: 13 to 150 of those known. */
static const double LEAST_BALANCE = 3.0, MOST_BALANCE = 500.0;
/* Measurements repeat to some per cent. */
static const double SLACK = 1.1;

typedef struct {
    const emp_machine     *machine;
    emp_machine_complaint *tell;
    void                  *context;
    int32_t                count;
} check;

__attribute__((format(printf, 2, 3))) static void complain(check *c, const char *format,
                                                           ...)
{
    char    text[EMP_COMPLAINT_BYTES];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    c->tell(c->context, text);
    c->count++;
}

/* ---- models ---- */

/* A value of a model and what it may be. */
typedef struct {
    const char *name, *unit;
    double      value, least, most;
} range;

static void check_ranges(check *c, const char *model, const range *ranges, size_t count)
{
    char value[32], least[32], most[32];

    for (size_t i = 0; i < count; i++) {
        const range *r = &ranges[i];
        if (r->value >= r->least && r->value <= r->most) continue;
        complain(c, "model %s: %s is %s; of all devices it is %s to %s", model, r->name,
                 emp_units_format_si(r->value, r->unit, value, sizeof value),
                 emp_units_format_si(r->least, r->unit, least, sizeof least),
                 emp_units_format_si(r->most, r->unit, most, sizeof most));
    }
}

/* The greatest rate of the products that were measured. */
static double best_rate(const emp_grid *grid)
{
    const int32_t *n = grid->points;
    double         best = 0.0;

    for (int32_t i = 0; i < n[0] * n[1] * n[2]; i++) {
        double log_size = grid->knot[0][i / (n[1] * n[2])] +
                          grid->knot[1][i / n[2] % n[1]] + grid->knot[2][i % n[2]];
        best = fmax(best, 2.0 * exp(log_size - grid->log_s[i]));
    }
    return best;
}

static void check_formats(check *c, const char *model, const emp_device *d)
{
    char best[32], peak[32];

    for (emp_format f = EMP_FORMAT_FP32; f < EMP_FORMATS; f++) {
        double          of_format = d->format_flops_per_s[f];
        const emp_grid *grid = d->tables == NULL ? NULL : d->tables->gemm[f];
        if (of_format > 0.0 && of_format < d->peak_flops_per_s / SLACK)
            complain(c, "model %s: the peak of %s is below that of fp32", model,
                     emp_format_name(f));
        if (grid == NULL) continue;
        if (of_format <= 0.0) {
            complain(c, "model %s: products of %s were measured, and it has no peak",
                     model, emp_format_name(f));
        } else if (best_rate(grid) > of_format * SLACK) {
            complain(c,
                     "model %s: measured products of %s reach %s, above the peak of %s",
                     model, emp_format_name(f),
                     emp_units_format_si(best_rate(grid), "FLOP/s", best, sizeof best),
                     emp_units_format_si(of_format, "FLOP/s", peak, sizeof peak));
        }
    }
}

/* Most mistyped rates leave a GPU without the balance that all have. */
static void check_balance(check *c, const char *model, const emp_device *d)
{
    const double balance = d->peak_flops_per_s / d->memory_bytes_per_s;
    char         peak[32], stream[32], least[32], most[32];

    if (d->has_core || (balance >= LEAST_BALANCE && balance <= MOST_BALANCE)) return;
    complain(c,
             "model %s: stream is %s beside a peak of %s; with that peak it is %s to %s, "
             "as GPUs do %g to %g FLOP a byte",
             model,
             emp_units_format_si(d->memory_bytes_per_s, "B/s", stream, sizeof stream),
             emp_units_format_si(d->peak_flops_per_s, "FLOP/s", peak, sizeof peak),
             emp_units_format_si(d->peak_flops_per_s / MOST_BALANCE, "B/s", least,
                                 sizeof least),
             emp_units_format_si(d->peak_flops_per_s / LEAST_BALANCE, "B/s", most,
                                 sizeof most),
             LEAST_BALANCE, MOST_BALANCE);
}

/* \param is_told  What is wrong of it was told by its product. */
static void check_gpu(check *c, const char *model, const emp_device *d, bool is_told)
{
    const range ranges[] = {
        {"peak", "FLOP/s", d->peak_flops_per_s, LEAST_FLOPS, MOST_FLOPS},
        {"stream", "B/s", d->memory_bytes_per_s, LEAST_STREAM, MOST_STREAM},
        {"memory", "B", (double)d->memory_bytes, LEAST_MEMORY, MOST_MEMORY},
        {"clock", "Hz", d->clock_hz, LEAST_HERTZ, MOST_HERTZ},
        {"multiprocessors", "", d->multiprocessors, 1, 1024},
        {"gemm_base", "s", d->gemm_base_s, 0, LONGEST_KERNEL_S},
        {"kernel_minimum", "s", d->kernel_minimum_s, 0, LONGEST_KERNEL_S}};
    double tile_flops = 2.0 * 64 * 64 * d->multiprocessors;

    check_ranges(c, model, ranges, sizeof ranges / sizeof ranges[0]);
    if (d->gemm_per_wave_s * d->peak_flops_per_s * SLACK < tile_flops)
        complain(c, "model %s: products by gemm_per_wave are faster than the peak",
                 model);
    check_formats(c, model, d);
    if (!is_told) check_balance(c, model, d);
}

static void check_cpu(check *c, const char *model, const emp_device *d)
{
    const range ranges[] = {
        {"peak", "FLOP/s", d->peak_flops_per_s, LEAST_FLOPS, MOST_FLOPS},
        {"memory", "B", (double)d->memory_bytes, LEAST_MEMORY, MOST_MEMORY},
        {"clock", "Hz", d->clock_hz, LEAST_HERTZ, MOST_HERTZ},
        {"core_stream", "B/s", d->core_bytes_per_s, LEAST_STREAM / 10, MOST_STREAM}};

    check_ranges(c, model, ranges, sizeof ranges / sizeof ranges[0]);
    if (d->gemm_core_flops_per_s * d->cores > d->peak_flops_per_s * SLACK)
        complain(c, "model %s: gemm_core of all cores is above the peak", model);
    if (d->conv_core_flops_per_s * d->cores > d->peak_flops_per_s * SLACK)
        complain(c, "model %s: conv_core of all cores is above the peak", model);
    if (d->bandwidth_cores > d->cores)
        complain(c, "model %s: it takes more cores than it has to saturate the memory",
                 model);
}

static void check_models(check *c)
{
    const emp_machine *m = c->machine;

    for (int32_t i = 0; i < m->model_count; i++) {
        int32_t d = 0;
        while (d < m->device_count && m->device[d].model != i) d++;
        if (d == m->device_count) continue;
        const int32_t told =
            emp_known_check(&m->model[i], &m->device[d], c->tell, c->context);
        c->count += told;
        if (m->model[i].kind == EMP_DEVICE_GPU)
            check_gpu(c, m->model[i].name, &m->device[d], told > 0);
        else
            check_cpu(c, m->model[i].name, &m->device[d]);
    }
}

/* ---- links ---- */

static void check_links(check *c)
{
    char text[32];

    for (int32_t i = 0; i < c->machine->link_count; i++) {
        const emp_link *l = &c->machine->link[i];
        if (l->bytes_per_s < LEAST_LINK || l->bytes_per_s > MOST_LINK)
            complain(c, "link %s: its bandwidth is %s; no link has that", l->name,
                     emp_units_format_si(l->bytes_per_s, "B/s", text, sizeof text));
        if (l->latency_s > LONGEST_LATENCY_S)
            complain(c, "link %s: its latency is %s; no link has that", l->name,
                     emp_units_format_seconds(l->latency_s, text, sizeof text));
    }
}

/* A GPU's own link is at most as fast as the bus of its card one way. Rates of both ways together are a
 * common mistake; a link that is faster still is another one, as NVLink-C2C. */
static void check_buses(check *c)
{
    const emp_machine *m = c->machine;
    char               is[32], most[32];

    for (int32_t d = 0; d < m->device_count; d++) {
        const emp_card  *card = &m->model[m->device[d].model].card;
        const emp_route *r = &m->route[d][m->device[d].host];
        if (r->link_count == 0 || card->bus_bytes_per_s == 0.0) continue;
        const double rate = m->link[r->link[0]].bytes_per_s;
        if (rate <= card->bus_bytes_per_s * SLACK ||
            rate > 2.0 * card->bus_bytes_per_s * SLACK)
            continue;
        complain(c, "%s: its link has %s; %s is the rate of %s one way",
                 m->device[d].name, emp_units_format_si(rate, "B/s", is, sizeof is),
                 emp_units_format_si(card->bus_bytes_per_s, "B/s", most, sizeof most),
                 card->bus);
    }
}

/* No copy is faster than the memories that it is between; a CPU's model says what its cores stream,
 * which may be less. */
static void check_memories(check *c)
{
    const emp_machine *m = c->machine;

    for (int32_t a = 0; a < m->device_count; a++) {
        bool is_told = false;
        for (int32_t b = 0; b < m->device_count && !is_told; b++) {
            if (a == b || m->device[a].kind != EMP_DEVICE_GPU) continue;
            is_told = m->route[a][b].bytes_per_s > m->device[a].memory_bytes_per_s;
            if (is_told)
                complain(c, "%s: copies to %s are faster than its memory",
                         m->device[a].name, m->device[b].name);
        }
    }
}

/* The rate at which the tree gets a GPU's bytes to its host; 0 of a CPU, which is the host. */
static double tree_rate(const emp_machine *m, emp_device_id d)
{
    const emp_device *device = &m->device[d];

    return device->host == d ? 0.0 : m->route[d][device->host].bytes_per_s;
}

static void check_fabrics(check *c)
{
    const emp_machine *m = c->machine;

    for (int32_t i = 0; i < m->fabric_count; i++) {
        const emp_fabric *f = &m->fabric[i];
        int32_t           used = 0;
        emp_device_id     slow = -1;
        for (int32_t a = 0; a < m->device_count; a++) {
            if (f->out[a] < 0) continue;
            if (!m->link[f->out[a]].is_network &&
                m->link[f->out[a]].bytes_per_s < tree_rate(m, a))
                slow = a;
            for (int32_t b = 0; b < m->device_count; b++)
                used += a != b && emp_machine_fabric_between(m, a, b) == f;
        }
        if (used == 0)
            complain(
                c, "fabric %s: no copy takes it; fabrics before it join the same devices",
                f->name);
        if (slow >= 0)
            complain(c, "fabric %s: it is slower than the tree for %s", f->name,
                     m->device[slow].name);
    }
}

/* ---- hosts ---- */

static void check_hosts(check *c)
{
    const emp_machine *m = c->machine;

    for (int32_t d = 0; d < m->device_count; d++) {
        const emp_device *gpu = &m->device[d], *host = &m->device[gpu->host];
        if (gpu->kind == EMP_DEVICE_GPU &&
            gpu->peak_flops_per_s < host->peak_flops_per_s / 10.0)
            complain(c, "%s: its host %s is ten times as fast", gpu->name, host->name);
    }
}

int32_t emp_machine_check(const emp_machine *machine, emp_machine_complaint *tell,
                          void *context)
{
    check c = {.machine = machine, .tell = tell, .context = context};

    check_models(&c);
    check_links(&c);
    check_buses(&c);
    check_memories(&c);
    check_fabrics(&c);
    check_hosts(&c);
    return c.count;
}
