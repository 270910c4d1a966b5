// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/speed/speed.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/work.h"
#include "bench/speed/limit.h"
#include "bench/speed/torch.h"

/* A network that has taken so long, ours and theirs, ends with its third round. */
enum { ROUNDS_MIN = 3, NETWORK_S_MAX = 30 };

/* One network: measured on all numbers of threads in turn, so that it and its peer make
 * the same sequence of updates. */
typedef struct {
    const emp_speed_params *params;
    emp_stand               stand;
    emp_torch              *torch;                    /* NULL = absent */
    double                 *ours_s, *torch_s, *ratio; /* [threads][round] */
    double                  limit_s[EMP_SPEED_MAX];   /* [threads] */
    double                  disagreement;
    int32_t                 rounds;
} subject;

static emp_status update_both(subject *s, int32_t threads, double *ours_s,
                              double *torch_s, emp_error *err)
{
    emp_torch_update theirs;
    double           wall_s = emp_clock_now_s(), cpu_s = emp_clock_thread_s();
    double           loss = emp_stand_update(&s->stand, threads);

    *ours_s = threads > 1 ? emp_clock_now_s() - wall_s : emp_clock_thread_s() - cpu_s;
    if (s->torch == NULL) return EMP_OK;
    EMP_CHECK(emp_torch_run(s->torch, threads, &theirs, err));
    *torch_s = threads > 1 ? theirs.wall_s : theirs.cpu_s;
    double off = fabs(loss / theirs.loss - 1);
    if (!(off <= s->disagreement)) s->disagreement = isnan(off) ? INFINITY : off;
    return EMP_OK;
}

static emp_status set_up(subject *s, const emp_stand_params *network, const char *python,
                         emp_error *err)
{
    size_t count = (size_t)s->params->threads_count * (size_t)s->params->repeats;
    double unused;

    EMP_CHECK(emp_stand_init(&s->stand, network, err));
    EMP_CHECK(EMP_ALLOC(s->ours_s, count));
    EMP_CHECK(EMP_ALLOC(s->torch_s, count));
    EMP_CHECK(EMP_ALLOC(s->ratio, count));
    if (python != NULL) EMP_CHECK(emp_torch_create(&s->torch, python, &s->stand, err));
    /* The first updates pay for cold memory and start threads. */
    for (int32_t i = 0; i < s->params->threads_count; i++)
        EMP_CHECK(update_both(s, s->params->threads[i], &unused, &unused, err));
    return EMP_OK;
}

/* Progress in updates. */
typedef struct {
    double done, all;
} progress;

static emp_status go_on(const emp_speed_params *params, progress *work, double more,
                        emp_error *err)
{
    work->done += more;
    if (params->on_progress != NULL)
        params->on_progress(params->context, work->done / work->all);
    if (emp_stop_is_set(params->stop)) return EMP_ERROR(EMP_EINTERRUPTED, "interrupted");
    return EMP_OK;
}

static emp_status run_rounds(subject *s, progress *work, emp_error *err)
{
    int32_t repeats = s->params->repeats;
    double  start_s = emp_clock_now_s();

    for (int32_t r = 0; r < repeats; r++) {
        if (r >= ROUNDS_MIN && emp_clock_now_s() - start_s > NETWORK_S_MAX) {
            EMP_CHECK(go_on(s->params, work, repeats - r, err));
            break;
        }
        for (int32_t i = 0; i < s->params->threads_count; i++) {
            int32_t at = i * repeats + r;
            EMP_CHECK(update_both(s, s->params->threads[i], &s->ours_s[at],
                                  &s->torch_s[at], err));
            s->ratio[at] = s->torch_s[at] / s->ours_s[at];
        }
        s->rounds++;
        EMP_CHECK(go_on(s->params, work, 1, err));
    }
    return EMP_OK;
}

static void add_rows(emp_speed_report *report, const subject *s)
{
    emp_stand_work work = emp_stand_work_of(&s->stand);
    size_t         rounds = (size_t)s->rounds, theirs = s->torch != NULL ? rounds : 0;

    for (int32_t i = 0; i < s->params->threads_count; i++) {
        int32_t at = i * s->params->repeats;
        report->row[report->row_count++] =
            (emp_speed_row){.network = s->stand.params,
                            .threads = s->params->threads[i],
                            .ours_s = emp_quartiles_of(&s->ours_s[at], rounds),
                            .torch_s = emp_quartiles_of(&s->torch_s[at], theirs),
                            .ratio = emp_quartiles_of(&s->ratio[at], theirs),
                            .flops = emp_stand_flops(&work),
                            .stream_bytes = emp_stand_stream_bytes(&work),
                            .limit_s = s->limit_s[i],
                            .disagreement = s->torch != NULL ? s->disagreement : NAN};
    }
}

