// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options/parallel.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/io/atomic_file.h"
#include "base/io/trace_events.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "bench/plots/axis.h"
#include "cli/cli.h"

#define GIB 1073741824.0

enum { NAME_BYTES = 64, CHANGES = 8, MACHINE_GPUS = 64 };

/* A model, and a cluster or GPUs of several models. */
typedef struct {
    emp_parallel_spec spec;
    emp_fleet         fleet;
} inputs;

static emp_status load(inputs *in, const cli_parallel_options *o, bool may_differ,
                       emp_error *err)
{
    if (may_differ && strstr(o->spec, ".gguf") != NULL)
        return EMP_ERROR(EMP_EINVAL,
                         "plans read configs of Hugging Face, and %s names a GGUF file; "
                         "--form llama.cpp places its layers",
                         o->spec);
    if (may_differ)
        EMP_CHECK(emp_fleet_load(&in->fleet, o->machine, err));
    else
        EMP_CHECK(emp_cluster_load(&in->fleet.all, o->machine, err));
    return emp_parallel_spec_read(&in->spec, o->spec, err);
}

static void clear(inputs *in)
{
    emp_parallel_spec_clear(&in->spec);
    emp_fleet_clear(&in->fleet);
}

static const char *word_of(char text[NAME_BYTES], const char *words, int32_t index)
{
    size_t      length = 0;
    const char *word = emp_words_at(words, index, &length);

    snprintf(text, NAME_BYTES, "%.*s", (int)length, word);
    return text;
}

/* Writes what the host keeps: "weights+optimizer". */
static const char *homes_of(char text[NAME_BYTES], const emp_degrees *d)
{
    emp_text to = {text, NAME_BYTES, 0};

    text[0] = '\0';
    if (d->home) emp_text_add(&to, "weights");
    if (d->update) emp_text_add(&to, "%soptimizer", to.used > 0 ? "+" : "");
    if (d->activations) emp_text_add(&to, "%sactivations", to.used > 0 ? "+" : "");
    return text;
}

/* ---- the plan ---- */

