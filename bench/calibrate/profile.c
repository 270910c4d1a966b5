// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/calibrate/profile.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/collections.h"
#include "base/io/atomic_file.h"
#include "base/mem.h"
#include "base/text/csv.h"
#include "base/text/text.h"
#include "base/work.h"
#include "replay/planner/planner.h"

/* Standard errors on either side of a mean that hold its true value 95 times of 100. */
static const double STANDARD_ERRORS = 1.96;
static const double NOT_MEASURED = -1.0;
enum { GAP_CONTENT = 0 }; /* the cache's line of gap_us */
static const double LEAST_SHARE_FRAC = 0.1, MANY_NEW_FRAC = 0.5, WHOLE_FRAC = 0.5;
/* A kernel with so many samples from whole steps gets none from parts of a step. Our
 * choice, as is the half of the time that whole steps get. */
enum { IN_PLACE = 32 };

/* All samples of a kernel. */
typedef struct {
    double *us;
    int32_t count, capacity;
} samples;

typedef struct {
    const emp_profile_params *params;
    emp_profile              *out;
    samples                  *alone, *beside; /* [kernel] */
    int32_t                   sample_kernels; /* room of the arrays */
    bool                     *is_kept;        /* [op] */
    bool    *is_settled; /* [kernel] has IN_PLACE samples in whole steps */
    int32_t *seen;       /* [kernel] ops of it so far */
    int32_t  places;     /* ops of a kernel in a round that is a part of the step */
    bool     is_whole;   /* rounds execute the whole step */
    double   spent_s;
} profiler;

/* ---- which kernels there are ---- */

static bool has_kernel(const emp_replay_plan *p, int32_t op)
{
    return p->op[op].kernel.kind != EMP_KERNEL_NOTHING && !p->op[op].is_alias;
}

static uint64_t content_of(const emp_replay_plan *p, int32_t op)
{
    const emp_replay_op *o = &p->op[op];
    uint64_t hash = emp_hash_bytes(EMP_HASH_SEED, o->kernel.size, sizeof o->kernel.size);

    hash =
        emp_hash_u64(hash, (uint64_t)o->kernel.kind << 32 | (uint32_t)o->kernel.variant);
    hash = emp_hash_u64(hash, (uint64_t)p->device[o->device].is_cpu << 1 |
                                  (uint64_t)o->is_in_place);
    hash = emp_hash_u64(hash, (uint64_t)o->workspace_bytes);
    for (int32_t i = p->input_offset[op]; i < p->input_offset[op + 1]; i++) {
        hash = emp_hash_u64(hash, (uint64_t)p->input[i].bytes);
        hash = emp_hash_u64(hash, (uint64_t)p->input[i].element_bytes << 1 |
                                      (uint64_t)p->input[i].on_host);
    }
    for (int32_t t = p->output_offset[op]; t < p->output_offset[op + 1]; t++) {
        hash = emp_hash_u64(hash, (uint64_t)p->tensor[t].bytes);
        hash = emp_hash_u64(hash, (uint64_t)p->tensor[t].element_bytes);
    }
    return hash;
}

static void describe(char text[EMP_PROFILE_TEXT_BYTES], const emp_replay_plan *p,
                     int32_t op)
{
    const emp_kernel *k = &p->op[op].kernel;
    emp_text          t = {text, EMP_PROFILE_TEXT_BYTES, 0};

    emp_text_add(&t, "%s.%d", emp_kernel_name(k->kind), k->variant);
    for (int32_t i = 0; i < emp_kernel_size_count(k->kind); i++)
        emp_text_add(&t, " %lld", (long long)k->size[i]);
}

static int32_t find_kernel(const emp_profile *out, uint64_t content)
{
    for (int32_t k = 0; k < out->count; k++)
        if (out->kernel[k].content == content) return k;
    return -1;
}

