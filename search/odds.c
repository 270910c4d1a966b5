// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/odds.h"

emp_device_odds emp_device_odds_of(const emp_machine *machine, uint32_t kinds)
{
    emp_device_odds odds = {0};
    double          sum = 0.0;

    for (emp_device_id d = 0; d < machine->device_count; d++) {
        if ((kinds >> machine->device[d].kind & 1u) == 0) continue;
        sum += machine->device[d].peak_flops_per_s;
        odds.device[odds.device_count] = d;
        odds.up_to[odds.device_count++] = sum;
    }
    for (int32_t i = 0; i < odds.device_count; i++) odds.up_to[i] /= sum;
    return odds;
}

emp_device_id emp_device_odds_draw(const emp_device_odds *odds, emp_rng *rng)
{
    double  u = emp_rng_uniform(rng);
    int32_t i = 0;

    while (i < odds->device_count - 1 && u >= odds->up_to[i]) i++;
    return odds->device[i];
}
