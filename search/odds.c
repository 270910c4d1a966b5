// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/odds.h"

emp_device_odds emp_device_odds_of(const emp_machine *machine)
{
    emp_device_odds odds = {.device_count = machine->device_count};
    double          sum = 0.0;

    for (int32_t d = 0; d < odds.device_count; d++) {
        sum += machine->device[d].peak_flops_per_s;
        odds.up_to[d] = sum;
    }
    for (int32_t d = 0; d < odds.device_count; d++) odds.up_to[d] /= sum;
    return odds;
}

emp_device_id emp_device_odds_draw(const emp_device_odds *odds, emp_rng *rng)
{
    double        u = emp_rng_uniform(rng);
    emp_device_id d = 0;

    while (d < odds->device_count - 1 && u >= odds->up_to[d]) d++;
    return d;
}
