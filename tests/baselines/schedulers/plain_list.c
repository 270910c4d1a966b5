// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/baselines/schedulers/plain_list.h"

#include <string.h>

static void begin(plain_list *p, const hand_tasks *h)
{
    memset(p, 0, sizeof *p);
    p->h = h;
    p->n = h->graph.task_count;
    p->devices = h->machine.device_count;
    memset(p->device, -1, sizeof p->device);
    memset(p->received, -1, sizeof p->received);
    memset(p->last, -1, sizeof p->last);
}

static long time_of(const plain_list *p, int v, int d)
{
    return p->h->time[v * p->devices + d];
}

static bool may_use(const plain_list *p, int v, int d)
{
    return p->h->devices[p->h->pin[v]] >> d & 1;
}

static int producer_of(const plain_list *p, int k) { return p->h->tensor[k].producer; }

static bool has_edge(const plain_list *p, int u, int v)
{
    for (int k = 0; k < p->h->graph.tensor_count; k++) {
        if (producer_of(p, k) == u && p->h->reads[k][v]) return true;
    }
    return false;
}

static long bytes_between(const plain_list *p, int u, int v)
{
    long bytes = 0;

    for (int k = 0; k < p->h->graph.tensor_count; k++) {
        if (producer_of(p, k) == u && p->h->reads[k][v])
            bytes += p->h->tensor[k].copy_bytes;
    }
    return bytes;
}

static long transfer(const plain_list *p, int from, int to, long bytes)
{
    return from == to ? 0 : p->h->latency_ns + bytes * p->h->byte_ns;
}

static bool is_ready(const plain_list *p, int v)
{
    if (p->device[v] >= 0) return false;
    for (int u = 0; u < p->n; u++) {
        if (has_edge(p, u, v) && p->device[u] < 0) return false;
    }
    return true;
}

/* ---- memory, from the bookings ---- */

static int device_of_pin(const plain_list *p, int pin)
{
    for (int v = 0; v < p->n; v++) {
        if (p->h->pin[v] == pin && p->device[v] >= 0) return p->device[v];
    }
    return -1;
}

/* Bytes of a tensor on a device; -1: it was never there. */
static long bytes_on(const plain_list *p, int k, int d)
{
    bool was_read = false;

    if (p->device[producer_of(p, k)] == d) return p->h->tensor[k].home_bytes;
    for (int v = 0; v < p->n; v++) was_read |= p->h->reads[k][v] && p->device[v] == d;
    return was_read ? p->h->tensor[k].copy_bytes : -1;
}

static long free_on(const plain_list *p, int d)
{
    long bytes = p->h->machine.device[d].memory_bytes;

    for (int pin = 0; pin < p->h->graph.pin_count; pin++) {
        if (device_of_pin(p, pin) == d) bytes -= p->h->persistent[pin];
    }
    for (int k = 0; k < p->h->graph.tensor_count; k++) {
        bool is_needed = false;
        if (p->device[producer_of(p, k)] < 0) continue;
        for (int v = 0; v < p->n; v++) is_needed |= p->h->reads[k][v] && p->device[v] < 0;
        if (is_needed && bytes_on(p, k, d) > 0) bytes -= bytes_on(p, k, d);
    }
    return bytes;
}

static bool may_go(const plain_list *p, int v, int d)
{
    int  pinned = device_of_pin(p, p->h->pin[v]);
    long bytes = p->h->workspace[v];

    if (!may_use(p, v, d) || (pinned >= 0 && pinned != d)) return false;
    if (pinned < 0) bytes += p->h->persistent[p->h->pin[v]];
    for (int k = 0; k < p->h->graph.tensor_count; k++) {
        if (producer_of(p, k) == v) bytes += p->h->tensor[k].home_bytes;
        if (p->h->reads[k][v] && bytes_on(p, k, d) < 0)
            bytes += p->h->tensor[k].copy_bytes;
    }
    return bytes <= free_on(p, d);
}

/* ---- time ---- */

static long arrival(const plain_list *p, int v, int d)
{
    long latest = 0;

    for (int u = 0; u < p->n; u++) {
        if (!has_edge(p, u, v)) continue;
        long at = p->end[u] + transfer(p, p->device[u], d, bytes_between(p, u, v));
        if (at > latest) latest = at;
    }
    return latest;
}

