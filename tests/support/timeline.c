// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/timeline.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TRACKS = 512 };

/* The slice that was last on a track. */
struct track {
    json_int_t pid, tid, start_ns, end_ns;
};

static const char *phase_of(const json_t *event)
{
    return json_string_value(json_object_get(event, "ph"));
}

static json_int_t number(const json_t *event, const char *key)
{
    return json_integer_value(json_object_get(event, key));
}

json_int_t timeline_ns(const json_t *event, const char *key)
{
    return llround(json_real_value(json_object_get(event, key)) * 1e3);
}

static struct track *track_of(struct track *tracks, int *count, const json_t *event)
{
    json_int_t pid = number(event, "pid"), tid = number(event, "tid");

    for (int i = 0; i < *count; i++)
        if (tracks[i].pid == pid && tracks[i].tid == tid) return &tracks[i];
    cr_assert_lt(*count, TRACKS);
    tracks[*count] = (struct track){pid, tid, -1, -1};
    return &tracks[(*count)++];
}

static void expect_slice(struct track *track, const json_t *event)
{
    json_int_t start = timeline_ns(event, "ts"), length = timeline_ns(event, "dur");

    cr_expect_gt(length, 0);
    cr_expect_geq(start, track->end_ns, "slices of track %d of process %d overlap",
                  (int)track->tid, (int)track->pid);
    track->start_ns = start;
    track->end_ns = start + length;
}

void timeline_expect_valid(const json_t *root)
{
    const json_t *events = json_object_get(root, "traceEvents"), *event;
    struct track *tracks = calloc(TRACKS, sizeof *tracks);
    json_int_t    now = -1;
    size_t        i;
    int           count = 0, begins = 0, ends = 0;

    cr_assert(json_is_array(events));
    json_array_foreach(events, i, event)
    {
        const char *phase = phase_of(event);
        if (strcmp(phase, "M") == 0) {
            cr_expect_eq(now, -1, "names come first");
            continue;
        }
        cr_expect_geq(timeline_ns(event, "ts"), now, "event %zu is not in order", i);
        now = timeline_ns(event, "ts");
        if (strcmp(phase, "C") == 0) continue;
        struct track *track = track_of(tracks, &count, event);
        if (strcmp(phase, "X") == 0) {
            expect_slice(track, event);
            continue;
        }
        cr_expect(track->start_ns == now && track->end_ns > now, "arrow %zu is loose", i);
        begins += strcmp(phase, "s") == 0;
        ends += strcmp(phase, "f") == 0;
        cr_expect_geq(begins, ends, "arrow %zu points back", i);
    }
    cr_expect_eq(begins, ends);
    free(tracks);
}

json_int_t timeline_highest(const json_t *root, const char *counter, int pid)
{
    const json_t *event;
    json_int_t    highest = 0;
    size_t        i;

    json_array_foreach(json_object_get(root, "traceEvents"), i, event)
    {
        if (strcmp(phase_of(event), "C") != 0 || number(event, "pid") != pid ||
            strcmp(json_string_value(json_object_get(event, "name")), counter) != 0)
            continue;
        json_int_t bytes = number(json_object_get(event, "args"), "bytes");
        if (bytes > highest) highest = bytes;
    }
    return highest;
}
