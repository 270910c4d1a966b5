// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/reinforce/learner.h"

#include <math.h>

#include "policy/nn/flush.h"
#include "search/method.h"

/* Metrics that every policy has. */
enum { LOSS, REWARD, BASELINE };

emp_learner emp_learner_start(const emp_learner_type    *type,
                              const emp_learner_options *options, emp_op_features *ops,
                              uint64_t seed, int32_t threads)
{
    emp_learner l = {.type = type,
                     .options = *options,
                     .ops = ops,
                     .seed = seed,
                     .draw_seed = seed,
                     .threads = threads < 1 ? 1 : threads};

    for (int32_t i = 0; i < type->metric_count; i++)
        l.metric[i] = (emp_method_metric){type->metrics[i], NAN};
    return l;
}

void emp_learner_add(emp_learner *l, emp_learner_net net)
{
    net.params->threads = l->threads;
    l->net[l->net_count++] = net;
}

emp_status emp_learner_check(const emp_learner *l, emp_error *err)
{
    bool is_sound = emp_count_is_valid(l->update) && l->baseline.ran >= 0;

    for (int32_t i = 0; i < l->net_count; i++)
        is_sound = is_sound && emp_count_is_valid(l->net[i].params->step);
    return is_sound ? EMP_OK
                    : EMP_ERROR(EMP_EFORMAT, "the saved state of a learner is damaged");
}

emp_status emp_learner_ask(void *state, const emp_owned_decision *candidates, int32_t max,
                           int32_t *count, emp_error *err)
{
    emp_learner   *l = (emp_learner *)state;
    const int32_t *row_of_op = l->ops->row_of_op;
    int32_t        samples = l->options.samples;

    if (max < 1)
        return EMP_ERROR(EMP_EINVAL, "asked for %d candidates, want at least 1", max);
    EMP_CHECK(emp_learner_check(l, err));
    *count = samples < max ? samples : max;
    l->type->propose(l, *count);
    if (emp_stop_is_set(l->stop)) return EMP_EINTERRUPTED;
    for (int32_t k = 0; k < *count; k++) {
        for (emp_op_id op = 0; op < l->ops->op_count; op++)
            candidates[k].device_of_op[op] =
                row_of_op[op] < 0 ? 0 : l->type->device(l, k, row_of_op[op]);
    }
    return EMP_OK;
}

emp_status emp_learner_tell(void *state, const emp_score *scores, int32_t count,
                            emp_error *err)
{
    emp_learner       *l = (emp_learner *)state;
    const emp_baseline before = l->baseline;

    if (count != l->drawn)
        return EMP_ERROR(EMP_EINVAL, "told %d scores of %d candidates", count, l->drawn);
    EMP_CHECK(emp_learner_backward(state, scores, count, 0, count, err));
    if (emp_stop_is_set(l->stop)) {
        l->baseline = before;
        return EMP_EINTERRUPTED;
    }
    emp_learner_step(state);
    return EMP_OK;
}

static emp_judgement judge(emp_learner *l, const emp_score *scores, int32_t count)
{
    if (l->type->judge != NULL) return l->type->judge(l, scores, count);
    return emp_reinforce_judge(&l->options.rules, &l->baseline, l->update, scores, count);
}

emp_status emp_learner_backward(void *state, const emp_score *scores, int32_t count,
                                int32_t first, int32_t own, emp_error *err)
{
    emp_learner *l = (emp_learner *)state;
    double       loss = 0.0, entropy = l->options.entropy;

    if (own > 0 && own != l->drawn)
        return EMP_ERROR(EMP_EINVAL, "told %d scores of %d candidates", own, l->drawn);
    unsigned            saved = emp_flush_begin();
    const emp_judgement j = judge(l, scores, count);
    l->has_gradient = j.count > 0;
    if (own == 0) {
        for (int32_t i = 0; i < l->net_count; i++)
            emp_params_zero_gradient(l->net[i].params);
    } else if (j.count > 0) {
        loss = l->type->take_gradients(l, j.weight + first, own,
                                       entropy * ((double)own / count));
    }
    emp_flush_end(saved);
    l->metric[LOSS].value = loss;
    l->metric[REWARD].value = j.reward;
    l->metric[BASELINE].value = l->baseline.value;
    for (int32_t i = 0; i < l->net_count; i++) l->metric[l->net[i].norm].value = NAN;
    l->type->report(l);
    return EMP_OK;
}

