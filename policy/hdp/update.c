// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hdp/update.h"

emp_reinforce_rules emp_hdp_rules(const emp_hdp_options *o)
{
    return (emp_reinforce_rules){.failure = o->failure,
                                 .form = o->reward,
                                 .updates_failures = o->updates_failures,
                                 .baseline_decay = o->baseline_decay,
                                 .baseline_first = o->baseline_first};
}

double emp_hdp_ascend(emp_params *params, const emp_hdp_options *o)
{
    const emp_adam adam = {
        .learning_rate = o->lr, .beta1 = 0.9, .beta2 = 0.999, .epsilon = o->epsilon};

    return emp_params_ascend(params, o->clip, &adam);
}