static bool is_idle(const plain_list *p, int d, long from, long to)
{
    for (int v = 0; v < p->n; v++) {
        if (p->device[v] == d && p->start[v] < p->end[v] && p->start[v] < to &&
            from < p->end[v]) {
            return false;
        }
    }
    return true;
}

static long first_gap(const plain_list *p, int v, int d)
{
    long start = arrival(p, v, d);

    while (!is_idle(p, d, start, start + time_of(p, v, d))) start++;
    return start;
}

static long free_from(const plain_list *p, int d)
{
    long latest = 0;

    for (int v = 0; v < p->n; v++) {
        if (p->device[v] == d && p->end[v] > latest) latest = p->end[v];
    }
    return latest;
}

static void book(plain_list *p, int v, int d, long start)
{
    p->device[v] = d;
    p->start[v] = start;
    p->end[v] = start + time_of(p, v, d);
}

/* ---- ranks ---- */

static double mean_time(const plain_list *p, int v)
{
    double sum = 0.0;
    int    count = 0;

    for (int d = 0; d < p->devices; d++) {
        if (may_use(p, v, d)) sum += (double)time_of(p, v, d), count++;
    }
    return sum / count;
}

/* The same operations as in task_graph.c, so that equal ranks are equal to the last bit. */
static double mean_transfer(const plain_list *p, int u, int v)
{
    double   latency = 0.0, byte = 0.0;
    uint64_t used = 0;
    int      pairs = 0;

    for (int pin = 0; pin < p->h->graph.pin_count; pin++) used |= p->h->devices[pin];
    for (int a = 0; a < p->devices; a++) {
        for (int b = 0; b < p->devices; b++) {
            if (a == b || !(used >> a & 1) || !(used >> b & 1)) continue;
            latency += p->h->machine.route[a][b].latency_s * 1e9;
            byte += 1e9 / p->h->machine.route[a][b].bytes_per_s;
            pairs++;
        }
    }
    return pairs == 0 ? 0.0
                      : latency / pairs + (double)bytes_between(p, u, v) * (byte / pairs);
}

static double level(const plain_list *p, int v, bool with_transfers)
{
    double longest = 0.0;

    for (int s = 0; s < p->n; s++) {
        if (!has_edge(p, v, s)) continue;
        double below =
            level(p, s, with_transfers) + (with_transfers ? mean_transfer(p, v, s) : 0.0);
        if (below > longest) longest = below;
    }
    return longest + mean_time(p, v);
}

static double oct(const plain_list *p, int v, int d)
{
    double worst = 0.0;

    for (int s = 0; s < p->n; s++) {
        double best = 1e300;
        if (!has_edge(p, v, s)) continue;
        for (int e = 0; e < p->devices; e++) {
            double after = 0.0;
            if (!may_use(p, s, e)) continue;
            after = oct(p, s, e) + (double)time_of(p, s, e);
            if (d != e) after += mean_transfer(p, v, s);
            if (after < best) best = after;
        }
        if (best > worst) worst = best;
    }
    return worst;
}

static double mean_oct(const plain_list *p, int v)
{
    double sum = 0.0;
    int    count = 0;

    for (int d = 0; d < p->devices; d++) {
        if (may_use(p, v, d)) sum += oct(p, v, d), count++;
    }
    return sum / count;
}

/* The ready task of the highest rank, -1: all are booked. */
static int highest(const plain_list *p, const double *rank)
{
    int best = -1;

    for (int v = 0; v < p->n; v++) {
        if (is_ready(p, v) && (best < 0 || rank[v] > rank[best])) best = v;
    }
    return best;
}

/* With the first gap where start + time + penalty is least. */
static void insert(plain_list *p, int v, bool looks_ahead)
{
    int    best = -1;
    double least = 0.0;

    for (int d = 0; d < p->devices; d++) {
        if (!may_go(p, v, d)) continue;
        double end = (double)(first_gap(p, v, d) + time_of(p, v, d));
        if (looks_ahead) end += oct(p, v, d);
        if (best < 0 || end < least) best = d, least = end;
    }
    if (best < 0)
        p->is_stuck = true;
    else
        book(p, v, best, first_gap(p, v, best));
}