void emp_learner_step(void *state)
{
    emp_learner               *l = (emp_learner *)state;
    const emp_learner_options *o = &l->options;
    unsigned                   saved = emp_flush_begin();

    for (int32_t i = 0; i < l->net_count; i++) {
        const emp_learner_net *net = &l->net[i];
        bool                   is_learning = l->has_gradient != 0 && !net->is_fixed;
        l->metric[net->norm].value =
            is_learning ? emp_params_ascend(net->params, o->clip, &o->adam) : 0.0;
    }
    l->update++;
    emp_flush_end(saved);
}

int32_t emp_learner_list_gradient(void           *state,
                                  emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    emp_learner *l = (emp_learner *)state;
    int32_t      count = 0;

    arrays[count++] =
        (emp_named_array){"has_gradient", EMP_ARRAY_INT32, 1, &l->has_gradient};
    for (int32_t i = 0; i < l->net_count; i++) {
        const emp_learner_net *net = &l->net[i];
        if (net->is_fixed) continue;
        arrays[count++] = (emp_named_array){net->gradient, EMP_ARRAY_REAL,
                                            net->params->count, net->params->gradient};
    }
    return count;
}

int32_t emp_learner_list_values(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    emp_learner *l = (emp_learner *)state;
    int32_t      count = 0;

    arrays[count++] = (emp_named_array){"update", EMP_ARRAY_INT64, 1, &l->update};
    for (int32_t i = 0; i < l->net_count; i++) {
        const emp_learner_net *net = &l->net[i];
        if (net->is_fixed) continue;
        arrays[count++] = (emp_named_array){net->value, EMP_ARRAY_REAL,
                                            net->params->count, net->params->value};
    }
    return count;
}

/* Parameters and moments, behind the \a n arrays that are listed. */
static int32_t list_nets(emp_learner *l, emp_named_array *arrays, int32_t n)
{
    for (int32_t i = 0; i < l->net_count; i++) {
        const emp_learner_net *net = &l->net[i];
        emp_params            *p = net->params;
        arrays[n++] = (emp_named_array){net->step, EMP_ARRAY_INT64, 1, &p->step};
        arrays[n++] = (emp_named_array){net->value, EMP_ARRAY_REAL, p->count, p->value};
        arrays[n++] =
            (emp_named_array){net->moment1, EMP_ARRAY_REAL, p->count, p->moment1};
        arrays[n++] =
            (emp_named_array){net->moment2, EMP_ARRAY_REAL, p->count, p->moment2};
    }
    return n;
}

int32_t emp_learner_list_state(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    emp_learner  *l = (emp_learner *)state;
    emp_baseline *b = &l->baseline;
    int32_t       n = 0;

    arrays[n++] = (emp_named_array){"update", EMP_ARRAY_INT64, 1, &l->update};
    arrays[n++] = (emp_named_array){"baseline", EMP_ARRAY_DOUBLE, 1, &b->value};
    arrays[n++] = (emp_named_array){"has_baseline", EMP_ARRAY_INT32, 1, &b->ran};
    return list_nets(l, arrays, n);
}

int32_t emp_learner_list_weights(void           *state,
                                 emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    return list_nets((emp_learner *)state, arrays, 0);
}

double emp_learner_mean(const double *values, int32_t count)
{
    double sum = 0.0;

    for (int32_t i = 0; i < count; i++) sum += values[i];
    return count > 0 ? sum / count : NAN;
}

const emp_method_metric *emp_learner_metrics(const void *state, int32_t *count)
{
    const emp_learner *l = (const emp_learner *)state;

    *count = l->type->metric_count;
    return l->metric;
}

const emp_method_sharing emp_learner_sharing = {.backward = emp_learner_backward,
                                                .step = emp_learner_step,
                                                .list_gradient =
                                                    emp_learner_list_gradient,
                                                .list_values = emp_learner_list_values};
