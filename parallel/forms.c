// SPDX-License-Identifier: GPL-3.0-or-later
#include "parallel/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/text.h"

bool emp_degrees_fit_megatron(const emp_degrees *d)
{
    return !d->home && !d->activations && d->zero < 2;
}

bool emp_degrees_fit_deepspeed(const emp_degrees *d)
{
    return d->tp == 1 && d->pp == 1 && d->cp == 1 && d->ep == 1 && !d->is_fp8 &&
           (!d->activations || d->recompute == EMP_RECOMPUTE_FULL);
}

/* "Et*3|t*4|tL": the layers of each part, with the embedding and the loss. */
static void add_layout(emp_text *to, const emp_degrees *d)
{
    const char *at = d->stages;

    emp_text_add(to, " --pipeline-model-parallel-layout 'E");
    while (*at != '\0') {
        const size_t length = strcspn(at, ",/+");
        const int    layers = atoi(at);
        if (layers > 0) emp_text_add(to, layers > 1 ? "t*%d" : "t", layers);
        at += length;
        if (*at != '\0') {
            emp_text_add(to, "|");
            at++;
        }
    }
    emp_text_add(to, "L'");
}

const char *emp_degrees_megatron_flags(char *text, size_t size, const emp_degrees *d,
                                       int32_t batch)
{
    emp_text to = {text, size, 0};

    text[0] = '\0';
    emp_text_add(&to, "--tensor-model-parallel-size %d --pipeline-model-parallel-size %d",
                 d->tp, d->pp);
    if (d->stages[0] != '\0') add_layout(&to, d);
    if (d->vp > 1) emp_text_add(&to, " --num-virtual-stages-per-pipeline-rank %d", d->vp);
    if (d->cp > 1)
        emp_text_add(&to, " --context-parallel-size %d --cp-comm-type a2a", d->cp);
    if (d->ep > 1)
        emp_text_add(&to,
                     " --expert-model-parallel-size %d --expert-tensor-parallel-size %d",
                     d->ep, d->etp > 0 ? d->etp : 1);
    if (d->mtp > 0) emp_text_add(&to, " --mtp-num-layers %d", d->mtp);
    if (d->sp && d->tp > 1) emp_text_add(&to, " --sequence-parallel");
    if (d->zero > 0) emp_text_add(&to, " --use-distributed-optimizer");
    if (d->update)
        emp_text_add(&to, " --use-precision-aware-optimizer --optimizer-cpu-offload");
    if (d->recompute == EMP_RECOMPUTE_SELECTIVE)
        emp_text_add(&to, " --recompute-granularity selective");
    if (d->recompute == EMP_RECOMPUTE_FULL)
        emp_text_add(&to, " --recompute-granularity full --recompute-method uniform "
                          "--recompute-num-layers 1");
    if (d->overlap_gradients) emp_text_add(&to, " --overlap-grad-reduce");
    if (d->overlap_parameters) emp_text_add(&to, " --overlap-param-gather");
    if (d->overlap_tp) emp_text_add(&to, " --tp-comm-overlap");
    if (d->is_fp8) emp_text_add(&to, " --fp8-format hybrid");
    if (d->first > 0 && d->first == d->last)
        emp_text_add(&to, " --account-for-embedding-in-pipeline-split "
                          "--account-for-loss-in-pipeline-split");
    else if (d->first > 0)
        emp_text_add(&to, " --decoder-first-pipeline-num-layers %d", d->first);
    if (d->last > 0 && d->first != d->last)
        emp_text_add(&to, " --decoder-last-pipeline-num-layers %d", d->last);
    emp_text_add(&to, " --seq-length %d --micro-batch-size %d --global-batch-size %d",
                 d->sequence, d->micro_batch, batch);
    return text;
}

const char *emp_degrees_deepspeed_config(char *text, size_t size, const emp_degrees *d,
                                         int32_t batch)
{
    static const char cpu[] = "{\"device\": \"cpu\", \"pin_memory\": true}";
    emp_text          to = {text, size, 0};

    text[0] = '\0';
    emp_text_add(&to,
                 "{\"train_batch_size\": %d, \"train_micro_batch_size_per_gpu\": %d, "
                 "\"bf16\": {\"enabled\": true}, \"zero_optimization\": {\"stage\": %d",
                 batch, d->micro_batch, d->zero);
    if (d->update) emp_text_add(&to, ", \"offload_optimizer\": %s", cpu);
    if (d->home) emp_text_add(&to, ", \"offload_param\": %s", cpu);
    emp_text_add(&to, "}");
    if (d->activations)
        emp_text_add(&to,
                     ", \"activation_checkpointing\": {\"cpu_checkpointing\": true}");
    emp_text_add(&to, "}");
    return text;
}

const char *emp_degrees_form(const emp_degrees *d)
{
    return emp_degrees_fit_megatron(d)    ? "Megatron-LM"
           : emp_degrees_fit_deepspeed(d) ? "DeepSpeed"
                                          : "Flags";
}

const char *emp_degrees_flags(char *text, size_t size, const emp_degrees *d,
                              int32_t batch)
{
    if (emp_degrees_fit_megatron(d))
        return emp_degrees_megatron_flags(text, size, d, batch);
    if (emp_degrees_fit_deepspeed(d))
        return emp_degrees_deepspeed_config(text, size, d, batch);
    snprintf(text, size,
             "neither Megatron-LM nor ZeRO of DeepSpeed has all of these degrees");
    return text;
}