void plain_heft(plain_list *p, const hand_tasks *h)
{
    double rank[HAND_TASKS];
    int    v;

    begin(p, h);
    for (v = 0; v < p->n; v++) rank[v] = level(p, v, true);
    while (!p->is_stuck && (v = highest(p, rank)) >= 0) insert(p, v, false);
}

void plain_peft(plain_list *p, const hand_tasks *h)
{
    double rank[HAND_TASKS];
    int    v;

    begin(p, h);
    for (v = 0; v < p->n; v++) rank[v] = mean_oct(p, v);
    while (!p->is_stuck && (v = highest(p, rank)) >= 0) insert(p, v, true);
}

void plain_etf(plain_list *p, const hand_tasks *h)
{
    begin(p, h);
    for (int booked = 0; booked < p->n; booked++) {
        int  task = -1, device = -1;
        long start = 0;
        for (int v = 0; v < p->n; v++) {
            for (int d = 0; d < p->devices; d++) {
                if (!is_ready(p, v) || !may_go(p, v, d)) continue;
                long at = arrival(p, v, d);
                if (free_from(p, d) > at) at = free_from(p, d);
                bool is_better =
                    task < 0 || at < start ||
                    (at == start && level(p, v, false) > level(p, task, false));
                if (is_better) task = v, device = d, start = at;
            }
        }
        p->is_stuck = task < 0;
        if (p->is_stuck) return;
        book(p, task, device, start);
    }
}

/* ---- critical path ---- */

static long end_after_all(const plain_list *p, int v, int d)
{
    long at = arrival(p, v, d), after = free_from(p, d);

    return (at > after ? at : after) + time_of(p, v, d);
}

/* The earliest end on any device; -1: it fits nowhere. */
static long earliest_end(const plain_list *p, int v)
{
    long earliest = -1;

    for (int d = 0; d < p->devices; d++) {
        if (!may_go(p, v, d)) continue;
        long end = end_after_all(p, v, d);
        if (earliest < 0 || end < earliest) earliest = end;
    }
    return earliest;
}

static bool is_all(const plain_list *p, const int *device)
{
    return memcmp(p->device, device, (size_t)p->n * sizeof *device) == 0;
}

static bool permits(plain_list *p, const double *rank, const int *device,
                    const long *start)
{
    int top = highest(p, rank);

    if (top < 0) return true;
    for (int v = 0; v < p->n; v++) {
        if (!is_ready(p, v) || rank[v] != rank[top]) continue;
        long end = earliest_end(p, v);
        int  d = device[v];
        if (end < 0 && is_all(p, device)) return true;
        if (d < 0 || !may_go(p, v, d) || end_after_all(p, v, d) != end) continue;
        if (start[v] != end - time_of(p, v, d)) continue;
        book(p, v, d, start[v]);
        if (permits(p, rank, device, start)) return true;
        p->device[v] = -1;
    }
    return false;
}

bool plain_critical_path_permits(plain_list *p, const hand_tasks *h, const int *device,
                                 const long *start)
{
    double rank[HAND_TASKS];

    begin(p, h);
    for (int v = 0; v < p->n; v++) rank[v] = level(p, v, true);
    return permits(p, rank, device, start);
}

/* ---- m-TOPO ---- */

static long bytes_of_pin(const plain_list *p, int pin)
{
    long bytes = p->h->persistent[pin];

    for (int v = 0; v < p->n; v++) bytes += p->h->pin[v] == pin ? p->h->workspace[v] : 0;
    for (int k = 0; k < p->h->graph.tensor_count; k++)
        bytes += p->h->pin[producer_of(p, k)] == pin ? p->h->tensor[k].home_bytes : 0;
    return bytes;
}

/* Device 0 is the CPU: groups that may use it and GPUs start there. Fused groups never
 * may. */