static emp_status list_kernels(profiler *x, emp_error *err)
{
    const emp_replay_plan *p = x->params->plan;
    emp_profile           *out = x->out;

    EMP_CHECK(EMP_ALLOC(out->kernel_of_op, (size_t)p->op_count));
    EMP_CHECK(EMP_ALLOC(out->kernel, (size_t)p->op_count));
    for (int32_t op = 0; op < p->op_count; op++) {
        out->kernel_of_op[op] = -1;
        if (!has_kernel(p, op)) continue;
        uint64_t content = content_of(p, op);
        int32_t  k = find_kernel(out, content);
        if (k < 0) {
            k = out->count++;
            out->kernel[k] = (emp_profiled_kernel){
                .content = content, .alone.us = NOT_MEASURED, .beside.us = NOT_MEASURED};
            describe(out->kernel[k].text, p, op);
        }
        out->kernel[k].op_count++;
        out->kernel_of_op[op] = k;
    }
    return EMP_OK;
}

/* ---- what is known from before ---- */

static emp_cached_kernel *find_cached(const profiler *x, uint64_t content)
{
    const emp_kernel_cache *cache = x->params->cache;

    for (int32_t i = 0; cache != NULL && i < cache->count; i++)
        if (cache->kernel[i].content == content &&
            strcmp(cache->kernel[i].hardware, x->params->hardware) == 0)
            return &cache->kernel[i];
    return NULL;
}

static void take_cached(profiler *x)
{
    const emp_cached_kernel *gap = find_cached(x, GAP_CONTENT);

    if (gap != NULL) x->out->gap_us = gap->alone.us;
    for (int32_t k = 0; k < x->out->count; k++) {
        emp_profiled_kernel     *to = &x->out->kernel[k];
        const emp_cached_kernel *from = find_cached(x, to->content);
        if (from == NULL || (x->params->neighbour >= 0 && from->beside.us < 0.0))
            continue;
        to->alone = from->alone;
        to->beside = from->beside;
        to->is_cached = true;
        x->out->cached_count++;
    }
}

static bool is_known(const profiler *x, emp_profile_time t)
{
    return t.interval_frac <= x->params->wanted_frac;
}

static bool is_open(const profiler *x, int32_t k)
{
    const emp_profiled_kernel *kernel = &x->out->kernel[k];

    if (kernel->is_cached) return false;
    return !is_known(x, kernel->alone) ||
           (x->params->neighbour >= 0 && !is_known(x, kernel->beside));
}

static emp_status put(const profiler *x, uint64_t content, const char *text,
                      emp_profile_time alone, emp_profile_time beside, emp_error *err)
{
    emp_kernel_cache  *cache = x->params->cache;
    emp_cached_kernel *to = find_cached(x, content);

    if (to == NULL) {
        EMP_CHECK(EMP_GROW(cache->kernel, cache->count + 1, cache->capacity));
        to = &cache->kernel[cache->count++];
    }
    *to = (emp_cached_kernel){.content = content, .alone = alone, .beside = beside};
    snprintf(to->hardware, sizeof to->hardware, "%s", x->params->hardware);
    snprintf(to->text, sizeof to->text, "%s", text);
    return EMP_OK;
}

/* If measuring was \a cut short, only what is known by then: the rest is measured the next time. */
static emp_status put_in_cache(const profiler *x, bool is_cut, emp_error *err)
{
    const emp_profile_time none = {NOT_MEASURED, INFINITY, 0};
    const emp_profile_time gap = {x->out->gap_us, INFINITY, 1};

    if (x->params->cache == NULL) return EMP_OK;
    if (!is_cut || !isnan(x->out->step_s))
        EMP_CHECK(put(x, GAP_CONTENT, "between ops", gap, none, err));
    for (int32_t k = 0; k < x->out->count; k++) {
        const emp_profiled_kernel *from = &x->out->kernel[k];
        if (from->is_cached || from->alone.us < 0.0 || (is_cut && is_open(x, k)))
            continue;
        EMP_CHECK(put(x, from->content, from->text, from->alone, from->beside, err));
    }
    return EMP_OK;
}

/* ---- samples ---- */

