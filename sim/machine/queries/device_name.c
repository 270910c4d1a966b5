// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L
#include "sim/machine/queries/device_name.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { ANY = -1, LARGEST = 100000 };

/* What a name says; ANY = nothing of that. */
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