static emp_status measure_network(emp_speed_report *report, emp_stand_params network,
                                  const char *python, progress *all, emp_error *err)
{
    emp_status     st = EMP_OK;
    subject        s = {.params = &report->params};
    emp_stand_work work;

    network.seed = report->params.seed;
    for (int32_t i = 0; i < report->params.threads_count; i++)
        if (report->params.threads[i] > network.threads)
            network.threads = report->params.threads[i];
    EMP_TRY(set_up(&s, &network, python, err));
    work = emp_stand_work_of(&s.stand);
    for (int32_t i = 0; i < s.params->threads_count; i++)
        EMP_TRY(emp_limit_measure(&s.limit_s[i], &work, s.params->threads[i], err));
    EMP_TRY(run_rounds(&s, all, err));
    add_rows(report, &s);
cleanup:
    emp_torch_destroy(s.torch);
    emp_stand_clear(&s.stand);
    emp_free(s.ours_s);
    emp_free(s.torch_s);
    emp_free(s.ratio);
    return st;
}

static bool has_network(const emp_speed_params *p, emp_stand_kind kind)
{
    return p->networks >> kind & 1u;
}

/* Samples of an update, as the presets `emplace` have them. */
enum { GO_SAMPLES = 64, DOPPLER_SAMPLES = 8, HSDAG_SAMPLES = 20 };

/* Those whose sizes are one, and then a placer for each number of cells and of samples. */
static int32_t list_networks(emp_stand_params        network[EMP_SPEED_NETWORKS],
                             const emp_speed_params *p)
{
    int32_t count = 0;

    if (has_network(p, EMP_STAND_GROUPER))
        network[count++] = (emp_stand_params){.kind = EMP_STAND_GROUPER,
                                              .hidden = EMP_STAND_GROUPER_HIDDEN,
                                              .samples = 1,
                                              .groups = p->groups,
                                              .ops = p->ops};
    if (has_network(p, EMP_STAND_GO))
        network[count++] = (emp_stand_params){.kind = EMP_STAND_GO,
                                              .hidden = EMP_STAND_GO_HIDDEN,
                                              .samples = GO_SAMPLES,
                                              .ops = p->nodes};
    if (has_network(p, EMP_STAND_PLACETO))
        network[count++] = (emp_stand_params){.kind = EMP_STAND_PLACETO,
                                              .hidden = EMP_STAND_PLACETO_HIDDEN,
                                              .samples = 1,
                                              .groups = p->steps};
    if (has_network(p, EMP_STAND_DOPPLER))
        network[count++] = (emp_stand_params){.kind = EMP_STAND_DOPPLER,
                                              .hidden = EMP_STAND_DOPPLER_HIDDEN,
                                              .samples = DOPPLER_SAMPLES,
                                              .groups = p->steps};
    if (has_network(p, EMP_STAND_HSDAG))
        network[count++] = (emp_stand_params){.kind = EMP_STAND_HSDAG,
                                              .hidden = EMP_STAND_HSDAG_HIDDEN,
                                              .samples = HSDAG_SAMPLES,
                                              .ops = p->sets};
    if (has_network(p, EMP_STAND_GIPH))
        network[count++] = (emp_stand_params){.kind = EMP_STAND_GIPH,
                                              .hidden = EMP_GIPH_HIDDEN,
                                              .samples = 1,
                                              .groups = p->steps};
    for (int32_t i = 0;
         has_network(p, EMP_STAND_PLACER) && i < p->hidden_count * p->samples_count; i++)
        network[count++] = (emp_stand_params){.kind = EMP_STAND_PLACER,
                                              .hidden = p->hidden[i / p->samples_count],
                                              .samples = p->samples[i % p->samples_count],
                                              .groups = p->groups,
                                              .ops = p->ops};
    return count;
}

static emp_status check_steps(const emp_speed_params *p, emp_stand_kind kind,
                              int32_t most, emp_error *err)
{
    if (!has_network(p, kind) || p->steps <= most) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL, "%s is timed with at most %d steps, not with %d",
                     emp_stand_name(kind), most, p->steps);
}

emp_status emp_speed_measure(emp_speed_report *report, const emp_speed_params *p,
                             emp_error *err)
{
    const char      *python;
    emp_stand_params network[EMP_SPEED_NETWORKS];
    const int32_t    count = list_networks(network, p);
    progress         work = {0, count * p->repeats};

    EMP_CHECK(check_steps(p, EMP_STAND_DOPPLER, EMP_STAND_DOPPLER_NODES, err));
    EMP_CHECK(check_steps(p, EMP_STAND_GIPH, EMP_STAND_GIPH_NODES, err));
    python = p->has_torch ? emp_torch_find() : NULL;
    memset(report, 0, sizeof *report);
    report->params = *p;
    report->torch_is_absent = p->has_torch && python == NULL;
    for (int32_t i = 0; i < count; i++)
        EMP_CHECK(measure_network(report, network[i], python, &work, err));
    return EMP_OK;
}
