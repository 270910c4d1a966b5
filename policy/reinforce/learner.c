// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/reinforce/learner.h"

#include <math.h>
#include <string.h>

#include "policy/nn/categorical.h"
#include "policy/nn/threads.h"
#include "search/method.h"

static const double SHORTEST_S = 1e-9;

double emp_reward(emp_reward_form form, double seconds)
{
    switch (form) {
    case EMP_REWARD_SQRT: return -sqrt(seconds);
    case EMP_REWARD_IDENTITY: return -seconds;
    case EMP_REWARD_LOG: return -log(fmax(seconds, SHORTEST_S));
    }
    return 0.0;
}

static double failure_reward(const emp_reinforce_rules *rules)
{
    return emp_reward(rules->form, rules->failure * rules->failure);
}

static double reward_of(const emp_reinforce_rules *rules, const emp_score *score)
{
    return score->is_feasible ? emp_reward(rules->form, score->step_time_s)
                              : failure_reward(rules);
}

/* The mean reward of the *ran placements that ran. */
static double mean_of_ran(const emp_reinforce_rules *rules, const emp_score *scores,
                          int32_t count, int32_t *ran)
{
    double sum = 0.0;

    *ran = 0;
    for (int32_t k = 0; k < count; k++) {
        if (!scores[k].is_feasible) continue;
        sum += reward_of(rules, &scores[k]);
        ++*ran;
    }
    return *ran > 0 ? sum / *ran : 0.0;
}

/* Before the samples are judged; \a mean is taken over the \a ran that ran. */
static void start_baseline(const emp_reinforce_rules *rules, emp_baseline *baseline,
                           int32_t ran, double mean)
{
    if (baseline->ran == 0)
        baseline->value = ran > 0 && rules->baseline_first ? mean : failure_reward(rules);
    if (rules->baseline_mean && ran > 0)
        baseline->value = baseline->ran == 0
                              ? mean
                              : baseline->value + (mean - baseline->value) * ran /
                                                      ((double)baseline->ran + ran);
    baseline->ran += ran < INT32_MAX - baseline->ran ? ran : INT32_MAX - baseline->ran;
}

/* The deviation of rewards that ran, with this update's; 1 where none is known yet. */
static double deviation(const emp_reinforce_rules *rules, emp_baseline *baseline,
                        const emp_score *scores, int32_t count, double mean, int32_t ran)
{
    double sum = 0.0;

    if (rules->cap <= 0) return 1.0;
    for (int32_t k = 0; k < count; k++) {
        double distance = reward_of(rules, &scores[k]) - mean;
        if (scores[k].is_feasible) sum += distance * distance;
    }
    if (ran > 1) {
        double decay = baseline->square > 0 ? rules->baseline_decay : 0.0;
        baseline->square = decay * baseline->square + (1.0 - decay) * sum / (ran - 1);
    }
    return baseline->square > 0 ? sqrt(baseline->square) : 1.0;
}

static double advantage_of(const emp_reinforce_rules *rules, double distance, double unit)
{
    if (rules->cap <= 0) return distance;
    return fmax(-rules->cap, fmin(rules->cap, distance / unit));
}

emp_judgement emp_reinforce_judge(const emp_reinforce_rules *rules,
                                  emp_baseline *baseline, int64_t update,
                                  const emp_score *scores, int32_t count)
{
    const double  decay = rules->baseline_decay;
    emp_judgement j = {.count = 0};
    bool          takes_part[EMP_MAX_TOLD];
    int32_t       ran;
    const double  mean = mean_of_ran(rules, scores, count, &ran);

    const bool failures_teach =
        update < rules->updates_failures ||
        (rules->failures_share > 0 && count - ran >= rules->failures_share * count);
    const double unit = deviation(rules, baseline, scores, count, mean, ran);

    start_baseline(rules, baseline, ran, mean);
    for (int32_t k = 0; k < count; k++) {
        takes_part[k] = scores[k].is_feasible || failures_teach;
        j.reward += reward_of(rules, &scores[k]) / count;
        j.count += takes_part[k];
    }
    for (int32_t k = 0; k < count; k++) {
        if (!takes_part[k]) continue;
        j.weight[k] =
            advantage_of(rules, reward_of(rules, &scores[k]) - baseline->value, unit) /
            j.count;
        j.advantage += j.weight[k];
    }
    if (rules->baseline_mean) return j;
    if (rules->baseline_failures && update < rules->updates_failures)
        baseline->value = decay * baseline->value + (1.0 - decay) * j.reward;
    else if (ran > 0)
        baseline->value = decay * baseline->value + (1.0 - decay) * mean;
    return j;
}

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
    unsigned saved = emp_flush_begin();
    if (l->type->look != NULL) l->type->look(l, scores, count, first, own);
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
        emp_adam               adam = o->adam;
        if (net->rate > 0) adam.learning_rate = net->rate;
        l->metric[net->norm].value =
            is_learning ? emp_params_ascend(net->params, o->clip, &adam) : 0.0;
    }
    if (l->type->finish != NULL) l->type->finish(l);
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
    if (l->options.rules.cap > 0)
        arrays[n++] =
            (emp_named_array){"baseline_square", EMP_ARRAY_DOUBLE, 1, &b->square};
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

