// SPDX-License-Identifier: GPL-3.0-or-later
/* Are events written in order, apart, and with all of their facts? */
#include <jansson.h>

#include "base/io/trace_events.h"
#include "tests/support/survive.h"
#include "tests/support/timeline.h"

EMP_OWNS(json_t, json_decref)
#define OWN_JSON EMP_OWNER(json_t)

static const emp_trace_track first = {1, 0}, second = {1, 1};

static json_t *read_back(emp_trace_events *e)
{
    OWN_FREE char *text = NULL;
    size_t         size = 0;
    FILE          *file = open_memstream(&text, &size);
    json_error_t   why;

    cr_assert_eq(emp_trace_write(e, file, NULL), EMP_OK);
    fclose(file);
    json_t *root = json_loads(text, 0, &why);
    cr_assert_not_null(root, "%s: %s", why.text, text);
    timeline_expect_valid(root);
    emp_trace_clear(e);
    return root;
}

static const json_t *event_of(const json_t *root, size_t number)
{
    return json_array_get(json_object_get(root, "traceEvents"), number);
}

static json_int_t number_of(const json_t *event, const char *key)
{
    return json_integer_value(json_object_get(event, key));
}

Test(trace_events, come_in_the_order_of_time)
{
    emp_trace_events e = {0};

    emp_trace_slice late = emp_trace_span(&e, "late", "op", first, 50, 60);
    emp_trace_slice early = emp_trace_span(&e, "early", "op", second, 7, 9);
    emp_trace_bytes(&e, "memory", 1, 20, 4096);
    emp_trace_flow(&e, early, late);
    emp_trace_name_process(&e, 1, "gpu:0");
    OWN_JSON    root = read_back(&e);
    const char *order = "MXsCXf";
    for (size_t i = 0; i < strlen(order); i++)
        cr_expect_eq(json_string_value(json_object_get(event_of(root, i), "ph"))[0],
                     order[i], "event %zu", i);
    cr_expect_eq(timeline_ns(event_of(root, 1), "ts"), 7);
    cr_expect_eq(timeline_ns(event_of(root, 1), "dur"), 2);
    cr_expect_eq(timeline_highest(root, "memory", 1), 4096);
}

Test(trace_events, what_takes_no_time_has_no_slice_and_no_facts)
{
    emp_trace_events e = {0};

    emp_trace_slice none = emp_trace_span(&e, "none", "op", first, 5, 5);
    cr_expect_eq(none, -1);
    emp_trace_arg_number(&e, none, "flops", 1);
    emp_trace_slice one = emp_trace_span(&e, "one", "op", first, 5, 6);
    emp_trace_flow(&e, none, one);
    OWN_JSON root = read_back(&e);
    cr_expect_eq(json_array_size(json_object_get(root, "traceEvents")), 1);
    cr_expect_null(json_object_get(event_of(root, 0), "args"));
}

/* Three slices, of which any two overlap but the first and the last. */
Test(trace_events, slices_that_overlap_get_further_tracks_of_the_same_name)
{
    emp_trace_events e = {0};

    emp_trace_name_track(&e, first, "copies");
    emp_trace_slice a = emp_trace_span(&e, "a", "copy", first, 0, 10);
    emp_trace_slice b = emp_trace_span(&e, "b", "copy", first, 5, 25);
    emp_trace_span(&e, "c", "copy", first, 10, 20);
    emp_trace_flow(&e, a, b);
    OWN_JSON root = read_back(&e);
    cr_expect_eq(number_of(event_of(root, 1), "tid"), EMP_TRACE_FURTHER);
    cr_expect_str_eq(json_string_value(json_object_get(
                         json_object_get(event_of(root, 1), "args"), "name")),
                     "copies");
    cr_expect_eq(number_of(event_of(root, 2), "tid"), 0, "a");
    cr_expect_eq(number_of(event_of(root, 4), "tid"), EMP_TRACE_FURTHER, "b");
    cr_expect_eq(number_of(event_of(root, 5), "tid"), EMP_TRACE_FURTHER, "its arrow");
    cr_expect_eq(number_of(event_of(root, 6), "tid"), 0, "c");
}

Test(trace_events, facts_are_escaped)
{
    emp_trace_events e = {0};

    emp_trace_slice slice = emp_trace_span(&e, "\"\\\n", "op", first, 0, 1);
    emp_trace_arg_text(&e, slice, "scope", "a\"\\\tb/c", 5);
    emp_trace_arg_number(&e, slice, "flops", -7);
    emp_trace_arg_flag(&e, slice, "critical", true);
    json_t       *root = read_back(&e);
    const json_t *args = json_object_get(event_of(root, 0), "args");
    cr_expect_str_eq(json_string_value(json_object_get(event_of(root, 0), "name")),
                     "\"\\\n");
    cr_expect_str_eq(json_string_value(json_object_get(args, "scope")), "a\"\\\tb");
    cr_expect_eq(number_of(args, "flops"), -7);
    cr_expect(json_is_true(json_object_get(args, "critical")));
    json_decref(root);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(trace_events, an_empty_timeline_is_json)
{
    emp_trace_events e = {0};
    OWN_JSON         root = read_back(&e);

    cr_expect_eq(json_array_size(json_object_get(root, "traceEvents")), 0);
}

static emp_status tell_and_write(emp_trace_events *e, FILE *file)
{
    emp_trace_name_track(e, first, "copies");
    for (int i = 0; i < 2000; i++) {
        emp_trace_slice slice = emp_trace_span(e, "a", "copy", first, i, i + 12);
        emp_trace_arg_text(e, slice, "scope", "scope", 5);
        emp_trace_flow(e, slice, slice);
    }
    return emp_trace_write(e, file, NULL);
}

Test(trace_events, survive_every_allocation_failure)
{
    emp_trace_events e = {0};
    FILE            *file = fopen("/dev/null", "w");

    SURVIVES_EVERY_ALLOCATION_FAILURE(tell_and_write(&e, file), emp_trace_clear(&e));
    emp_trace_clear(&e);
    fclose(file);
}