static const emp_sheet_column columns[] = {
    EMP_COLUMN("rank", "rank", EMP_SHEET_COUNT),
    EMP_COLUMN("tp", "tp", EMP_SHEET_COUNT),
    EMP_COLUMN("pp", "pp", EMP_SHEET_COUNT),
    EMP_COLUMN("vp", "vp", EMP_SHEET_COUNT),
    EMP_COLUMN("ep", "ep", EMP_SHEET_COUNT),
    EMP_COLUMN("cp", "cp", EMP_SHEET_COUNT),
    EMP_COLUMN("dp", "dp", EMP_SHEET_COUNT),
    EMP_COLUMN("micro_batch", "batch", EMP_SHEET_COUNT),
    EMP_COLUMN("micro_batches", "x", EMP_SHEET_COUNT),
    EMP_COLUMN("schedule", "schedule", EMP_SHEET_WORD),
    EMP_COLUMN("recompute", "recompute", EMP_SHEET_WORD),
    EMP_COLUMN("on", "on", EMP_SHEET_WORD, .is_optional = true),
    EMP_COLUMN("zero", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("on_host", "on host", EMP_SHEET_WORD, .is_optional = true),
    EMP_COLUMN("step_s", "step", EMP_SHEET_SECONDS),
    EMP_COLUMN("tokens_per_gpu_s", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("memory_gib", "GiB", EMP_SHEET_REAL),
    EMP_COLUMN("host_gib", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("bubble", "bubble", EMP_SHEET_SHARE),
    EMP_COLUMN("exposed_s", "exposed", EMP_SHEET_SECONDS),
    EMP_COLUMN("why", "why not", EMP_SHEET_WORD, .is_optional = true),
    EMP_COLUMN("megatron", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("deepspeed", NULL, EMP_SHEET_WORD),
};

static emp_value if_feasible(const emp_way *row, double value)
{
    return emp_value_if(row->fault == EMP_WAY_FITS, emp_value_real(value));
}

static void add_row(emp_sheet *s, const emp_ways *plan, const emp_parallel_spec *spec,
                    int32_t index)
{
    const emp_way     *row = &plan->row[index];
    const emp_degrees *d = &row->degrees;
    const bool         is_feasible = row->fault == EMP_WAY_FITS;
    const double tokens = (double)plan->batch * d->sequence / (double)emp_degrees_gpus(d);
    char         schedule[NAME_BYTES], recompute[NAME_BYTES], homes[NAME_BYTES];
    char         flags[EMP_TRAINERS][EMP_FLAGS_BYTES];
    bool         has_flags[EMP_TRAINERS];

    for (int32_t t = 0; t < EMP_TRAINERS; t++)
        has_flags[t] = emp_flags_write(flags[t], (emp_trainer)t, spec, row, plan->batch,
                                       NULL) == EMP_OK;
    EMP_SHEET_ADD(
        s, emp_value_if(is_feasible, EMP_V(index + 1)), EMP_V(d->tp), EMP_V(d->pp),
        EMP_V(d->vp), EMP_V(d->ep), EMP_V(d->cp), EMP_V(d->dp), EMP_V(d->micro_batch),
        EMP_V(d->micro_batches), EMP_V(word_of(schedule, EMP_ORDER_WORDS, d->schedule)),
        EMP_V(word_of(recompute, EMP_RECOMPUTE_WORDS, d->recompute)),
        emp_value_if(row->on[0] != '\0', EMP_V(row->on)), EMP_V(d->zero),
        emp_value_if(homes_of(homes, d)[0] != '\0', EMP_V(homes)),
        if_feasible(row, row->step.step_s), if_feasible(row, tokens / row->step.step_s),
        emp_value_if(isfinite(row->step.peak_bytes), EMP_V(row->step.peak_bytes / GIB)),
        emp_value_if(isfinite(row->step.peak_bytes), EMP_V(row->step.host_bytes / GIB)),
        if_feasible(row, row->step.bubble_frac), if_feasible(row, row->step.exposed_s),
        emp_value_if(!is_feasible, EMP_V(row->why)),
        emp_value_if(has_flags[EMP_TRAINER_MEGATRON], EMP_V(flags[EMP_TRAINER_MEGATRON])),
        emp_value_if(has_flags[EMP_TRAINER_DEEPSPEED],
                     EMP_V(flags[EMP_TRAINER_DEEPSPEED])));
}

/* The key that differs between two ways, apart from its consequences: -1 = more than one, or what is on the host. */
static int32_t difference(const emp_degrees *a, const emp_degrees *b)
{
    const bool differs[CHANGES] = {a->tp != b->tp,
                                   a->pp != b->pp,
                                   a->vp != b->vp && a->pp == b->pp,
                                   a->ep != b->ep,
                                   a->cp != b->cp,
                                   a->micro_batch != b->micro_batch,
                                   a->recompute != b->recompute,
                                   a->schedule != b->schedule && a->vp == b->vp &&
                                       a->pp == b->pp};
    int32_t    which = -1;

    if (a->zero != b->zero || a->home != b->home || a->update != b->update ||
        a->activations != b->activations)
        return -1;
    for (int32_t i = 0; i < CHANGES; i++) {
        if (!differs[i]) continue;
        if (which >= 0) return -1;
        which = i;
    }
    return which;
}

/* The best way that differs from the first in one degree only. */
static void note_changes(emp_sheet *s, const emp_ways *plan)
{
    static const char *const names[CHANGES] = {
        "tp", "pp", "vp", "ep", "cp", "micro_batch", "recompute", "schedule"};
    const emp_way *best = &plan->row[0];
    bool           is_noted[CHANGES] = {false};
    char           word[NAME_BYTES];

    for (int32_t i = 1; i < plan->feasible; i++) {
        const emp_way     *row = &plan->row[i];
        const emp_degrees *d = &row->degrees;
        const int32_t      which = difference(&best->degrees, d);
        if (which < 0 || is_noted[which]) continue;
        const int32_t values[] = {d->tp, d->pp, d->vp, d->ep, d->cp, d->micro_batch};
        is_noted[which] = true;
        if (which < 6)
            snprintf(word, sizeof word, "%d", values[which]);
        else if (which == 6)
            word_of(word, EMP_RECOMPUTE_WORDS, d->recompute);
        else
            word_of(word, EMP_ORDER_WORDS, d->schedule);
        emp_sheet_note(s, "With %s=%s the step takes %+.1f %% and %+.1f GiB.",
                       names[which], word,
                       100.0 * (row->step.step_s / best->step.step_s - 1.0),
                       (row->step.peak_bytes - best->step.peak_bytes) / GIB);
    }
}

/* The best way of each other sharing. */
static void note_sharings(emp_sheet *s, const emp_ways *plan)
{
    const emp_way *best = &plan->row[0];

    for (int32_t i = 1; i < plan->feasible; i++) {
        const emp_way *row = &plan->row[i];
        bool           is_first = true;
        for (int32_t k = 0; k < i; k++) is_first &= plan->row[k].shares != row->shares;
        if (is_first)
            emp_sheet_note(s, "On %s the step takes %+.1f %%.", row->on,
                           100.0 * (row->step.step_s / best->step.step_s - 1.0));
    }
}

/* Finds the best way that Megatron-LM, or else DeepSpeed, has flags for, and writes them.
 * \param err  Why the best of all ways has none. \return its row; -1: there is none. */
static int32_t find_flags(char flags[EMP_FLAGS_BYTES], emp_trainer *trainer,
                          const emp_ways *plan, const emp_parallel_spec *spec,
                          emp_error *err)
{
    for (int32_t i = 0; i < plan->feasible; i++)
        for (int32_t t = 0; t < EMP_TRAINERS; t++) {
            *trainer = (emp_trainer)t;
            if (emp_flags_write(flags, *trainer, spec, &plan->row[i], plan->batch,
                                i == 0 && t == 0 ? err : NULL) == EMP_OK)
                return i;
        }
    return -1;
}

/* DeepSpeed leaves recomputation to the code of the model. */
static const char *remark_on(emp_trainer trainer, const emp_degrees *d)
{
    static const char *const remarks[] = {
        [EMP_RECOMPUTE_NONE] = "",
        [EMP_RECOMPUTE_SELECTIVE] =
            "recompute=selective: the model has to call "
            "deepspeed.checkpointing.checkpoint() around the core of its attention.",
        [EMP_RECOMPUTE_FULL] = "recompute=full: the model has to call "
                               "deepspeed.checkpointing.checkpoint() around each layer."};

    return trainer == EMP_TRAINER_DEEPSPEED ? remarks[d->recompute] : "";
}

static void note_flags(emp_sheet *s, const emp_ways *plan, const emp_parallel_spec *spec)
{
    char          flags[EMP_FLAGS_BYTES];
    emp_trainer   trainer;
    emp_error     why = {0};
    const int32_t index = find_flags(flags, &trainer, plan, spec, &why);

    if (index < 0) {
        emp_sheet_note(s, "%s, and neither it nor DeepSpeed has any for another way.",
                       why.msg);
        return;
    }
    const emp_way *way = &plan->row[index];
    const char    *remark = remark_on(trainer, &way->degrees);
    if (index > 0)
        emp_sheet_note(s, "%s. Rank %d has flags%s%s; its step takes %+.1f %%.", why.msg,
                       index + 1, way->on[0] != '\0' ? " on " : "", way->on,
                       100.0 * (way->step.step_s / plan->row[0].step.step_s - 1.0));
    emp_sheet_note(s, "%s: %s", emp_trainer_names[trainer], flags);
    if (remark[0] != '\0') emp_sheet_note(s, "%s", remark);
}

/* Counts the ways that fail by their reasons. */
static void note_faults(emp_sheet *s, const emp_ways *plan, const inputs *in)
{
    const bool is_mixed = in->fleet.count > 1;
    int32_t    count[EMP_WAY_FAULTS] = {0};
    char memory[NAME_BYTES] = "their GPUs have", host[NAME_BYTES] = "their host has";
    char hosts[2 * NAME_BYTES] = "";

    for (int32_t i = 0; i < plan->count; i++) count[plan->row[i].fault]++;
    if (!is_mixed) {
        snprintf(memory, sizeof memory, "%.1f GiB", plan->memory_bytes / GIB);
        snprintf(host, sizeof host, "%.1f GiB of their host",
                 (double)in->fleet.all->host.memory_bytes / GIB);
    }
    if (count[EMP_WAY_NEEDS_HOST] > 0)
        snprintf(hosts, sizeof hosts, ", %d need more than %s", count[EMP_WAY_NEEDS_HOST],
                 host);
    emp_sheet_note(s,
                   "%d ways, of which %d fit; %d need more than %s%s, and %d have "
                   "degrees that do not divide.",
                   plan->count, plan->feasible, count[EMP_WAY_NEEDS_MEMORY], memory,
                   hosts, count[EMP_WAY_IS_INVALID]);
}

static void note_plan(emp_sheet *s, const emp_ways *plan, const inputs *in)
{
    note_faults(s, plan, in);
    if (plan->feasible == 0) return;
    if (plan->tied > 1)
        emp_sheet_note(s,
                       "The first %d are within %.1f %% of each other, which predictions "
                       "cannot tell apart; of such ways the one that needs least memory "
                       "comes first.",
                       plan->tied, 100.0 * EMP_PLAN_TIE_FRAC);
    if (in->fleet.count > 1)
        note_sharings(s, plan);
    else
        note_changes(s, plan);
    note_flags(s, plan, &in->spec);
}

/* The smallest number of GPUs, doubled a few times, that would do; 0 = none. */
static int32_t enough_gpus(const inputs *in, int32_t gpus)
{
    emp_parallel_spec more = in->spec;

    for (int32_t i = 0; i < 6 && gpus <= in->fleet.all->gpus / 2; i++) {
        emp_ways plan = {0};
        gpus *= 2;
        more.batch = in->spec.batch > gpus ? in->spec.batch : gpus;
        const emp_status st =
            emp_ways_find(&plan, &more, in->fleet.all, gpus, false, NULL);
        const bool is_enough = st == EMP_OK && plan.feasible > 0;
        emp_ways_clear(&plan);
        if (is_enough) return gpus;
    }
    return 0;
}

static emp_status refuse(const inputs *in, const emp_ways *plan, int32_t gpus,
                         emp_error *err)
{
    const emp_way *least = &plan->row[0];
    const int32_t  enough = isfinite(least->step.peak_bytes) && in->fleet.count < 2
                                ? enough_gpus(in, gpus)
                                : 0;
    char           more[NAME_BYTES] = "", recompute[NAME_BYTES], homes[NAME_BYTES];

    if (isinf(least->step.peak_bytes)) return EMP_ERROR(EMP_EINVAL, "%s", least->why);
    if (enough > 0) snprintf(more, sizeof more, "; %d GPUs would do", enough);
    return EMP_ERROR(
        EMP_EINVAL,
        "no way to train it on %d GPU%s fits in their memory: the least "
        "%s, with tp=%d, pp=%d, cp=%d, ep=%d, dp=%d, recompute=%s%s%s%s",
        gpus, emp_units_plural(gpus), least->why, least->degrees.tp, least->degrees.pp,
        least->degrees.cp, least->degrees.ep, least->degrees.dp,
        word_of(recompute, EMP_RECOMPUTE_WORDS, least->degrees.recompute),
        homes_of(homes, &least->degrees)[0] != '\0' ? " and on the host " : "", homes,
        more);
}

/* As many as the degrees need, or else all of a machine. Clusters are larger than what one would train on, and need a number. */
static emp_status count_gpus(int32_t *gpus, const inputs *in, emp_error *err)
{
    const emp_parallel_spec *spec = &in->spec;
    const emp_cluster       *c = in->fleet.all;
    const int64_t            needed = emp_degrees_gpus(&spec->degrees);
    const bool               is_complete = emp_parallel_spec_has(spec, "tp") &&
                             emp_parallel_spec_has(spec, "pp") &&
                             emp_parallel_spec_has(spec, "dp");

    if (*gpus > 0) return EMP_OK;
    *gpus = needed > INT32_MAX ? INT32_MAX : (int32_t)needed;
    if (needed > 1 || is_complete) return EMP_OK;
    *gpus = c->gpus;
    if (c->gpus <= MACHINE_GPUS) return EMP_OK;
    return EMP_ERROR(
        EMP_EINVAL,
        "%s has %d GPUs; --gpus says on how many of them, or tp, pp and dp in "
        "the SPEC",
        c->name, c->gpus);
}

static emp_status find_ways(emp_ways *plan, int32_t *gpus, const inputs *in,
                            bool all_ranks, emp_error *err)
{
    const emp_cluster *c = in->fleet.all;

    if (in->fleet.count > 1) {
        if (*gpus > 0 || all_ranks)
            return EMP_ERROR(EMP_EINVAL,
                             "GPUs of %s are of several models, and a plan takes all of "
                             "them; leave out --gpus and --all-ranks",
                             c->name);
        *gpus = c->gpus;
        return emp_ways_find_mixed(plan, &in->spec, &in->fleet, err);
    }
    EMP_CHECK(count_gpus(gpus, in, err));
    return emp_ways_find(plan, &in->spec, c, *gpus, all_ranks, err);
}

/* Refuses what only a model that is served has. */
static emp_status check_training(const cli_parallel_options *o, emp_error *err)
{
    if (o->goal != EMP_SERVING_STEP)
        return EMP_ERROR(EMP_EINVAL,
                         "--objective batch and tokens are of models that are served; "
                         "give the SPEC phase=decode or phase=prefill");
    if (o->has_form && o->form != CLI_PLAN_MEGATRON && o->form != CLI_PLAN_DEEPSPEED)
        return EMP_ERROR(EMP_EINVAL,
                         "vLLM serves models, and %s is a training step; give the SPEC "
                         "phase=decode, or --form megatron or deepspeed",
                         o->spec);
    return EMP_OK;
}

/* Prints the flags of the best way that the program of --form has flags for. */
static emp_status print_form(const emp_ways *plan, const emp_parallel_spec *spec,
                             cli_plan_form form, emp_error *err)
{
    const emp_trainer trainer =
        form == CLI_PLAN_MEGATRON ? EMP_TRAINER_MEGATRON : EMP_TRAINER_DEEPSPEED;
    char      flags[EMP_FLAGS_BYTES];
    emp_error why = {0};

    for (int32_t i = 0; i < plan->feasible; i++) {
        if (emp_flags_write(flags, trainer, spec, &plan->row[i], plan->batch,
                            i == 0 ? &why : NULL) != EMP_OK)
            continue;
        const char *remark = remark_on(trainer, &plan->row[i].degrees);
        puts(flags);
        if (remark[0] != '\0') cli_warn("%s", remark);
        return EMP_OK;
    }
    return EMP_ERROR(EMP_EUNSUPPORTED, "%s, and none for another way that fits", why.msg);
}

static emp_status plan_training(inputs *in, const cli_parallel_options *options,
                                int32_t gpus, int32_t top, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_ways   plan = {0};
    emp_sheet  sheet = {0};

    EMP_TRY(check_training(options, err));
    EMP_TRY(find_ways(&plan, &gpus, in, options->all_ranks, err));
    if (plan.feasible == 0) EMP_TRY(refuse(in, &plan, gpus, err));
    if (options->has_form) {
        EMP_TRY(print_form(&plan, &in->spec, options->form, err));
        goto cleanup;
    }
    EMP_SHEET_INIT(&sheet, columns);
    emp_sheet_set_title(&sheet, "%s on %d GPU%s of %s, %d sequences of %d tokens a step",
                        options->spec, gpus, emp_units_plural(gpus), in->fleet.all->name,
                        plan.batch, in->spec.degrees.sequence);
    for (int32_t i = 0; i < plan.count; i++)
        if (top >= plan.count || (i < plan.feasible && i < top))
            add_row(&sheet, &plan, &in->spec, i);
    note_plan(&sheet, &plan, in);
    EMP_TRY(emp_sheet_print(stdout, &sheet, options->format, err));

cleanup:
    emp_sheet_clear(&sheet);
    emp_ways_clear(&plan);
    return st;
}

emp_status cli_parallel_plan(const cli_parallel_options *options, int32_t gpus,
                             int32_t top, emp_error *err)
{
    inputs     in = {0};
    emp_status st = load(&in, options, true, err);

    if (st == EMP_OK && emp_parallel_spec_serves(&in.spec)) {
        st = count_gpus(&gpus, &in, err);
        if (st == EMP_OK)
            st = cli_serving_plan(options, &in.spec, &in.fleet, gpus, top, err);
    } else if (st == EMP_OK) {
        st = plan_training(&in, options, gpus, top, err);
    }
    clear(&in);
    return st;
}

/* ---- one step ---- */

/* A track a rank, and a slice a pass. */
static emp_status write_trace(const char *path, const emp_turn_run *run, int32_t count,
                              emp_error *err)
{
    static const char *const kinds[] = {"forward", "backward", "weights"};
    static const char        letters[] = "FBW";
    emp_status               st = EMP_OK;
    emp_trace_events         events = {0};
    emp_atomic_file          file = {0};
    char(*name)[16] = NULL;
    char track[32];

    EMP_TRY(EMP_ALLOC(name, (size_t)count + 1));
    emp_trace_name_process(&events, 1, "ranks");
    for (int32_t i = 0; i < count; i++) {
        const emp_turn_run *r = &run[i];
        snprintf(name[i], sizeof name[i], "%c%d.%d", letters[r->kind], r->micro_batch,
                 r->chunk);
        snprintf(track, sizeof track, "rank %d", r->rank);
        emp_trace_name_track(&events, (emp_trace_track){1, r->rank}, track);
        emp_trace_span(&events, name[i], kinds[r->kind], (emp_trace_track){1, r->rank},
                       r->start_ns, r->end_ns);
    }
    EMP_TRY(emp_atomic_file_open(&file, path, err));
    EMP_TRY(emp_trace_write(&events, file.stream, err));
    EMP_TRY(emp_atomic_file_commit(&file, err));

cleanup:
    emp_atomic_file_abort(&file);
    emp_trace_clear(&events);
    emp_free(name);
    return st;
}

static emp_status print_step(const cli_parallel_options *o, const inputs *in,
                             const emp_parallel_step *step, bool is_symmetric,
                             emp_error *err)
{
    const double memory =
        (double)in->fleet.all->gpu.memory_bytes - EMP_PARALLEL_PROCESS_BYTES;
    const struct {
        const char *key;
        double      value;
    } seconds[] = {{"step_time_s", step->step_s},    {"pipeline_s", step->pipeline_s},
                   {"reduce_s", step->reduce_s},     {"update_s", step->update_s},
                   {"gather_s", step->gather_s},     {"exposed_s", step->exposed_s},
                   {"products_s", step->products_s}, {"attention_s", step->attention_s},
                   {"moves_s", step->moves_s},       {"host_s", step->host_s},
                   {"link_s", step->link_s}};
    json_t *object =
        json_pack("{s:s, s:s, s:I}", "workload", o->spec, "machine", in->fleet.all->name,
                  "gpus", (json_int_t)emp_degrees_gpus(&in->spec.degrees));
    json_t *rest = json_pack(
        "{s:I, s:f, s:I, s:I, s:I, s:I, s:i, s:f, s:b, s:b, s:b}", "step_time_ns",
        (json_int_t)llround(step->step_s * 1e9), "bubble_frac", step->bubble_frac,
        "peak_bytes", (json_int_t)step->peak_bytes, "state_bytes",
        (json_int_t)step->state_bytes, "activation_bytes",
        (json_int_t)step->activation_bytes, "host_bytes", (json_int_t)step->host_bytes,
        "peak_stage", step->peak_stage, "parameters", step->parameters, "feasible",
        (int)(step->peak_bytes <= memory &&
              step->host_bytes <= (double)in->fleet.all->host.memory_bytes),
        "symmetric", (int)is_symmetric, "all_ranks", (int)o->all_ranks);
    int failures = 0;

    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++)
        failures |=
            json_object_set_new(object, seconds[i].key, json_real(seconds[i].value));
    failures |= json_object_update(object, rest);
    json_decref(rest);
    if (failures != 0) {
        json_decref(object);
        object = NULL;
    }
    return cli_print_object(object, o->format, err);
}

/* Sets the micro-batches of a replica where the spec says how many sequences a step has. */
static emp_status set_micro_batches(emp_degrees *d, const emp_parallel_spec *spec,
                                    emp_error *err)
{
    const int64_t batch = spec->batch, each = (int64_t)d->dp * d->micro_batch;
    const bool    is_given = emp_parallel_spec_has(spec, "micro_batches");

    if (batch == 0) return EMP_OK;
    if (batch % each != 0)
        return EMP_ERROR(
            EMP_EINVAL,
            "batch=%lld is no multiple of dp x micro_batch = %d x %d; %lld is",
            (long long)batch, d->dp, d->micro_batch,
            (long long)((batch / each + 1) * each));
    if (is_given && d->micro_batches != batch / each)
        return EMP_ERROR(
            EMP_EINVAL,
            "batch=%lld with dp=%d and micro_batch=%d is micro_batches=%lld, "
            "not %d; leave one of them out",
            (long long)batch, d->dp, d->micro_batch, (long long)(batch / each),
            d->micro_batches);
    d->micro_batches = (int32_t)(batch / each);
    return EMP_OK;
}

/* Predicts the step of a spec with all its degrees. \param run  OPTIONAL. Receives the passes; the caller frees them. */
static emp_status predict(emp_parallel_step *step, emp_parallel *p, emp_turn_run **run,
                          int32_t *count, inputs *in, bool all_ranks, emp_error *err)
{
    emp_degrees *d = &in->spec.degrees;

    EMP_CHECK(set_micro_batches(d, &in->spec, err));
    *p = emp_parallel_of(in->fleet.all, &in->spec.model, d);
    p->loads = &in->spec.loads;
    const emp_parallel_options how = {
        .all_ranks = all_ranks,
        .schedule_path = in->spec.schedule[0] != '\0' ? in->spec.schedule : NULL,
        .run = run,
        .run_count = count};
    return emp_parallel_predict(step, p, &how, err);
}

emp_status cli_parallel_simulate(const cli_parallel_options *options, emp_error *err)
{
    emp_status        st = EMP_OK;
    inputs            in = {0};
    emp_parallel      p;
    emp_parallel_step step;
    emp_turn_run     *run = NULL;
    int32_t           count = 0;

    EMP_TRY(load(&in, options, false, err));
    if (emp_parallel_spec_serves(&in.spec)) {
        EMP_TRY(cli_serving_simulate(options, &in.spec, in.fleet.all, err));
        goto cleanup;
    }
    EMP_TRY(predict(&step, &p, options->trace != NULL ? &run : NULL, &count, &in,
                    options->all_ranks, err));
    if (options->trace != NULL) EMP_TRY(write_trace(options->trace, run, count, err));
    EMP_TRY(print_step(options, &in, &step, emp_parallel_is_symmetric(&p), err));

cleanup:
    emp_free(run);
    clear(&in);
    return st;
}

/* ---- a picture: ranks against time ---- */

/* The passes of a step, a row a rank. Colours tell forward passes, backward passes and gradients of weights, shades the
 * parts of the model; numbers are micro-batches, where they fit. */

enum { WIDTH = 900, LEFT = 60, RIGHT = 12, TOP = 30, AXIS = 26, MARKS = 8 };

#define FONT 10.0

/* Colours of forward passes, backward passes and gradients of weights, each light and dark. */
static const char *const colours[EMP_TURN_KINDS][2] = {
    {"#56b4e9", "#0072b2"}, {"#e69f00", "#d55e00"}, {"#009e73", "#00664b"}};
static const char *const names[EMP_TURN_KINDS] = {"forward", "backward",
                                                  "gradients of weights"};

typedef struct {
    emp_drawing *d;
    double       end_s, row; /* height of a rank's row */
} picture;

static double x_of(const picture *p, double seconds)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * seconds / p->end_s;
}

static void draw_key(const picture *p, const bool *is_there)
{
    double x = LEFT;

    for (int32_t k = 0; k < EMP_TURN_KINDS; k++) {
        if (!is_there[k]) continue;
        emp_drawing_rectangle(p->d, (emp_box){x, 10, 10, 10},
                              &(emp_paint){.colour = colours[k][0]});
        emp_drawing_text(p->d, x + 14, 19, names[k], &(emp_lettering){.size = FONT});
        x += 28 + emp_label_width(names[k], FONT);
    }
}

static void draw_axis(const picture *p, double bottom)
{
    emp_axis axis = emp_axis_empty();
    double   mark[EMP_AXIS_MARKS];
    char     text[32];

    emp_axis_stretch(&axis, 0.0);
    emp_axis_stretch(&axis, p->end_s);
    const int32_t count = emp_axis_marks(&axis, MARKS, mark);
    for (int32_t i = 0; i < count; i++) {
        const double x = x_of(p, mark[i]);
        emp_drawing_segment(p->d, x, TOP, x, bottom, &(emp_paint){.colour = EMP_FAINT});
        emp_units_format_seconds(mark[i], text, sizeof text);
        emp_drawing_text(p->d, x, bottom + 16, text,
                         &(emp_lettering){.colour = EMP_SOFT,
                                          .size = FONT,
                                          .anchor = EMP_ANCHOR_MIDDLE});
    }
}

static void draw_pass(const picture *p, const emp_turn_run *r, bool is_second)
{
    const double x = x_of(p, (double)r->start_ns * 1e-9);
    const double width = x_of(p, (double)r->end_ns * 1e-9) - x;
    const double y = TOP + p->row * r->rank;
    char         text[48];

    snprintf(text, sizeof text, "%s %d, part %d", names[r->kind], r->micro_batch,
             r->chunk);
    emp_drawing_begin(p->d, text);
    emp_drawing_rectangle(
        p->d, (emp_box){x, y + 1, width > 0.4 ? width - 0.2 : width, p->row - 2},
        &(emp_paint){.colour = colours[r->kind][is_second]});
    snprintf(text, sizeof text, "%d", r->micro_batch);
    if (p->row >= FONT + 4 && width > emp_label_width(text, FONT) + 2)
        emp_drawing_text(p->d, x + width / 2, y + p->row / 2 + FONT / 3, text,
                         &(emp_lettering){.size = FONT, .anchor = EMP_ANCHOR_MIDDLE});
    emp_drawing_end(p->d);
}

static void draw_ranks(const picture *p, int32_t ranks)
{
    const int32_t every = p->row >= FONT ? 1 : (int32_t)(FONT / p->row) + 1;
    char          text[32];

    for (int32_t r = 0; r < ranks; r += every) {
        snprintf(text, sizeof text, "rank %d", r);
        emp_drawing_text(
            p->d, LEFT - 6, TOP + p->row * (r + 0.5) + FONT / 3, text,
            &(emp_lettering){.colour = EMP_SOFT, .size = FONT, .anchor = EMP_ANCHOR_END});
    }
}

static void draw_passes(emp_drawing *drawing, const emp_turn_run *run, int32_t count,
                        int32_t ranks)
{
    picture p = {.d = drawing, .row = ranks > 32 ? 8 : 18};
    bool    is_there[EMP_TURN_KINDS] = {false};
    int32_t least[EMP_CHUNKS_MAX]; /* the first part of a rank's stage */

    for (int32_t i = 0; i < EMP_CHUNKS_MAX; i++) least[i] = EMP_CHUNKS_MAX;
    for (int32_t i = 0; i < count; i++) {
        const int32_t row = run[i].rank % EMP_CHUNKS_MAX;
        if ((double)run[i].end_ns * 1e-9 > p.end_s)
            p.end_s = (double)run[i].end_ns * 1e-9;
        is_there[run[i].kind] = true;
        if (run[i].chunk < least[row]) least[row] = run[i].chunk;
    }
    emp_drawing_init(drawing, "timeline", "passes of a training step: ranks against time",
                     WIDTH, TOP + p.row * ranks + AXIS);
    draw_key(&p, is_there);
    draw_axis(&p, TOP + p.row * ranks);
    draw_ranks(&p, ranks);
    for (int32_t i = 0; i < count; i++)
        draw_pass(&p, &run[i], run[i].chunk != least[run[i].rank % EMP_CHUNKS_MAX]);
}

emp_status cli_parallel_draw(emp_drawing *drawing, const cli_parallel_options *options,
                             emp_error *err)
{
    emp_status        st = EMP_OK;
    inputs            in = {0};
    emp_parallel      p;
    emp_parallel_step step;
    emp_turn_run     *run = NULL;
    int32_t           count = 0, ranks = 0;

    EMP_TRY(load(&in, options, false, err));
    if (emp_parallel_spec_serves(&in.spec))
        EMP_FAIL(EMP_EINVAL, "passes are drawn of training steps; leave out phase=");
    EMP_TRY(predict(&step, &p, &run, &count, &in, options->all_ranks, err));
    for (int32_t i = 0; i < count; i++)
        if (run[i].rank >= ranks) ranks = run[i].rank + 1;
    if (count > EMP_PARALLEL_PASSES_MAX)
        EMP_FAIL(EMP_EINVAL,
                 "%d passes are too many for a picture, want %d at most; take fewer "
                 "micro-batches, or emplace simulate --trace",
                 count, EMP_PARALLEL_PASSES_MAX);
    draw_passes(drawing, run, count, ranks);

cleanup:
    emp_free(run);
    clear(&in);
    return st;
}
