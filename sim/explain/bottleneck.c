// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/explain/bottleneck.h"

static emp_bottleneck_kind kind_of(emp_explain_cause cause)
{
    switch (emp_explain_cause_idle(cause)) {
    case EMP_IDLE_ISSUE: return EMP_BOTTLENECK_HOST;
    case EMP_IDLE_TRANSFER: return EMP_BOTTLENECK_COPIES;
    case EMP_IDLE_MESSAGE: return EMP_BOTTLENECK_MESSAGES;
    case EMP_IDLE_STEP: return EMP_BOTTLENECK_STEP;
    default: return EMP_BOTTLENECK_COMPUTE;
    }
}

static emp_bottleneck longest_kind(const emp_explain *why)
{
    emp_time_ns    time_ns[EMP_BOTTLENECK_KINDS] = {0};
    emp_bottleneck longest = {.device = -1, .to = -1};

    for (int c = 0; c < EMP_CAUSE_COUNT; c++)
        time_ns[kind_of((emp_explain_cause)c)] += why->cause_ns[c];
    for (int k = 0; k < EMP_BOTTLENECK_KINDS; k++) {
        if (time_ns[k] <= longest.time_ns) continue;
        longest.kind = (emp_bottleneck_kind)k;
        longest.time_ns = time_ns[k];
    }
    return longest;
}

/* The device whose ops or whose host thread take the time of segment \a i. A copy waits for
 * the host thread at its end only just before it is received. */
static emp_device_id device_at(const emp_explain *why, int32_t i)
{
    const emp_explain_segment *s = &why->segment[i];
    bool is_received = s->tensor >= 0 && i + 1 < why->segment_count &&
                       why->segment[i + 1].cause == EMP_CAUSE_RECEIVE;

    if (s->cause == EMP_CAUSE_HOST_WAIT && is_received) return s->to;
    return s->busy >= 0 ? s->busy : s->device;
}

/* Fills the device, or the two ends, with most time of the kind. */
static void find_device(emp_bottleneck *b, const emp_explain *why)
{
    emp_time_ns time_ns[EMP_MAX_DEVICES][EMP_MAX_DEVICES] = {0};
    bool        has_ends =
        b->kind == EMP_BOTTLENECK_COPIES || b->kind == EMP_BOTTLENECK_MESSAGES;
    int32_t count = why->result.device_count;

    for (int32_t i = 0; i < why->segment_count; i++) {
        const emp_explain_segment *s = &why->segment[i];
        emp_device_id              device = device_at(why, i);
        if (kind_of(s->cause) != b->kind || device < 0) continue;
        time_ns[device][has_ends ? s->to : device] += s->end_ns - s->start_ns;
    }
    for (emp_device_id from = 0; from < count; from++) {
        for (emp_device_id to = 0; to < count; to++) {
            if (time_ns[from][to] <= b->device_ns) continue;
            b->device = from;
            b->to = has_ends ? to : -1;
            b->device_ns = time_ns[from][to];
        }
    }
}

emp_bottleneck emp_explain_bottleneck(const emp_explain *why)
{
    emp_bottleneck b = longest_kind(why);

    find_device(&b, why);
    return b;
}

const char *emp_bottleneck_key(emp_bottleneck_kind kind)
{
    static const char *const keys[] = {
#define X(name, key) key,
        EMP_BOTTLENECK_LIST(X)
#undef X
    };
    return keys[kind];
}
