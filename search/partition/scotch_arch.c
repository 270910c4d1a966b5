// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/partition/scotch_arch.h"

#include <math.h>

enum {
    POWER_SCALE = 100,   /* power of the strongest device */
    DISTANCE_SCALE = 4,  /* distance of the nearest pair of devices ... */
    DISTANCE_LIMIT = 64, /* ... and the most of any pair: times all traffic, below 2^31 */
    SAMPLE_BYTES = 1 << 20
};

static void number_domains(const double *power, int32_t first, int32_t end, int32_t node,
                           int32_t *domain)
{
    double  total = 0.0, left;
    int32_t middle = first + 1;

    if (end - first == 1) {
        domain[first] = node;
        return;
    }
    for (int32_t p = first; p < end; p++) total += power[p];
    for (left = power[first];
         middle < end - 1 && left + 0.5 * power[middle] < 0.5 * total;)
        left += power[middle++];
    number_domains(power, first, middle, 2 * node, domain);
    number_domains(power, middle, end, 2 * node + 1, domain);
}

static double transfer_s(const emp_partition_target *target, int32_t p, int32_t q)
{
    const emp_route *route =
        &target->machine->route[target->device[p]][target->device[q]];

    return route->latency_s + SAMPLE_BYTES / route->bytes_per_s;
}

void emp_scotch_arch_powers(const emp_partition_target *target, int32_t *power)
{
    double strongest = 0.0;

    for (int32_t p = 0; p < target->count; p++)
        strongest = fmax(strongest, target->power[p]);
    for (int32_t p = 0; p < target->count; p++)
        power[p] = (int32_t)fmax(1.0, round(POWER_SCALE * target->power[p] / strongest));
}

void emp_scotch_arch_write(const emp_partition_target *target, FILE *file)
{
    int32_t power[EMP_MAX_DEVICES], domain[EMP_MAX_DEVICES], last_domain = 0;
    double  nearest_s = INFINITY;

    emp_scotch_arch_powers(target, power);
    number_domains(target->power, 0, target->count, 1, domain);
    for (int32_t p = 0; p < target->count; p++) {
        last_domain = domain[p] > last_domain ? domain[p] : last_domain;
        for (int32_t q = 0; q < p; q++)
            nearest_s = fmin(nearest_s, transfer_s(target, p, q));
    }
    fprintf(file, "deco 0\n%d %d\n", target->count, last_domain);
    for (int32_t p = 0; p < target->count; p++)
        fprintf(file, "%d %d %d\n", p, power[p], domain[p]);
    for (int32_t p = 1; p < target->count; p++) {
        for (int32_t q = 0; q < p; q++) {
            double distance =
                round(DISTANCE_SCALE * transfer_s(target, p, q) / nearest_s);
            fprintf(file, "%.0f ", fmin(distance, DISTANCE_LIMIT));
        }
        fputc('\n', file);
    }
}
