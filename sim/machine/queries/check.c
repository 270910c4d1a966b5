// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/machine/queries/check.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text/units.h"
#include "sim/machine/config.h"
#include "sim/machine/model.h"

/* ---- models of the same product that come with the program ---- */

static bool is_separator(char c) { return c != '\0' && strchr("-_. +", c) != NULL; }

/* Where \a name goes on behind \a product, whose separators may be elsewhere; NULL: it does not begin
 * with it. */
static const char *skip_product(const char *name, const char *product)
{
    while (*product != '\0') {
        if (is_separator(*product)) {
            product++;
        } else if (is_separator(*name)) {
            name++;
        } else if (tolower((unsigned char)*name) == tolower((unsigned char)*product)) {
            name++;
            product++;
        } else {
            return NULL;
        }
    }
    return name;
}

/* Whether a name behind its product says that it is another one: "ti", "laptop". */
static bool is_variant(const char *rest)
{
    static const char *const words[] = {"ti", "super", "laptop", "mobile", "max", "d"};
    char                     word[16];
    size_t                   length;

    for (; *rest != '\0'; rest += length) {
        rest += is_separator(*rest);
        for (length = 0; rest[length] != '\0' && !is_separator(rest[length]);) length++;
        snprintf(word, sizeof word, "%.*s", (int)(length < 15 ? length : 15), rest);
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (strcasecmp(word, words[i]) == 0) return true;
    }
    return false;
}

static bool has_product(const char *name, const char *product)
{
    for (const char *at = name; *at != '\0'; at++) {
        if (at > name && !is_separator(at[-1])) continue;
        const char *rest = skip_product(at, product);
        if (rest == NULL || (*rest != '\0' && !is_separator(*rest))) continue;
        if (!is_variant(rest)) return true;
    }
    return false;
}

/* Finds the model that comes with the program whose product a model's name has: "rtx3090" of
 * "my-RTX-3090". Variants are other products: "rtx3090ti", "rtx3080-laptop".
 * \param path  Of the model's file: a file of the program itself is not beside another one.
 * \return Whether \a known was read; the caller clears it then. */
static bool known_find(emp_device_model *known, const char *name, const char *path)
{
    emp_data_names names;
    const char    *best = NULL;
    char           file[512];

    emp_data_find(&names, "machines/models");
    for (int32_t i = 0; i < names.count; i++)
        if (has_product(name, names.name[i]) &&
            (best == NULL || strlen(names.name[i]) > strlen(best)))
            best = names.name[i];
    if (best == NULL) return false;
    emp_config_path(file, sizeof file, "machines/models", best);
    if (strcmp(file, path) == 0) return false;
    *known = (emp_device_model){0};
    if (emp_device_model_load(known, best, NULL) == EMP_OK) {
        snprintf(known->device.name, sizeof known->device.name, "%s", best);
        return true;
    }
    emp_device_model_clear(known);
    return false;
}

typedef struct {
    const emp_machine_model *model;
    const emp_device        *device;
    const emp_device_model  *known;
    emp_machine_complaint   *tell;
    void                    *context;
    int32_t                  count;
} comparison;

EMP_PRINTF_LIKE(2, 3)
static void complain_of_model(comparison *c, const char *format, ...)
{
    char    text[EMP_COMPLAINT_BYTES];
    va_list arguments;

    int used = snprintf(text, sizeof text, "model %s: ", c->model->name);
    va_start(arguments, format);
    vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
    va_end(arguments);
    c->tell(c->context, text);
    c->count++;
}

/* Whether a value is outside these shares of a known one, if both are there. */
static bool is_far(double value, double known, double least, double most)
{
    return value > 0.0 && known > 0.0 && (value < least * known || value > most * known);
}

/* "peak of fp16 is 142 TFLOP/s; 71.2 TFLOP/s is published of rtx3090" */
static void compare(comparison *c, const char *what, const char *unit, double value,
                    double known, double least, double most)
{
    const bool twice = value > 1.8 * known && value < 2.2 * known;
    char       is[32], right[32];

    if (!is_far(value, known, least, most)) return;
    complain_of_model(c, "%s is %s; %s is %s%s%s", what,
                      emp_units_format_si(value, unit, is, sizeof is),
                      emp_units_format_si(known, unit, right, sizeof right),
                      c->known->card.is_there ? "published of "
                                              : "that of the known model ",
                      c->known->device.name,
                      twice && strcmp(unit, "FLOP/s") == 0
                          ? " for dense products; twice as much is with sparsity"
                          : "");
}