static void add_reward(emp_rewards *r, double reward)
{
    double before = reward - r->mean;

    r->mean += before / (double)++r->count;
    r->squares += before * (reward - r->mean);
}

void emp_rewards_judge(emp_rewards *rewards, double *advantage, const double *reward,
                       int32_t count)
{
    emp_rewards now = *rewards, before = *rewards;

    for (int32_t k = 0; k < count; k++) add_reward(&now, reward[k]);
    if (before.count == 0) before = now;
    double deviation =
        before.count > 0 ? sqrt(before.squares / (double)before.count) : 0.0;
    for (int32_t k = 0; k < count; k++)
        advantage[k] = (reward[k] - before.mean) / (deviation > 1e-9 ? deviation : 1.0);
    *rewards = now;
}

void emp_row_ppo_gather(const emp_row_ppo *ppo, const uint8_t *choice,
                        const double *advantage, int32_t samples)
{
    const size_t bytes = (size_t)ppo->rows * (size_t)ppo->choices * sizeof *ppo->above;

    memset(ppo->above, 0, bytes);
    memset(ppo->below, 0, bytes);
    for (int64_t k = 0; k < samples; k++) {
        emp_real *sum = advantage[k] > 0.0 ? ppo->above : ppo->below;
        for (int64_t v = 0; v < ppo->rows; v++)
            sum[v * ppo->choices + choice[k * ppo->rows + v]] += (emp_real)advantage[k];
    }
}

static double ratio(emp_real p, emp_real q)
{
    return q > 0 ? (double)p / (double)q : 0.0;
}

/* r times the advantages that the clip does not hold back: d J / d ln p, but for the factor. */
static double pull(const emp_row_ppo *ppo, int64_t at, double r)
{
    return (r < 1.0 + ppo->clip ? r * (double)ppo->above[at] : 0.0) +
           (r > 1.0 - ppo->clip ? r * (double)ppo->below[at] : 0.0);
}

void emp_row_ppo_gradient(const emp_row_ppo *ppo, emp_real *d_logits, const emp_real *p,
                          const emp_real *q, int32_t samples, double entropy)
{
    const double  factor = 1.0 / ((double)samples * ppo->rows);
    const int64_t A = ppo->choices;

    for (int64_t first = 0; first < ppo->rows * A; first += A) {
        double all = 0.0;
        for (int64_t i = first; i < first + A; i++) {
            double one = factor * pull(ppo, i, ratio(p[i], q[i]));
            d_logits[i] = (emp_real)one;
            all += one;
        }
        for (int64_t i = first; i < first + A; i++)
            d_logits[i] -= (emp_real)(all * (double)p[i]);
        emp_categorical_entropy_gradient(&d_logits[first], &p[first], ppo->choices,
                                         entropy / ppo->rows);
    }
}

double emp_row_ppo_objective(const emp_row_ppo *ppo, const emp_real *p, const emp_real *q,
                             int32_t samples)
{
    double sum = 0.0;

    for (int64_t i = 0; i < (int64_t)ppo->rows * ppo->choices; i++) {
        double r = ratio(p[i], q[i]);
        sum += fmin(r, 1.0 + ppo->clip) * (double)ppo->above[i] +
               fmax(r, 1.0 - ppo->clip) * (double)ppo->below[i];
    }
    return sum / ((double)samples * ppo->rows);
}