static emp_status add_sample(samples *to, double us, emp_error *err)
{
    EMP_CHECK(EMP_GROW(to->us, to->count + 1, to->capacity));
    to->us[to->count++] = us;
    return EMP_OK;
}

static emp_profile_time summarize(const samples *of)
{
    emp_profile_time t = {NOT_MEASURED, INFINITY, of->count};
    double           sum = 0.0, squares = 0.0;

    if (of->count == 0) return t;
    for (int32_t i = 0; i < of->count; i++) sum += of->us[i];
    t.us = sum / of->count;
    for (int32_t i = 0; i < of->count; i++)
        squares += (of->us[i] - t.us) * (of->us[i] - t.us);
    if (of->count >= EMP_PROFILE_SAMPLES && t.us > 0.0)
        t.interval_frac =
            STANDARD_ERRORS * sqrt(squares / (of->count - 1) / of->count) / t.us;
    return t;
}

/* Whether a part of the step is to have a kernel. */
static bool is_wanted(const profiler *x, int32_t k)
{
    return k >= 0 && is_open(x, k) && !x->is_settled[k];
}

/* ---- rounds ---- */

static double executed_s(const emp_replay_result *r)
{
    double sum = 0.0;

    for (int32_t i = 0; i < r->step_count; i++) sum += r->step_s[i];
    return r->step_count == 0 ? 0.0 : sum * (r->step_count + r->warmup) / r->step_count;
}

static emp_status execute(profiler *x, emp_replay_result *result,
                          const emp_replay_plan *plan, emp_error *err)
{
    double begin_s = emp_clock_now_s();

    EMP_CHECK(x->params->run(x->params->context, result, plan, err));
    if (result->is_feasible && result->op_count != plan->op_count)
        return EMP_ERROR(EMP_EFORMAT, "a result of %d ops; the plan has %d",
                         result->op_count, plan->op_count);
    x->spent_s += fmax(emp_clock_now_s() - begin_s, executed_s(result));
    return EMP_OK;
}

/* The time between ops, as the host hands them to the device one after another: the rest of the step. */
static double find_gap_us(const profiler *x, const emp_replay_result *r)
{
    const emp_replay_plan *p = x->params->plan;
    int32_t                device = x->params->device, ops = 0;

    for (int32_t op = 0; op < p->op_count; op++)
        ops += p->op[op].device == device && x->out->kernel_of_op[op] >= 0;
    if (ops == 0) return 0.0;
    return 1e6 * fmax(0.0, r->median_s - r->device[device].busy_s) / ops;
}

/* Times of ops are medians of steps, so they lack what interrupts a few of them; the busy times of devices are means.
 * factor[device]: the one over the sum of the others. */
static void find_stretch(double                 factor[EMP_REPLAY_MAX_DEVICES],
                         const emp_replay_plan *plan, const emp_replay_result *r)
{
    double sum_s[EMP_REPLAY_MAX_DEVICES] = {0};

    for (int32_t op = 0; op < r->op_count; op++)
        sum_s[plan->op[op].device] += fmax(0.0, (double)r->op_s[op]);
    for (int32_t d = 0; d < plan->device_count; d++)
        factor[d] = sum_s[d] > 0.0 ? fmax(1.0, r->device[d].busy_s / sum_s[d]) : 1.0;
}

/* \param origin  NULL: the plan is the whole step. */
static emp_status take_samples(profiler *x, const emp_replay_plan *plan,
                               const emp_replay_result *r, const int32_t *origin,
                               bool is_beside, emp_error *err)
{
    double factor[EMP_REPLAY_MAX_DEVICES];

    find_stretch(factor, plan, r);
    for (int32_t i = 0; i < r->op_count; i++) {
        int32_t op = origin == NULL ? i : origin[i];
        if (op == -1 || r->op_s[i] <= 0.0f) continue;
        int32_t  k = x->out->kernel_of_op[op >= 0 ? op : -2 - op];
        samples *to = is_beside ? x->beside : x->alone;
        if (k < 0 || (!x->is_whole && !is_wanted(x, k))) continue;
        EMP_CHECK(add_sample(&to[k],
                             1e6 * (double)r->op_s[i] * factor[plan->op[i].device], err));
    }
    return EMP_OK;
}

