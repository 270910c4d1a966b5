// SPDX-License-Identifier: GPL-3.0-or-later
#include "parallel/homes.h"

#include <math.h>

enum { HALF = 2, FLOAT = 4 };

const emp_home_choice emp_home_choices[EMP_HOME_CHOICES] = {
    {1, 0, 0}, {0, 1, 0}, {1, 1, 0}, {1, 0, 1}, {1, 1, 1}};

bool emp_homes_choose(emp_degrees *d, const emp_home_choice *choice, bool keeps_zero)
{
    d->update = choice->update;
    d->activations = choice->activations;
    d->home = choice->home;
    if (d->home && !keeps_zero) d->zero = 3;
    return !(d->home || d->activations) ||
           (d->schedule != EMP_ORDER_ZERO_BUBBLE && d->schedule != EMP_ORDER_DUALPIPE);
}

/* A copy in waits for the buffer that the layer before the previous one has left, and so do kernels for the buffer whose
 * contents have gone out. Each direction of the link carries one copy at a time. */
int64_t emp_homes_pass_ns(const emp_layer_turn *layer, int32_t count)
{
    int64_t arrived = 0;      /* of the last copy in */
    int64_t gone[2] = {0, 0}; /* of the copies out of this and of the previous layer */
    int64_t done[2] = {0, 0}; /* likewise, of their kernels */
    int64_t end = 0;

    for (int32_t l = 0; l < count; l++) {
        const emp_layer_turn *t = &layer[l];
        int64_t               begin = emp_time_later(done[1], gone[0]);
        if (t->in_ns > 0) {
            arrived = emp_time_later(arrived, done[0]) + t->in_ns;
            begin = emp_time_later(begin, arrived);
        }
        done[0] = done[1];
        done[1] = begin + t->compute_ns;
        gone[0] = gone[1];
        if (t->out_ns > 0) gone[1] = emp_time_later(gone[1], done[1]) + t->out_ns;
        end = emp_time_later(done[1], gone[1]);
    }
    return end;
}

static int64_t copy_ns(const emp_cluster *c, double bytes)
{
    if (bytes <= 0.0) return 0;
    return llround(1e9 * (c->host.link.latency_s + bytes / c->host.link.bytes_per_s));
}

void emp_homes_copies(emp_layer_turn *turn, const emp_parallel *p, const emp_work *w,
                      const emp_rank_parameters *n, bool is_forward)
{
    const emp_degrees *d = p->degrees;
    const emp_cluster *c = p->cluster;
    const double       activations = d->activations ? w->activation_bytes : 0.0;
    double             in = 0.0, out = 0.0, added_s = 0.0;

    if (d->home) in += w->row_bytes > 0.0 ? w->row_bytes : HALF * n->held;
    if (d->home && w->row_bytes > 0.0 && !is_forward) in = 0.0;
    if (d->home && !is_forward) {
        out += w->row_bytes > 0.0 ? w->row_bytes : HALF * n->updated;
        if (d->micro_batches > 1)
            added_s = (HALF + 2.0 * FLOAT) *
                      (w->row_bytes > 0.0 ? w->row_bytes / HALF : n->updated) /
                      c->host.bytes_per_s;
    }
    if (is_forward)
        out += activations;
    else
        in += activations;
    turn->in_ns = copy_ns(c, in);
    turn->out_ns = emp_time_later(copy_ns(c, out), llround(1e9 * added_s));
}

/* The norm reads the gradients and clipping reads and writes them, on the GPU unless the gradients are on the host. Adam reads
 * gradient, weight and two moments in fp32 and writes the last three and the weight in half precision. */
double emp_homes_update_s(const emp_parallel *p, double own)
{
    const emp_cluster *c = p->cluster;
    const double       adam_s = (7.0 * FLOAT + HALF) * own / c->host.bytes_per_s;

    if (p->degrees->home) return adam_s + 3.0 * FLOAT * own / c->host.bytes_per_s;
    return adam_s + (double)(copy_ns(c, FLOAT * own) + copy_ns(c, HALF * own)) * 1e-9;
}

double emp_homes_bytes(const emp_degrees *d, const emp_rank_parameters *n, double live)
{
    double bytes = d->activations ? live : 0.0;

    if (d->update) bytes += 4.0 * FLOAT * n->updated;
    if (d->home) bytes += HALF * n->held;
    return bytes;
}

emp_status emp_homes_check(const emp_parallel *p, bool has_weight_passes, emp_error *err)
{
    const emp_degrees *d = p->degrees;

    if (!emp_homes_any(d)) return EMP_OK;
    if (p->cluster->host.memory_bytes == 0)
        return EMP_ERROR(EMP_EINVAL,
                         "home=host, update=host and activations=host need a host, and "
                         "%s has none",
                         p->cluster->name);
    if (d->home && !d->update)
        return EMP_ERROR(EMP_EINVAL,
                         "home=host leaves gradients on the host, too, and needs "
                         "update=host");
    if (d->home && d->zero < 3 && p->shape[EMP_GROUP_DATA].size > 1)
        return EMP_ERROR(EMP_EINVAL,
                         "home=host with %d replicas needs zero=3, by which each keeps "
                         "its part of the weights on its host",
                         p->shape[EMP_GROUP_DATA].size);
    if (has_weight_passes && (d->home || d->activations))
        return EMP_ERROR(EMP_EINVAL,
                         "home=host and activations=host need a schedule without passes "
                         "for weights, such as 1f1b");
    return EMP_OK;
}