static void compare_memory(comparison *c)
{
    const emp_card *known = &c->known->card;
    const int64_t   right =
        known->is_there ? known->memory_bytes : c->known->device.memory_bytes;
    char is[32], text[32];

    if (!is_far((double)c->device->memory_bytes, (double)right, 1.0 / 3, 3.0)) return;
    complain_of_model(c, "memory is %s; %s has %s",
                      emp_units_format_bytes(c->device->memory_bytes, is, sizeof is),
                      c->known->device.name,
                      emp_units_format_bytes(right, text, sizeof text));
}

/* The rate on a card, or else what streams reach of it. */
static void compare_rate(comparison *c)
{
    const emp_card *card = &c->model->card, *known = &c->known->card;
    const double    stream = c->device->memory_bytes_per_s;
    char            is[32], right[32], reached[32];

    if (!known->is_there) {
        compare(c, "stream", "B/s", stream, c->known->device.memory_bytes_per_s, 0.5,
                1.5);
    } else if (is_far(card->rate_bytes_per_s, known->rate_bytes_per_s, 0.8, 1.25)) {
        compare(c, "rate of the memory", "B/s", card->rate_bytes_per_s,
                known->rate_bytes_per_s, 0.8, 1.25);
    } else if (is_far(stream, known->rate_bytes_per_s, 0.4, 1.05)) {
        complain_of_model(
            c, "stream is %s; %s is published of %s, of which kernels reach %s",
            emp_units_format_si(stream, "B/s", is, sizeof is),
            emp_units_format_si(known->rate_bytes_per_s, "B/s", right, sizeof right),
            c->known->device.name,
            emp_units_format_si(c->known->device.memory_bytes_per_s, "B/s", reached,
                                sizeof reached));
    }
}

static void compare_gpu(comparison *c)
{
    const emp_device *d = c->device, *known = &c->known->device;
    char              what[32];

    compare_memory(c);
    compare_rate(c);
    compare(c, "peak", "FLOP/s", d->peak_flops_per_s, known->peak_flops_per_s, 0.7, 1.5);
    for (emp_format f = EMP_FORMAT_TF32; f < EMP_FORMATS; f++) {
        snprintf(what, sizeof what, "peak of %s", emp_format_name(f));
        compare(c, what, "FLOP/s", d->format_flops_per_s[f], known->format_flops_per_s[f],
                0.7, 1.5);
    }
}

/* CPUs of one name may have different memory and fewer cores in use. */
static void compare_cpu(comparison *c)
{
    const emp_device *d = c->device, *known = &c->known->device;

    compare(c, "peak", "FLOP/s", d->peak_flops_per_s, known->peak_flops_per_s, 0.25, 4.0);
    compare(c, "clock", "Hz", d->clock_hz, known->clock_hz, 0.4, 2.5);
    compare(c, "stream of all cores", "B/s", d->memory_bytes_per_s,
            known->memory_bytes_per_s, 0.25, 4.0);
}

/* Tells each value of \a model that is far from what is known. \return their number. */
static int32_t known_check(const emp_machine_model *model, const emp_device *device,
                           emp_machine_complaint *tell, void *context)
{
    emp_device_model known;
    comparison       c = {model, device, &known, tell, context, 0};

    if (!known_find(&known, model->name, model->path)) return 0;
    if (known.device.kind == device->kind) {
        if (device->kind == EMP_DEVICE_GPU)
            compare_gpu(&c);
        else
            compare_cpu(&c);
    }
    emp_device_model_clear(&known);
    return c.count;
}

/* ---- plausible values ---- */

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
        if (of_format > 0.0 && of_format < d->peak_flops_per_s / SLACK &&
            f != EMP_FORMAT_FP64)
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

/* \param is_told  Its fault was already reported by its product. */
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
            known_check(&m->model[i], &m->device[d], c->tell, c->context);
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

