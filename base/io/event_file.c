// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L /* strnlen() */
#include "base/io/event_file.h"

#include <string.h>

/* Fields of tensorflow.Event, of its summary, and of a value of that. */
enum { WALL_TIME = 1, STEP = 2, FILE_VERSION = 3, SUMMARY = 5 };
enum { VALUE = 1, TAG = 1, SIMPLE_VALUE = 2 };
enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };
enum { HEAD = sizeof(uint64_t) + sizeof(uint32_t) };

/* ---- checksums ---- */

/* Castagnoli's polynomial, reflected, bit by bit: events are few and short. */
static uint32_t crc32c(const unsigned char *byte, size_t size)
{
    uint32_t crc = 0xffffffffu;

    for (size_t i = 0; i < size; i++) {
        crc ^= byte[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

static uint32_t masked(const unsigned char *byte, size_t size)
{
    const uint32_t crc = crc32c(byte, size);

    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

/* ---- messages ---- */

/* A message under way, larger than any summary. */
typedef struct {
    unsigned char byte[EMP_EVENT_BYTES + 64];
    size_t        size;
    bool          is_full;
} message;

static void put_bytes(message *e, const void *bytes, size_t size)
{
    if (size > sizeof e->byte - e->size) {
        e->is_full = true;
        return;
    }
    memcpy(e->byte + e->size, bytes, size);
    e->size += size;
}

static void put_varint(message *e, uint64_t value)
{
    unsigned char byte;

    do {
        byte = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        put_bytes(e, &byte, 1);
        value >>= 7;
    } while (value > 0);
}

static void put_key(message *e, uint32_t field, uint32_t type)
{
    put_varint(e, field << 3 | type);
}

/* Numbers of so many bytes, the lowest first. */
static void put_fixed(message *e, uint64_t bits, size_t size)
{
    unsigned char byte[sizeof bits];

    for (size_t i = 0; i < size; i++) byte[i] = (unsigned char)(bits >> 8 * i);
    put_bytes(e, byte, size);
}

static void put_text(message *e, uint32_t field, const char *text, size_t length)
{
    put_key(e, field, BYTES);
    put_varint(e, length);
    put_bytes(e, text, length);
}

static void put_wall_time(message *e, double wall_s)
{
    uint64_t bits;

    memcpy(&bits, &wall_s, sizeof bits);
    put_key(e, WALL_TIME, FIXED64);
    put_fixed(e, bits, sizeof bits);
}

void emp_event_begin(emp_event *e, int64_t step, double wall_s)
{
    e->step = step;
    e->wall_s = wall_s;
    e->size = 0;
    e->is_full = false;
}

void emp_event_add(emp_event *e, const char *tag, double value)
{
    const float number = (float)value;
    uint32_t    bits;
    message     inner = {.size = 0}, whole = {.size = 0};

    memcpy(&bits, &number, sizeof bits);
    put_text(&inner, TAG, tag, strnlen(tag, EMP_EVENT_TAG_BYTES - 1));
    put_key(&inner, SIMPLE_VALUE, FIXED32);
    put_fixed(&inner, bits, sizeof bits);
    put_text(&whole, VALUE, (const char *)inner.byte, inner.size);
    if (whole.size > sizeof e->byte - e->size) {
        e->is_full = true;
        return;
    }
    memcpy(e->byte + e->size, whole.byte, whole.size);
    e->size += whole.size;
}

/* ---- files ---- */

static bool write_record(FILE *file, const message *event)
{
    message head = {.size = 0}, tail = {.size = 0};

    put_fixed(&head, event->size, sizeof(uint64_t));
    put_fixed(&head, masked(head.byte, head.size), sizeof(uint32_t));
    put_fixed(&tail, masked(event->byte, event->size), sizeof(uint32_t));
    return fwrite(head.byte, 1, head.size, file) == head.size &&
           fwrite(event->byte, 1, event->size, file) == event->size &&
           fwrite(tail.byte, 1, tail.size, file) == tail.size;
}

bool emp_event_write(FILE *file, const emp_event *event)
{
    message whole = {.size = 0};

    put_wall_time(&whole, event->wall_s);
    put_key(&whole, STEP, VARINT);
    put_varint(&whole, (uint64_t)event->step);
    put_text(&whole, SUMMARY, (const char *)event->byte, event->size);
    return !whole.is_full && write_record(file, &whole);
}

bool emp_event_write_version(FILE *file, double wall_s)
{
    static const char version[] = "brain.Event:2";
    message           whole = {.size = 0};

    put_wall_time(&whole, wall_s);
    put_text(&whole, FILE_VERSION, version, sizeof version - 1);
    return write_record(file, &whole);
}

static uint64_t read_fixed(const unsigned char *byte, size_t size)
{
    uint64_t value = 0;

    for (size_t i = 0; i < size; i++) value |= (uint64_t)byte[i] << 8 * i;
    return value;
}

/* The step of an event that this module has written; 0: it has none. */
static int64_t step_of(const message *e)
{
    const size_t at = 1 + sizeof(double); /* behind the wall time */
    uint64_t     step = 0;

    if (e->size <= at || e->byte[at] != (STEP << 3 | VARINT)) return 0;
    for (size_t i = at + 1, shift = 0; i < e->size && shift < 64; i++, shift += 7) {
        step |= (uint64_t)(e->byte[i] & 0x7f) << shift;
        if ((e->byte[i] & 0x80) == 0) break;
    }
    return (int64_t)step;
}

/* The next record, if it is whole. */
static bool read_record(message *e, FILE *file)
{
    unsigned char head[HEAD], tail[sizeof(uint32_t)];

    if (fread(head, 1, sizeof head, file) != sizeof head) return false;
    if (read_fixed(head + sizeof(uint64_t), sizeof(uint32_t)) !=
        masked(head, sizeof(uint64_t)))
        return false;
    e->size = (size_t)read_fixed(head, sizeof(uint64_t));
    return e->size <= sizeof e->byte && fread(e->byte, 1, e->size, file) == e->size &&
           fread(tail, 1, sizeof tail, file) == sizeof tail &&
           read_fixed(tail, sizeof tail) == masked(e->byte, e->size);
}

long emp_event_end_of(FILE *file, int64_t step)
{
    message e = {.size = 0};
    long    end = 0;

    rewind(file);
    while (read_record(&e, file) && step_of(&e) <= step) end = ftell(file);
    return end;
}
