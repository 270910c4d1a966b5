// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/machine/queries/known.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text/units.h"
#include "sim/machine/config.h"

/* ---- names ---- */

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
            if (strcmp(word, words[i]) == 0) return true;
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

bool emp_known_find(emp_device_model *known, const char *name, const char *path)
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

/* ---- values ---- */

typedef struct {
    const emp_machine_model *model;
    const emp_device        *device;
    const emp_device_model  *known;
    emp_machine_complaint   *tell;
    void                    *context;
    int32_t                  count;
} check;

EMP_PRINTF_LIKE(2, 3) static void complain(check *c, const char *format, ...)
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
static void compare(check *c, const char *what, const char *unit, double value,
                    double known, double least, double most)
{
    const bool twice = value > 1.8 * known && value < 2.2 * known;
    char       is[32], right[32];

    if (!is_far(value, known, least, most)) return;
    complain(c, "%s is %s; %s is %s%s%s", what,
             emp_units_format_si(value, unit, is, sizeof is),
             emp_units_format_si(known, unit, right, sizeof right),
             c->known->card.is_there ? "published of " : "that of the known model ",
             c->known->device.name,
             twice && strcmp(unit, "FLOP/s") == 0
                 ? " for dense products; twice as much is with sparsity"
                 : "");
}

static void compare_memory(check *c)
{
    const emp_card *known = &c->known->card;
    const int64_t   right =
        known->is_there ? known->memory_bytes : c->known->device.memory_bytes;
    char is[32], text[32];

    if (!is_far((double)c->device->memory_bytes, (double)right, 1.0 / 3, 3.0)) return;
    complain(c, "memory is %s; %s has %s",
             emp_units_format_bytes(c->device->memory_bytes, is, sizeof is),
             c->known->device.name, emp_units_format_bytes(right, text, sizeof text));
}

/* The rate on a card, or else what streams reach of it. */
static void compare_rate(check *c)
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
        complain(c, "stream is %s; %s is published of %s, of which kernels reach %s",
                 emp_units_format_si(stream, "B/s", is, sizeof is),
                 emp_units_format_si(known->rate_bytes_per_s, "B/s", right, sizeof right),
                 c->known->device.name,
                 emp_units_format_si(c->known->device.memory_bytes_per_s, "B/s", reached,
                                     sizeof reached));
    }
}

static void compare_gpu(check *c)
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

/* Of CPUs of one name, some have other memory and fewer cores in use. */
static void compare_cpu(check *c)
{
    const emp_device *d = c->device, *known = &c->known->device;

    compare(c, "peak", "FLOP/s", d->peak_flops_per_s, known->peak_flops_per_s, 0.25, 4.0);
    compare(c, "clock", "Hz", d->clock_hz, known->clock_hz, 0.4, 2.5);
    compare(c, "stream of all cores", "B/s", d->memory_bytes_per_s,
            known->memory_bytes_per_s, 0.25, 4.0);
}

int32_t emp_known_check(const emp_machine_model *model, const emp_device *device,
                        emp_machine_complaint *tell, void *context)
{
    emp_device_model known;
    check            c = {model, device, &known, tell, context, 0};

    if (!emp_known_find(&known, model->name, model->path)) return 0;
    if (known.device.kind == device->kind) {
        if (device->kind == EMP_DEVICE_GPU)
            compare_gpu(&c);
        else
            compare_cpu(&c);
    }
    emp_device_model_clear(&known);
    return c.count;
}
