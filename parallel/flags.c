// SPDX-License-Identifier: GPL-3.0-or-later
#include "parallel/plan.h"

#include "base/text/text.h"

const char *const emp_trainer_names[EMP_TRAINERS] = {"Megatron-LM", "DeepSpeed"};

/* A part of a way that a program has no flags for. */
typedef struct {
    bool        is_there;
    const char *what;
} gap;

static emp_status check_gaps(const gap *gaps, size_t count, emp_trainer trainer,
                             emp_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (gaps[i].is_there)
            return EMP_ERROR(EMP_EUNSUPPORTED, "%s has no flags for %s",
                             emp_trainer_names[trainer], gaps[i].what);
    return EMP_OK;
}

/* ---- Megatron-LM ---- */

/* The second half are pairs that Megatron-LM refuses: validate_args() in arguments.py, OptimizerConfig, and MoELayer.forward(). */
static emp_status check_megatron(const emp_parallel_spec *spec, const emp_way *way,
                                 emp_error *err)
{
    const emp_degrees *d = &way->degrees;
    const bool         is_1f1b = d->pp == 1 || d->schedule == EMP_ORDER_1F1B ||
                         d->schedule == EMP_ORDER_INTERLEAVED;
    const gap gaps[] = {
        {way->shares == EMP_SHARES_MICRO_BATCHES,
         "replicas with different numbers of micro-batches"},
        {spec->schedule[0] != '\0', "schedules of one's own"},
        {!is_1f1b && d->schedule == EMP_ORDER_ZERO_BUBBLE, "schedule=zero-bubble"},
        {!is_1f1b && d->schedule == EMP_ORDER_DUALPIPE, "schedule=dualpipe"},
        {!is_1f1b && d->schedule == EMP_ORDER_GPIPE, "schedule=gpipe"},
        {d->home, "home=host"},
        {d->activations, "activations=host"},
        {d->zero > 1, "zero=2 and zero=3"},
        {d->redundant > 0, "redundant="},
        {d->placed == EMP_PLACED_BALANCED, "placed=balanced"},
        {d->update && d->zero == 0, "update=host with zero=0"},
        {d->overlap_parameters && (!d->overlap_gradients || d->zero == 0),
         "overlap_parameters=1 without overlap_gradients=1 and zero=1"},
        {d->overlap_tp && d->tp > 1 && !d->sp, "overlap_tp=1 with sp=0"},
        {d->tp > 1 && !d->sp && emp_transformer_has_experts(&spec->model),
         "sp=0 with experts"},
        {d->cuda_graphs && d->recompute == EMP_RECOMPUTE_FULL,
         "cuda_graphs=1 with recompute=full"},
        {d->cp > 1 && d->sequence % (2 * d->cp) != 0,
         "a sequence that is no multiple of 2 cp"},
    };

    return check_gaps(gaps, sizeof gaps / sizeof *gaps, EMP_TRAINER_MEGATRON, err);
}

static void add_layers(emp_text *to, char kind, int32_t count)
{
    if (count > 0) emp_text_add(to, "%c", kind);
    if (count > 1) emp_text_add(to, "*%d", count);
}

/* Adds the layers of each part with the embedding, layers that predict further tokens and the loss, "Et*3|t*4|tmL", unless all
 * parts are alike. Megatron-LM takes the number of parts from this layout, and no other flag for it. */
static void add_pipeline(emp_text *to, const emp_degrees *d, const int32_t *layers)
{
    const int32_t parts = d->pp * d->vp;
    bool          is_even = true;

    for (int32_t i = 1; i < parts; i++) is_even &= layers[i] == layers[0];
    emp_text_add(to, " --pipeline-model-parallel-size %d", d->pp);
    if (is_even) {
        if (d->vp > 1)
            emp_text_add(to, " --num-virtual-stages-per-pipeline-rank %d", d->vp);
        return;
    }
    emp_text_add(to, " --pipeline-model-parallel-layout 'E");
    for (int32_t i = 0; i < parts; i++) {
        if (i > 0) emp_text_add(to, "|");
        add_layers(to, 't', layers[i]);
    }
    add_layers(to, 'm', d->mtp);
    emp_text_add(to, "L'");
}

/* Experts have tp ranks each in Megatron-LM unless a flag says otherwise. */
static void add_ranks(emp_text *to, const emp_degrees *d, const int32_t *layers,
                      bool is_routed)
{
    emp_text_add(to, "--tensor-model-parallel-size %d", d->tp);
    add_pipeline(to, d, layers);
    if (d->cp > 1)
        emp_text_add(to, " --context-parallel-size %d --cp-comm-type a2a", d->cp);
    if (is_routed)
        emp_text_add(to,
                     " --expert-model-parallel-size %d --expert-tensor-parallel-size %d",
                     d->ep, d->etp);
    if (d->sp && d->tp > 1) emp_text_add(to, " --sequence-parallel");
    if (d->zero > 0) emp_text_add(to, " --use-distributed-optimizer");
    if (d->update)
        emp_text_add(to, " --use-precision-aware-optimizer --optimizer-cpu-offload");
}

