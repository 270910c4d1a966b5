// SPDX-License-Identifier: GPL-3.0-or-later
/* Are event files what TensorBoard reads, and can they be gone on with? */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/io/event_file.h"
#include "tests/support/scratch.h"

static FILE *file;

static void set_up(void)
{
    scratch_create();
    file = fopen(scratch_path("events"), "w+");
    cr_assert_not_null(file);
}

static void tear_down(void)
{
    fclose(file);
    scratch_remove();
}

TestSuite(event_file, .init = set_up, .fini = tear_down);

static void add(int64_t step, double value)
{
    emp_event event;

    emp_event_begin(&event, step, 1.5);
    emp_event_add(&event, "loss", value);
    emp_event_add(&event, "best", 2.0);
    cr_assert(emp_event_write(file, &event));
}

/* The length of 24 bytes and its checksum are those with which every file of TensorFlow begins. */
Test(event_file, it_begins_as_those_of_tensorflow)
{
    static const unsigned char begin[] = {0x18, 0,    0,    0,    0,    0,   0,
                                          0,    0xa3, 0x7f, 0x4b, 0x22, 0x09};
    unsigned char              read[40];

    cr_assert(emp_event_write_version(file, 1.5));
    rewind(file);
    cr_assert_eq(fread(read, 1, sizeof read, file), 12 + 24 + 4);
    cr_expect_eq(memcmp(read, begin, sizeof begin), 0);
    cr_expect_eq(memcmp(read + 23, "brain.Event:2", 13), 0);
}

/* wall_time, step, and a summary of two values with tag and simple_value. */
Test(event_file, an_event_is_its_message)
{
    static const unsigned char message[] =
        "\x09\0\0\0\0\0\0\xf8\x3f\x10\xac\x02\x2a\x1a"
        "\x0a\x0b\x0a\x04loss\x15\0\0\0\x3f\x0a\x0b\x0a\x04"
        "best\x15\0\0\0\x40";
    unsigned char read[80];

    add(300, 0.5);
    rewind(file);
    cr_assert_eq(fread(read, 1, sizeof read, file), 12 + sizeof message - 1 + 4);
    cr_expect_eq(memcmp(read + 12, message, sizeof message - 1), 0);
}

Test(event_file, its_end_is_behind_the_last_whole_record_of_a_step)
{
    long end[4];

    cr_expect_eq(emp_event_end_of(file, 5), 0);
    cr_assert(emp_event_write_version(file, 1.5));
    end[0] = ftell(file);
    for (int i = 1; i < 4; i++) {
        add(100 * i, i);
        end[i] = ftell(file);
    }
    cr_expect_eq(emp_event_end_of(file, 0), end[0]);
    cr_expect_eq(emp_event_end_of(file, 250), end[2]);
    cr_expect_eq(emp_event_end_of(file, 300), end[3]);
    cr_assert_eq(fseek(file, end[2] + 20, SEEK_SET), 0); /* damage in the third */
    fputc('x', file);
    cr_expect_eq(emp_event_end_of(file, 300), end[2]);
    cr_assert_eq(fseek(file, 0, SEEK_SET), 0);
    fputs("a text", file);
    cr_expect_eq(emp_event_end_of(file, 300), 0);
}

Test(event_file, what_has_no_room_is_left_out)
{
    emp_event event;
    char      tag[EMP_EVENT_TAG_BYTES + 50];

    memset(tag, 'a', sizeof tag);
    tag[sizeof tag - 1] = '\0';
    emp_event_begin(&event, 1, 1.0);
    for (int i = 0; i < 100; i++) emp_event_add(&event, tag, i);
    cr_expect(event.is_full);
    cr_expect_gt(event.size, EMP_EVENT_BYTES - 200);
    cr_assert(emp_event_write(file, &event));
    cr_expect_gt(emp_event_end_of(file, 1), 0);
}