void plain_m_topo(plain_list *p, const hand_tasks *h)
{
    long total = 0, largest = 0, used[HAND_DEVICES] = {0};
    int  gpu = 1;

    begin(p, h);
    for (int pin = 0; pin < h->graph.pin_count; pin++) {
        if (h->devices[pin] & 1) continue;
        total += bytes_of_pin(p, pin);
        if (bytes_of_pin(p, pin) > largest) largest = bytes_of_pin(p, pin);
    }
    long cap = p->devices > 1 ? total / (p->devices - 1) + largest : 0;
    for (int v = 0; v < p->n; v++) {
        int device = device_of_pin(p, h->pin[v]);
        if (device < 0 && h->devices[h->pin[v]] & 1) device = 0;
        if (device < 0) {
            long bytes = bytes_of_pin(p, h->pin[v]);
            if (used[gpu] + bytes > cap) gpu++;
            used[gpu] += bytes;
            device = gpu;
        }
        long start = arrival(p, v, device);
        book(p, v, device, start > free_from(p, device) ? start : free_from(p, device));
    }
}

/* ---- m-ETF, m-SCT ---- */

/* Sends to device d what task v reads and is not there; when all of it is. */
static long deliver(plain_list *p, int v, int d)
{
    long latest = 0;

    for (int u = 0; u < p->n; u++) {
        long bytes = -1, at;
        if (!has_edge(p, u, v)) continue;
        if (p->end[u] > latest) latest = p->end[u];
        if (p->device[u] == d) continue;
        for (int k = 0; k < p->h->graph.tensor_count; k++) {
            if (producer_of(p, k) != u || !p->h->reads[k][v]) continue;
            if (p->received[k][d] < 0)
                bytes = (bytes < 0 ? 0 : bytes) + p->h->tensor[k].copy_bytes;
            else if (p->received[k][d] > latest)
                latest = p->received[k][d];
        }
        if (bytes < 0) continue;
        long lasts = transfer(p, p->device[u], d, bytes);
        at = p->end[u] > p->channel[p->device[u]] ? p->end[u] : p->channel[p->device[u]];
        p->channel[p->device[u]] = at + lasts;
        if (p->channel[d] > at) at = p->channel[d];
        p->channel[d] = at + lasts;
        if (at + lasts > latest) latest = at + lasts;
        for (int k = 0; k < p->h->graph.tensor_count; k++) {
            if (producer_of(p, k) == u && p->h->reads[k][v] && p->received[k][d] < 0)
                p->received[k][d] = at + lasts;
        }
    }
    return latest;
}

static long sched(const plain_list *p, int v, int d)
{
    plain_list copy = *p;
    long       at = deliver(&copy, v, d);

    return at > free_from(p, d) ? at : free_from(p, d);
}

/* The largest sched over devices is over. */
static bool is_urgent(const plain_list *p, int v, long now)
{
    for (int d = 0; d < p->devices; d++) {
        if (may_go(p, v, d) && sched(p, v, d) > now) return false;
    }
    return true;
}

/* The child that device d waits for at this time, or -1. */
static int child_of(const plain_list *p, const int *favourite, int d, long now)
{
    if (favourite == NULL || p->last[d] < 0 || free_from(p, d) > now) return -1;
    int child = favourite[p->last[d]];
    if (child < 0 || !is_ready(p, child) || !may_go(p, child, d)) return -1;
    for (int u = 0; u < p->n; u++) {
        if (has_edge(p, u, child) && p->end[u] > now) return -1;
    }
    for (int e = 0; e < p->devices; e++) {
        if (may_go(p, child, e) && sched(p, child, e) < sched(p, child, d)) return -1;
    }
    return child;
}

static bool book_one(plain_list *p, const int *favourite, long now)
{
    int  task = -1, device = -1;
    long least = 0;

    for (int v = 0; v < p->n; v++) {
        for (int d = 0; d < p->devices; d++) {
            if (!is_ready(p, v) || !may_go(p, v, d) || sched(p, v, d) > now) continue;
            int child = child_of(p, favourite, d, now);
            if (child >= 0 && child != v && !is_urgent(p, v, now)) continue;
            if (task < 0 || sched(p, v, d) < least)
                task = v, device = d, least = sched(p, v, d);
        }
    }
    if (task < 0) return false;
    deliver(p, task, device);
    book(p, task, device, now);
    p->last[device] = task;
    return true;
}

void plain_baechi(plain_list *p, const hand_tasks *h, const int *favourite)
{
    enum { LATEST = 1000 }; /* no schedule of such small numbers takes as long */
    int booked = 0;

    begin(p, h);
    for (long now = 0; now < LATEST && booked < p->n; now++) {
        while (book_one(p, favourite, now)) booked++;
    }
    p->is_stuck = booked < p->n;
}