static void add_kernels(emp_text *to, const emp_degrees *d)
{
    if (d->mtp > 0) emp_text_add(to, " --mtp-num-layers %d", d->mtp);
    if (d->recompute == EMP_RECOMPUTE_SELECTIVE)
        emp_text_add(to, " --recompute-granularity selective");
    if (d->recompute == EMP_RECOMPUTE_FULL)
        emp_text_add(to, " --recompute-granularity full --recompute-method uniform "
                         "--recompute-num-layers 1");
    if (d->overlap_gradients) emp_text_add(to, " --overlap-grad-reduce");
    if (d->overlap_parameters) emp_text_add(to, " --overlap-param-gather");
    if (d->overlap_tp && d->tp > 1) emp_text_add(to, " --tp-comm-overlap");
    if (d->is_fp8) emp_text_add(to, " --fp8-format hybrid");
    if (d->attention == EMP_ATTENTION_UNFUSED)
        emp_text_add(to, " --attention-backend unfused");
    if (d->cuda_graphs) emp_text_add(to, " --cuda-graph-impl local");
}

static emp_status write_megatron(emp_text *to, const emp_parallel_spec *spec,
                                 const emp_way *way, int32_t batch, emp_error *err)
{
    emp_degrees d = way->degrees;
    int32_t     layers[EMP_CHUNKS_MAX];

    EMP_CHECK(check_megatron(spec, way, err));
    EMP_CHECK(emp_degrees_resolve(&d, layers, &spec->model, err));
    add_ranks(to, &d, layers, emp_transformer_has_experts(&spec->model));
    add_kernels(to, &d);
    emp_text_add(to, " --seq-length %d --micro-batch-size %d --global-batch-size %d",
                 d.sequence, d.micro_batch, batch);
    return EMP_OK;
}

/* ---- DeepSpeed ---- */

static emp_status check_deepspeed(const emp_way *way, emp_error *err)
{
    const emp_degrees *d = &way->degrees;
    const gap          gaps[] = {
                 {way->shares == EMP_SHARES_MICRO_BATCHES,
                  "replicas with different numbers of micro-batches"},
                 {d->tp > 1 || d->pp > 1 || d->cp > 1 || d->ep > 1 || d->etp > 1,
                  "ranks that share a replica"},
                 {d->is_fp8, "dtype=fp8"},
                 {d->cuda_graphs, "cuda_graphs=1"},
                 {d->redundant > 0, "redundant="},
                 {d->placed == EMP_PLACED_BALANCED, "placed=balanced"},
                 {d->home && d->zero < 3, "home=host without zero=3"},
                 {d->activations && d->recompute != EMP_RECOMPUTE_FULL,
                  "activations=host without recompute=full"},
                 {d->overlap_parameters && d->zero < 3, "overlap_parameters=1 without zero=3"},
    };

    return check_gaps(gaps, sizeof gaps / sizeof *gaps, EMP_TRAINER_DEEPSPEED, err);
}

static emp_status write_deepspeed(emp_text *to, const emp_way *way, int32_t batch,
                                  emp_error *err)
{
    static const char  cpu[] = "{\"device\": \"cpu\", \"pin_memory\": true}";
    const emp_degrees *d = &way->degrees;

    EMP_CHECK(check_deepspeed(way, err));
    emp_text_add(to,
                 "{\"train_batch_size\": %d, \"train_micro_batch_size_per_gpu\": %d, "
                 "\"bf16\": {\"enabled\": true}, \"zero_optimization\": {\"stage\": %d",
                 batch, d->micro_batch, d->zero);
    if (d->overlap_gradients) emp_text_add(to, ", \"overlap_comm\": true");
    if (d->update) emp_text_add(to, ", \"offload_optimizer\": %s", cpu);
    if (d->home) emp_text_add(to, ", \"offload_param\": %s", cpu);
    emp_text_add(to, "}");
    if (d->activations)
        emp_text_add(to, ", \"activation_checkpointing\": {\"cpu_checkpointing\": true}");
    emp_text_add(to, "}");
    return EMP_OK;
}

emp_status emp_flags_write(char text[EMP_FLAGS_BYTES], emp_trainer trainer,
                           const emp_parallel_spec *spec, const emp_way *way,
                           int32_t batch, emp_error *err)
{
    emp_text to = {text, EMP_FLAGS_BYTES, 0};

    text[0] = '\0';
    return trainer == EMP_TRAINER_MEGATRON ? write_megatron(&to, spec, way, batch, err)
                                           : write_deepspeed(&to, way, batch, err);
}