/* The first one says how long a step is. */
static emp_status measure_step(profiler *x, emp_error *err)
{
    emp_status             st = EMP_OK;
    const emp_replay_plan *p = x->params->plan;
    emp_replay_result      r = {0};

    EMP_TRY(execute(x, &r, p, err));
    if (!r.is_feasible)
        EMP_FAIL(EMP_ENOMEM, "the step does not fit in the memory of %s",
                 r.device[r.oom_device].name);
    if (isnan(x->out->step_s)) {
        x->out->step_s = r.median_s;
        x->out->gap_us = find_gap_us(x, &r);
    }
    EMP_TRY(take_samples(x, p, &r, NULL, false, err));

cleanup:
    emp_replay_result_clear(&r);
    return st;
}

/* All ops, or those of open kernels, every so many-th, and the ops that make what they read. */
static bool choose_ops(profiler *x)
{
    const emp_replay_plan *p = x->params->plan;
    bool                   is_any = x->is_whole;

    memset(x->is_kept, x->is_whole, (size_t)p->op_count * sizeof *x->is_kept);
    memset(x->seen, 0, (size_t)x->out->count * sizeof *x->seen);
    for (int32_t op = 0; op < p->op_count && !x->is_whole; op++) {
        int32_t k = x->out->kernel_of_op[op];
        if (!is_wanted(x, k)) continue;
        int32_t count = x->out->kernel[k].op_count, number = x->seen[k]++;
        int32_t places = count < x->places ? count : x->places;
        if ((int64_t)number * places % count >= places) continue;
        is_any = x->is_kept[op] = true;
        for (int32_t i = p->input_offset[op]; i < p->input_offset[op + 1]; i++) {
            if (p->input[i].place < 0) continue;
            int32_t t = emp_replay_tensor_of_place(p, p->input[i].place);
            x->is_kept[p->tensor[t].producer] = true;
        }
    }
    return is_any;
}

/* Ends the rounds of whole steps: in parts, caches and memory hold less than in a step, so that only kernels of which a step
 * has few are worth them. */
static void go_on_in_parts(profiler *x)
{
    x->is_whole = false;
    for (int32_t k = 0; k < x->out->count; k++)
        x->is_settled[k] = x->alone[k].count >= IN_PLACE &&
                           (x->params->neighbour < 0 || x->beside[k].count >= IN_PLACE);
}

/* One execution of the open kernels, or of all ops if they are many, on one device or on two at once. A part that does
 * not fit is tried with fewer ops of each kernel. */
static emp_status run_round(profiler *x, bool is_beside, emp_error *err)
{
    emp_status        st = EMP_OK;
    emp_replay_plan  *plan = NULL;
    int32_t          *origin = NULL;
    emp_replay_result r = {0};
    const int32_t     devices[] = {x->params->device, x->params->neighbour};

    while (choose_ops(x)) {
        emp_plan_part part = {x->is_kept, x->params->device, devices, is_beside ? 2 : 1};
        EMP_TRY(emp_replay_plan_part(&plan, &origin, x->params->plan, &part, err));
        EMP_TRY(execute(x, &r, plan, err));
        if (r.is_feasible || x->places == 1) break;
        if (x->is_whole)
            go_on_in_parts(x);
        else
            x->places /= 2;
        emp_replay_result_clear(&r);
        emp_replay_plan_destroy(plan);
        emp_free(origin);
        plan = NULL;
        origin = NULL;
    }
    if (plan == NULL) goto cleanup;
    if (!r.is_feasible)
        EMP_FAIL(EMP_ENOMEM, "the operands of its kernels do not fit in the memory of %s",
                 r.device[r.oom_device].name);
    EMP_TRY(take_samples(x, plan, &r, origin, is_beside, err));

cleanup:
    emp_replay_result_clear(&r);
    emp_replay_plan_destroy(plan);
    emp_free(origin);
    return st;
}