/* Drivers copy by a fabric even where PCIe is a little faster (XGMI beside PCIe 5), so only one of less than half its rate is
 * taken for a mistake. */
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
                m->link[f->out[a]].bytes_per_s < 0.5 * tree_rate(m, a))
                slow = a;
            for (int32_t b = 0; b < m->device_count; b++)
                used += a != b && emp_machine_fabric_between(m, a, b) == f;
        }
        if (used == 0)
            complain(
                c, "fabric %s: no copy takes it; fabrics before it join the same devices",
                f->name);
        if (slow >= 0)
            complain(c, "fabric %s: it has less than half the rate of the tree for %s",
                     f->name, m->device[slow].name);
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

enum { ANY = -1, LARGEST = 100000 };

/* The product in a name; ANY = nothing of that. */
typedef struct {
    int32_t         task, index;
    bool            has_kind;
    emp_device_kind kind;
} device_spec;

/* A part of a name between slashes. */
typedef struct {
    const char *at;
    size_t      length;
} part;

static bool next_part(part *p, const char *end)
{
    const char *at = p->at + p->length;

    while (at < end && *at == '/') at++;
    const char *slash = memchr(at, '/', (size_t)(end - at));
    *p = (part){at, (size_t)((slash != NULL ? slash : end) - at)};
    return at < end;
}

/* Takes the word before the first colon off the part; false if it is another one. */
static bool take_word(part *p, const char *word)
{
    size_t length = strlen(word);

    if (p->length <= length || strncasecmp(p->at, word, length) != 0 ||
        p->at[length] != ':')
        return false;
    *p = (part){p->at + length + 1, p->length - length - 1};
    return true;
}

static bool read_number(int32_t *number, const part *p)
{
    *number = 0;
    for (size_t i = 0; i < p->length; i++) {
        if (p->at[i] < '0' || p->at[i] > '9' || *number > LARGEST) return false;
        *number = 10 * *number + (p->at[i] - '0');
    }
    return p->length > 0;
}

static bool read_part(device_spec *spec, part p)
{
    if (take_word(&p, "job")) return true;
    if (take_word(&p, "replica")) return true;
    if (take_word(&p, "task")) return read_number(&spec->task, &p);
    (void)take_word(&p, "device");
    spec->has_kind = true;
    if (take_word(&p, "cpu"))
        spec->kind = EMP_DEVICE_CPU;
    else if (take_word(&p, "gpu"))
        spec->kind = EMP_DEVICE_GPU;
    else
        return false;
    return read_number(&spec->index, &p);
}

/* The device of that kind and number, of one host or, ANY, of all. */
static emp_device_id find(const emp_machine *m, emp_device_id host, emp_device_kind kind,
                          int32_t index)
{
    for (emp_device_id d = 0; d < m->device_count; d++) {
        if (m->device[d].kind != kind) continue;
        if (host != ANY && m->device[d].host != host) continue;
        if (index-- == 0) return d;
    }
    return -1;
}

emp_device_id emp_device_name_find(const emp_machine *m, const char *name, size_t length)
{
    device_spec   spec = {.task = ANY};
    part          p = {name, 0};
    emp_device_id host = ANY;

    while (next_part(&p, name + length))
        if (!read_part(&spec, p)) return -1;
    if (!spec.has_kind && spec.task == ANY) spec.task = 0;
    if (spec.task != ANY) {
        host = find(m, ANY, EMP_DEVICE_CPU, spec.task);
        if (host < 0) return -1;
    }
    if (spec.has_kind) return find(m, host, spec.kind, spec.index);
    emp_device_id gpu = find(m, host, EMP_DEVICE_GPU, 0);
    return gpu >= 0 ? gpu : host;
}

const char *emp_device_name_write(char name[EMP_DEVICE_NAME_BYTES], const emp_machine *m,
                                  emp_device_id device)
{
    const emp_device *d = &m->device[device];
    const char       *kind = d->kind == EMP_DEVICE_CPU ? "CPU" : "GPU";
    int32_t           task = 0, index = 0;

    for (emp_device_id other = 0; other < device; other++)
        index += m->device[other].kind == d->kind && m->device[other].host == d->host;
    for (emp_device_id other = 0; other < d->host; other++)
        task += m->device[other].kind == EMP_DEVICE_CPU;
    if (emp_machine_count(m, EMP_DEVICE_CPU) > 1)
        snprintf(name, EMP_DEVICE_NAME_BYTES, "/job:worker/task:%d/device:%s:%d", task,
                 kind, index);
    else
        snprintf(name, EMP_DEVICE_NAME_BYTES, "/device:%s:%d", kind, index);
    return name;
}
