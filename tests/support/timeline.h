/** \file tests/support/timeline.h
 * Whether a timeline is what Perfetto shows without complaint, and what it holds.
 */
#ifndef EMP_TESTS_SUPPORT_TIMELINE_H
#define EMP_TESTS_SUPPORT_TIMELINE_H

#include <jansson.h>

/** Expects that names come first and all else in the order of time; that every slice has a
 * length, and none overlaps another of its track; that every arrow binds to a slice at each end
 * and does not point back in time. */
void timeline_expect_valid(const json_t *root);

/** The highest value of a process's counter, or 0. */
json_int_t timeline_highest(const json_t *root, const char *counter, int pid);

/** A time of an event ("ts", "dur") in nanoseconds. */
json_int_t timeline_ns(const json_t *event, const char *key);

#endif /* EMP_TESTS_SUPPORT_TIMELINE_H */