static void update(profiler *x)
{
    x->out->open_count = 0;
    for (int32_t k = 0; k < x->out->count; k++) {
        emp_profiled_kernel *kernel = &x->out->kernel[k];
        if (kernel->is_cached) continue;
        kernel->alone = summarize(&x->alone[k]);
        kernel->beside = summarize(&x->beside[k]);
        x->out->open_count += is_open(x, k);
    }
    x->out->spent_steps = x->spent_s / x->out->step_s;
}

/* The sum of all kernels, where most are known and the step is not executed. */
static void estimate_step(profiler *x)
{
    double sum_us = 0.0;

    for (int32_t k = 0; k < x->out->count; k++)
        sum_us += x->out->kernel[k].op_count * fmax(0.0, x->out->kernel[k].alone.us);
    x->out->step_s = 1e-6 * sum_us;
    x->out->spent_steps = x->spent_s / x->out->step_s;
}

static void tell(const profiler *x)
{
    if (x->params->progress == NULL) return;
    double spent =
        isnan(x->out->step_s) ? 0.0 : x->out->spent_steps / x->params->most_steps;
    double known = 1.0 - (double)x->out->open_count / x->out->count;
    x->params->progress(x->params->context, fmin(1.0, fmax(spent, known)));
}

/* Rounds, one at least, until all is known or the next one would take too long. A few kernels that the cache lacks may not take as
 * long as all would. */
static emp_status run_rounds(profiler *x, emp_error *err)
{
    const emp_profile_params *params = x->params;
    double longest_s = 0.0, new_frac = 1.0 - (double)x->out->cached_count / x->out->count;
    double most_steps = params->most_steps * fmax(new_frac, LEAST_SHARE_FRAC);
    int32_t rounds = 0;

    x->is_whole = new_frac > MANY_NEW_FRAC;
    if (x->is_whole) EMP_CHECK(measure_step(x, err));
    update(x);
    while (x->out->open_count > 0 &&
           (rounds++ == 0 || x->spent_s + longest_s <= most_steps * x->out->step_s)) {
        double before_s = x->spent_s;
        tell(x);
        EMP_CHECK(x->is_whole ? measure_step(x, err) : run_round(x, false, err));
        if (params->neighbour >= 0) EMP_CHECK(run_round(x, true, err));
        longest_s = fmax(longest_s, x->spent_s - before_s);
        update(x);
        if (isnan(x->out->step_s)) estimate_step(x);
        if (x->spent_s == before_s) break; /* open ones have samples enough */
        if (x->is_whole && x->spent_s > WHOLE_FRAC * most_steps * x->out->step_s)
            go_on_in_parts(x);
    }
    return EMP_OK;
}

emp_status emp_profile_measure(emp_profile *out, const emp_profile_params *params,
                               emp_error *err)
{
    emp_status st = EMP_OK, ended;
    profiler   x = {.params = params, .out = out, .places = EMP_PROFILE_PLACES};

    *out = (emp_profile){.step_s = NAN};
    EMP_TRY(list_kernels(&x, err));
    take_cached(&x);
    if (out->cached_count == out->count) goto cleanup;
    x.sample_kernels = out->count;
    EMP_TRY(EMP_ALLOC(x.alone, (size_t)out->count));
    EMP_TRY(EMP_ALLOC(x.beside, (size_t)out->count));
    EMP_TRY(EMP_ALLOC(x.is_kept, (size_t)params->plan->op_count));
    EMP_TRY(EMP_ALLOC(x.seen, (size_t)out->count));
    EMP_TRY(EMP_ALLOC(x.is_settled, (size_t)out->count));
    ended = run_rounds(&x, err);
    if (ended != EMP_EINTERRUPTED) EMP_TRY(ended);
    EMP_TRY(put_in_cache(&x, ended != EMP_OK, err));
    st = ended;

cleanup:
    for (int32_t k = 0; k < x.sample_kernels; k++) {
        if (x.alone != NULL) emp_free(x.alone[k].us);
        if (x.beside != NULL) emp_free(x.beside[k].us);
    }
    emp_free(x.alone);
    emp_free(x.beside);
    emp_free(x.is_kept);
    emp_free(x.seen);
    emp_free(x.is_settled);
    return st;
}

