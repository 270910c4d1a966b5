// SPDX-License-Identifier: GPL-3.0-or-later
/* A method in a shared library, which a fork of this process loads and runs. The fork gets requests
 * and gives answers, both structs as they lie in memory; an answer brings its placements. */
#define _GNU_SOURCE /* realpath */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <emplace/placer.h>

#include "base/mem.h"
#include "run/outside/outside.h"

typedef enum { ASK, TELL } request_kind;

typedef struct {
    request_kind kind;
    int32_t      count; /* of placements wanted at most, or of scores that follow */
} request;

typedef struct {
    emp_status status;
    int32_t    count; /* of placements that follow */
    char       msg[EMP_ERROR_MSG_BYTES];
} answer;

/* ---- in the fork ---- */

typedef struct {
    const emp_problem       *problem;
    const emp_method_params *params;
    const char              *path;
    /* Used only by the fork. */
    emp_channel           *channel;
    const emp_placer_type *type;
    void                  *state;
    emp_device_id         *devices; /* [EMP_MAX_BATCH][op] */
    emp_device_id         *row[EMP_MAX_BATCH];
} worker;

static const emp_channel_wait forever = {.until_s = 1e300};

static emp_status load_type(worker *w, emp_error *err)
{
    char        whole[PATH_MAX];
    void       *library = NULL;
    struct stat info;

    if (stat(w->path, &info) == 0 &&
        !S_ISREG(info.st_mode)) /* a pipe would be waited for */
        return EMP_ERROR(EMP_EFORMAT, "it cannot be loaded: it is not a regular file");
    if (realpath(w->path, whole) != NULL) library = dlopen(whole, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return EMP_ERROR(EMP_EFORMAT, "it cannot be loaded: %s", dlerror());
    w->type = dlsym(library, "emp_placer");
    if (w->type == NULL)
        return EMP_ERROR(EMP_EFORMAT,
                         "it defines no emp_placer; <emplace/placer.h> says how");
    if (w->type->abi != EMP_PLACER_ABI)
        return EMP_ERROR(EMP_EUNSUPPORTED, "its emp_placer has abi %d, not %d",
                         w->type->abi, EMP_PLACER_ABI);
    if (w->type->ask == NULL)
        return EMP_ERROR(EMP_EFORMAT, "its emp_placer has no ask()");
    return EMP_OK;
}

static emp_status begin(worker *w, emp_error *err)
{
    const size_t            ops = (size_t)w->problem->graph->op_count;
    const emp_placer_params params = {
        .graph = w->problem->graph,
        .machine = w->problem->machine,
        .problem = w->problem,
        .seed = w->params->seed,
        .budget_evaluations = w->params->budget_evaluations,
        .options = w->params->options == NULL ? "" : w->params->options};
    emp_status st;

    EMP_CHECK(load_type(w, err));
    w->state = emp_calloc(1, w->type->state_bytes + 1);
    w->devices = emp_calloc(EMP_MAX_BATCH * ops, sizeof *w->devices);
    if (w->state == NULL || w->devices == NULL)
        return EMP_ERROR(EMP_ENOMEM, "room for %d placements", EMP_MAX_BATCH);
    for (int32_t i = 0; i < EMP_MAX_BATCH; i++) w->row[i] = w->devices + (size_t)i * ops;
    if (w->type->init == NULL) return EMP_OK;
    st = w->type->init(w->state, &params, err);
    if (st != EMP_OK && err->msg[0] == '\0')
        return EMP_ERROR(st, "init() fails with status %d", (int)st);
    return st;
}

static emp_status send_answer(const worker *w, emp_status st, int32_t count,
                              const emp_error *why)
{
    answer       a = {.status = st, .count = st == EMP_OK ? count : 0};
    const size_t ops = (size_t)w->problem->graph->op_count;

    snprintf(a.msg, sizeof a.msg, "%s", why->msg);
    EMP_CHECK(emp_channel_send(w->channel, &a, sizeof a, &forever, NULL));
    return emp_channel_send(w->channel, w->devices,
                            (size_t)a.count * ops * sizeof *w->devices, &forever, NULL);
}

static emp_status answer_ask(worker *w, int32_t max)
{
    emp_error  why = {0};
    int32_t    count = 0;
    emp_status st = w->type->ask(w->state, w->row, max, &count, &why);

    if (st != EMP_OK && why.msg[0] == '\0')
        snprintf(why.msg, sizeof why.msg, "ask() fails with status %d", (int)st);
    if (st == EMP_OK && (count < 0 || count > max)) {
        st = EMP_EFORMAT;
        snprintf(why.msg, sizeof why.msg, "ask() gives %d placements, and may give %d",
                 count, max);
    }
    return send_answer(w, st, count, &why);
}

static emp_status answer_tell(worker *w, int32_t count)
{
    emp_placer_score score[EMP_MAX_BATCH];
    emp_error        why = {0};
    emp_status       st = EMP_OK;

    EMP_CHECK(emp_channel_receive(w->channel, score, (size_t)count * sizeof *score,
                                  &forever, NULL));
    if (w->type->tell != NULL) st = w->type->tell(w->state, score, count, &why);
    if (st != EMP_OK && why.msg[0] == '\0')
        snprintf(why.msg, sizeof why.msg, "tell() fails with status %d", (int)st);
    return send_answer(w, st, 0, &why);
}

/* Until the other end closes. */
static void work(emp_channel *channel, void *context)
{
    worker    *w = context;
    request    r;
    emp_error  why = {0};
    emp_status st;

    w->channel = channel;
    st = begin(w, &why);
    if (send_answer(w, st, 0, &why) != EMP_OK || st != EMP_OK) return;
    while (emp_channel_receive(channel, &r, sizeof r, &forever, NULL) == EMP_OK) {
        st = r.kind == ASK ? answer_ask(w, r.count) : answer_tell(w, r.count);
        if (st != EMP_OK) return;
    }
    if (w->type->clear != NULL) w->type->clear(w->state);
}

/* ---- in the program ---- */

static void clear(void *state)
{
    emp_outsider *o = state;

    emp_channel_close(&o->channel);
}

/* Two codes say that no failure is to be reported, and the program acts on them: only its own
 * functions may give them. A number that is no code says nothing. */
static emp_status take_status(emp_status said)
{
    switch (said) {
    case EMP_EINVAL:
    case EMP_ENOMEM:
    case EMP_EIO:
    case EMP_EFORMAT:
    case EMP_ECYCLE:
    case EMP_EINFEASIBLE:
    case EMP_EUNSUPPORTED: return said;
    default: return EMP_EEXTERNAL;
    }
}

static emp_status receive_answer(emp_outsider *o, answer *a, emp_error *err)
{
    const emp_channel_wait wait = emp_outsider_wait(o);

    EMP_CHECK(emp_channel_receive(&o->channel, a, sizeof *a, &wait, err));
    a->msg[sizeof a->msg - 1] = '\0';
    if (a->status != EMP_OK) return EMP_ERROR(take_status(a->status), "%s", a->msg);
    return EMP_OK;
}

static emp_status init(void *state, const emp_problem *problem,
                       const emp_method_params *params, emp_error *err)
{
    emp_outsider *o = state;
    worker        w = {.problem = problem, .params = params, .path = params->type->own};
    emp_error     why = {0};
    answer        a;

    EMP_CHECK(emp_outsider_init(o, problem, params, err));
    emp_status st = emp_channel_fork(&o->channel, work, &w, &why);
    if (st == EMP_OK) st = receive_answer(o, &a, &why);
    if (st == EMP_OK) return EMP_OK;
    return EMP_ERROR(st, "method %s: %s", o->name, why.msg);
}

static emp_status receive_placements(emp_outsider             *o,
                                     const emp_owned_decision *candidates, int32_t max,
                                     int32_t *count, emp_error *err)
{
    const size_t           ops = (size_t)o->problem->graph->op_count;
    const request          r = {ASK, max};
    const emp_channel_wait wait = emp_outsider_wait(o);
    answer                 a;

    EMP_CHECK(emp_channel_send(&o->channel, &r, sizeof r, &wait, err));
    EMP_CHECK(receive_answer(o, &a, err));
    if (a.count < 0 || a.count > max)
        return EMP_ERROR(EMP_EFORMAT, "its answer has %d placements of %d", a.count, max);
    for (int32_t i = 0; i < a.count; i++) {
        emp_device_id *to = candidates[i].device_of_op;
        EMP_CHECK(emp_channel_receive(&o->channel, to, ops * sizeof *to, &wait, err));
        EMP_CHECK(emp_outsider_check(o, i, to, err));
    }
    *count = a.count;
    return EMP_OK;
}

static emp_status ask(void *state, const emp_owned_decision *candidates, int32_t max,
                      int32_t *count, emp_error *err)
{
    emp_outsider *o = state;
    emp_error     why = {0};

    *count = 0;
    emp_status st = receive_placements(o, candidates, max, count, &why);
    return st == EMP_OK ? EMP_OK : emp_outsider_fail(o, st, &why, err);
}

static emp_status send_scores(emp_outsider *o, const emp_score *scores, int32_t count,
                              emp_error *err)
{
    const request          r = {TELL, count};
    const emp_channel_wait wait = emp_outsider_wait(o);
    emp_placer_score       told[EMP_MAX_BATCH] = {0};
    answer                 a;

    for (int32_t i = 0; i < count; i++)
        told[i] = (emp_placer_score){.step_time_ns = scores[i].result->step_time_ns,
                                     .is_feasible = scores[i].is_feasible,
                                     .overflow_frac = scores[i].overflow_frac};
    EMP_CHECK(emp_channel_send(&o->channel, &r, sizeof r, &wait, err));
    EMP_CHECK(
        emp_channel_send(&o->channel, told, (size_t)count * sizeof *told, &wait, err));
    return receive_answer(o, &a, err);
}

static emp_status tell(void *state, const emp_score *scores, int32_t count,
                       emp_error *err)
{
    emp_outsider *o = state;
    emp_error     why = {0};

    emp_status st = send_scores(o, scores, count, &why);
    return st == EMP_OK ? EMP_OK : emp_outsider_fail(o, st, &why, err);
}

const emp_method emp_outside_plugin = {
    .name = "./method.so",
    .description = "a shared library with an emp_placer_type",
    .advice = "a method of your own in C or C++",
    .uses_budget = true,
    .uses_seed = true,
    .is_outside = true,
    .state_bytes = sizeof(emp_outsider),
    .init = init,
    .ask = ask,
    .tell = tell,
    .clear = clear,
};