void emp_profile_clear(emp_profile *profile)
{
    emp_free(profile->kernel);
    emp_free(profile->kernel_of_op);
    *profile = (emp_profile){0};
}

/* ---- the cache as a file ---- */

typedef struct {
    int32_t hardware, content, text, us[2], interval[2], samples[2];
} cache_columns;

static emp_status find_columns(cache_columns *at, const emp_csv *csv, emp_error *err)
{
    EMP_CHECK(emp_csv_find(&at->hardware, csv, "hardware", err));
    EMP_CHECK(emp_csv_find(&at->content, csv, "content", err));
    EMP_CHECK(emp_csv_find(&at->text, csv, "kernel", err));
    EMP_CHECK(emp_csv_find(&at->us[0], csv, "us", err));
    EMP_CHECK(emp_csv_find(&at->interval[0], csv, "interval_percent", err));
    EMP_CHECK(emp_csv_find(&at->samples[0], csv, "samples", err));
    EMP_CHECK(emp_csv_find(&at->us[1], csv, "beside_us", err));
    EMP_CHECK(emp_csv_find(&at->interval[1], csv, "beside_interval_percent", err));
    return emp_csv_find(&at->samples[1], csv, "beside_samples", err);
}

static emp_status read_time(emp_profile_time *t, const emp_csv *csv, int32_t row,
                            const cache_columns *at, int which, emp_error *err)
{
    int64_t count;
    double  percent;

    *t = (emp_profile_time){NOT_MEASURED, INFINITY, 0};
    if (emp_csv_text(csv, row, at->us[which])[0] == '\0') return EMP_OK;
    EMP_CHECK(emp_csv_real(&t->us, csv, row, at->us[which], err));
    EMP_CHECK(emp_csv_real(&percent, csv, row, at->interval[which], err));
    EMP_CHECK(emp_csv_count(&count, csv, row, at->samples[which], err));
    if (t->us < 0.0 || percent < 0.0 || count < 0 || count > INT32_MAX)
        return EMP_ERROR(EMP_EFORMAT,
                         "%s: row %d: a time, an interval or a count below 0", csv->path,
                         row + 1);
    t->interval_frac = percent / 100.0;
    t->samples = (int32_t)count;
    return EMP_OK;
}

static emp_status read_cache(emp_kernel_cache *cache, const emp_csv *csv, emp_error *err)
{
    cache_columns at;

    EMP_CHECK(find_columns(&at, csv, err));
    for (int32_t row = 0; row < csv->row_count; row++) {
        EMP_CHECK(EMP_GROW(cache->kernel, cache->count + 1, cache->capacity));
        emp_cached_kernel *k = &cache->kernel[cache->count];
        *k = (emp_cached_kernel){0};
        snprintf(k->hardware, sizeof k->hardware, "%s",
                 emp_csv_text(csv, row, at.hardware));
        snprintf(k->text, sizeof k->text, "%s", emp_csv_text(csv, row, at.text));
        EMP_CHECK(emp_csv_hash(&k->content, csv, row, at.content, err));
        EMP_CHECK(read_time(&k->alone, csv, row, &at, 0, err));
        EMP_CHECK(read_time(&k->beside, csv, row, &at, 1, err));
        cache->count++;
    }
    return EMP_OK;
}

emp_status emp_kernel_cache_load(emp_kernel_cache *cache, const char *path,
                                 emp_error *err)
{
    emp_csv csv = {0};
    FILE   *file = fopen(path, "r");

    if (file == NULL && errno == ENOENT) return EMP_OK;
    if (file == NULL)
        return EMP_ERROR(EMP_EIO, "%s cannot be read: %s", path, strerror(errno));
    emp_status st = emp_csv_read(&csv, file, path, err);
    fclose(file);
    if (st == EMP_OK) st = read_cache(cache, &csv, err);
    emp_csv_clear(&csv);
    return st;
}

static void print_time(FILE *stream, emp_profile_time t)
{
    if (t.us < 0.0)
        fprintf(stream, ",,,");
    else
        fprintf(stream, ",%.6g,%.3g,%d", t.us,
                isfinite(t.interval_frac) ? 100.0 * t.interval_frac : 100.0, t.samples);
}

static emp_status print_cache(FILE *stream, const void *what, emp_error *err)
{
    const emp_kernel_cache *cache = (const emp_kernel_cache *)what;

    (void)err;
    fprintf(stream, "hardware,content,kernel,us,interval_percent,samples,beside_us,"
                    "beside_interval_percent,beside_samples\n");
    for (int32_t i = 0; i < cache->count; i++) {
        const emp_cached_kernel *k = &cache->kernel[i];
        fprintf(stream, "\"%s\",%016llx,%s", k->hardware, (unsigned long long)k->content,
                k->text);
        print_time(stream, k->alone);
        print_time(stream, k->beside);
        fprintf(stream, "\n");
    }
    return EMP_OK;
}

emp_status emp_kernel_cache_save(const emp_kernel_cache *cache, const char *path,
                                 emp_error *err)
{
    return emp_atomic_file_write(path, print_cache, cache, err);
}

void emp_kernel_cache_clear(emp_kernel_cache *cache)
{
    emp_free(cache->kernel);
    *cache = (emp_kernel_cache){0};
}

/* ---- costs ---- */

typedef struct {
    const emp_profile       *profile;
    const emp_replay_plan   *plan;
    const emp_profile_costs *costs;
} cost_lines;

static void print_cost(FILE *stream, const char *name, const char *model,
                       const emp_profiled_kernel *k, double more_us)
{
    fprintf(stream, "\"");
    for (const char *c = name; *c != '\0'; c++)
        fprintf(stream, *c == '"' ? "\"\"" : "%c", *c);
    fprintf(stream, "\",%.6g,%s,", k->alone.us + more_us, model);
    if (k->beside.us >= 0.0) fprintf(stream, "%.6g", k->beside.us + more_us);
    fprintf(stream, ",%.3g,%d\n",
            isfinite(k->alone.interval_frac) ? 100.0 * k->alone.interval_frac : 100.0,
            k->alone.samples);
}

/* Plans have the topological order of the graph, without folded ops. */
static emp_status print_costs(FILE *stream, const void *what, emp_error *err)
{
    const cost_lines        *x = (const cost_lines *)what;
    const emp_profile_costs *c = x->costs;
    const emp_graph         *g = c->problem->graph;
    int32_t                  at = 0;

    (void)err;
    fprintf(stream, "op,us,model,beside_us,interval_percent,samples\n");
    for (int32_t i = 0; i < g->op_count; i++) {
        emp_op_id op = g->topo[i];
        if (g->op[op].is_folded) continue;
        int32_t row = at++, kernel = x->profile->kernel_of_op[row];
        if (kernel < 0 || x->profile->kernel[kernel].alone.us < 0.0) continue;
        const emp_profiled_kernel *k = &x->profile->kernel[kernel];
        bool is_host = x->plan->device[x->plan->op[row].device].is_cpu;
        if (!is_host) print_cost(stream, g->name[op], c->gpu_model, k, c->gpu_op_us);
        if (is_host || c->is_one_hardware)
            print_cost(stream, g->name[op], c->cpu_model, k, 0.0);
    }
    return EMP_OK;
}

emp_status emp_profile_save(const emp_profile *profile, const emp_replay_plan *plan,
                            const emp_profile_costs *costs, const char *path,
                            emp_error *err)
{
    const cost_lines lines = {profile, plan, costs};

    return emp_atomic_file_write(path, print_costs, &lines, err);
}
