// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options/forms/pipeline_options.h"

#include <stdio.h>
#include <string.h>

#include "base/io/atomic_file.h"
#include "base/mem.h"
#include "graphs/transformer/parts.h"
#include "run/sheet/manifest.h"

enum { NOWHERE = -1, LAYERS_MAX = EMP_TRANSFORMER_LAYERS_MAX };

typedef struct {
    emp_device_id device;
    int32_t       layers;
    bool          has_table, has_head;
} stage;

typedef struct {
    const emp_named_placement *p;
    cli_form                   form;
    emp_device_id             *layer; /* [layer] its device */
    int32_t                    layer_count, stage_count;
    emp_device_id              table, head;
    stage                      stage[EMP_MAX_DEVICES];
} pipeline;

static bool is_cpu(const pipeline *l, emp_device_id device)
{
    return strncmp(l->p->device_name[device], "cpu:", 4) == 0;
}

/* ---- where parts are ---- */

static emp_status note(pipeline *l, int32_t op, const emp_model_part *part,
                       emp_error *err)
{
    const emp_device_id here = l->p->decision.device_of_op[op];
    emp_device_id      *at = &l->layer[part->layer];

    if (part->layer >= l->layer_count) l->layer_count = part->layer + 1;
    if (is_cpu(l, here))
        return EMP_ERROR(EMP_EINVAL,
                         "%s give layers to GPUs, and %s of layer %d is on %s",
                         cli_form_name(l->form), l->p->op_name[op], part->layer,
                         l->p->device_name[here]);
    if (*at != NOWHERE && *at != here)
        return EMP_ERROR(
            EMP_EINVAL,
            "%s keep a layer on one device, and layer %d is on %s, but %s on "
            "%s",
            cli_form_name(l->form), part->layer, l->p->device_name[*at],
            l->p->op_name[op], l->p->device_name[here]);
    *at = here;
    return EMP_OK;
}

static emp_status find_parts(pipeline *l, emp_error *err)
{
    for (int32_t op = 0; op < l->p->op_count; op++) {
        const emp_model_part part = emp_model_part_of(l->p->op_name[op]);
        const emp_device_id  here = l->p->decision.device_of_op[op];
        if (part.role[0] != '\0') continue;
        if (part.layer >= 0) EMP_CHECK(note(l, op, &part, err));
        if (part.kind == EMP_PART_EMBEDDING) l->table = here;
        if (part.kind == EMP_PART_HEAD) l->head = here;
    }
    return EMP_OK;
}

/* ---- stages ---- */

static emp_status begin_stage(pipeline *l, emp_device_id device, const char *part,
                              emp_error *err)
{
    stage *last = &l->stage[l->stage_count - 1];

    if (l->stage_count > 0 && last->device == device) return EMP_OK;
    for (int32_t i = 0; i < l->stage_count; i++)
        if (l->stage[i].device == device)
            return EMP_ERROR(EMP_EINVAL,
                             "%s give a device layers that follow one another, and %s is "
                             "on %s, which has layers before those of %s",
                             cli_form_name(l->form), part, l->p->device_name[device],
                             l->p->device_name[last->device]);
    l->stage[l->stage_count++] = (stage){.device = device};
    return EMP_OK;
}

static emp_status find_stages(pipeline *l, emp_error *err)
{
    const bool is_megatron = l->form == CLI_FORM_MEGATRON;
    /* a table that is tied to the head, or is simulated with it, is copied to the first stage */
    const bool has_own_table = l->table != NOWHERE && l->table != l->head;
    char       part[32];

    if (is_megatron && has_own_table)
        EMP_CHECK(begin_stage(l, l->table, "the table", err));
    for (int32_t i = 0; i < l->layer_count; i++) {
        snprintf(part, sizeof part, "layer %d", i);
        if (l->layer[i] == NOWHERE)
            return EMP_ERROR(EMP_EINVAL, "%s count layers from 0, and %s is not there",
                             cli_form_name(l->form), part);
        EMP_CHECK(begin_stage(l, l->layer[i], part, err));
        l->stage[l->stage_count - 1].layers++;
    }
    l->stage[0].has_table = true;
    if (!is_megatron && has_own_table && l->table != l->stage[0].device)
        return EMP_ERROR(EMP_EINVAL, "vLLM has the table with layer 0, and it is on %s",
                         l->p->device_name[l->table]);
    if (l->head != NOWHERE && is_megatron)
        EMP_CHECK(begin_stage(l, l->head, "the head", err));
    else if (l->head != NOWHERE && l->head != l->stage[l->stage_count - 1].device)
        return EMP_ERROR(EMP_EINVAL,
                         "vLLM has the head with the last layer, and it is on %s",
                         l->p->device_name[l->head]);
    l->stage[l->stage_count - 1].has_head = true;
    return EMP_OK;
}

/* ---- the script ---- */

static int32_t number_of(const pipeline *l, int32_t i)
{
    const char *name = l->p->device_name[l->stage[i].device];
    int32_t     number = 0;

    sscanf(name + strcspn(name, ":"), ":%d", &number);
    return number;
}

/* Ranks take GPUs in the order in which they see them. */
static void print_devices(FILE *stream, const pipeline *l)
{
    fputs("CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=", stream);
    for (int32_t i = 0; i < l->stage_count; i++)
        fprintf(stream, "%s%d", i > 0 ? "," : "", number_of(l, i));
    fputs("\nexport CUDA_DEVICE_ORDER CUDA_VISIBLE_DEVICES\n", stream);
}

static void print_vllm(FILE *stream, const pipeline *l)
{
    fputs("VLLM_PP_LAYER_PARTITION=", stream);
    for (int32_t i = 0; i < l->stage_count; i++)
        fprintf(stream, "%s%d", i > 0 ? "," : "", l->stage[i].layers);
    fprintf(stream,
            "\nexport VLLM_PP_LAYER_PARTITION\n"
            "exec \"$@\" --tensor-parallel-size 1 --pipeline-parallel-size %d\n",
            l->stage_count);
}

static void print_megatron(FILE *stream, const pipeline *l)
{
    fprintf(
        stream,
        "exec \"$@\" --tensor-model-parallel-size 1 --pipeline-model-parallel-size %d",
        l->stage_count);
    fprintf(stream, " \\\n    --num-layers %d", l->layer_count);
    if (l->stage_count > 1) fputs(" \\\n    --pipeline-model-parallel-layout '", stream);
    for (int32_t i = 0; i < l->stage_count && l->stage_count > 1; i++) {
        const stage *s = &l->stage[i];
        fprintf(stream, "%s%s", i > 0 ? "|" : "", s->has_table ? "E" : "");
        if (s->layers > 0) fprintf(stream, s->layers > 1 ? "t*%d" : "t", s->layers);
        if (s->has_head) fputc('L', stream);
    }
    fputs(l->stage_count > 1 ? "'\n" : "\n", stream);
}

static emp_status print(FILE *stream, const void *what, emp_error *err)
{
    const pipeline *l = (const pipeline *)what;
    const bool      is_vllm = l->form == CLI_FORM_VLLM;

    (void)err;
    fprintf(stream,
            "#!/bin/sh\n# Runs %s with this placement:\n#     sh FILE.sh %s\n"
            "# Stage i of the pipeline is the i-th of these GPUs.\n# made by: ",
            is_vllm ? "vLLM" : "a program of Megatron-LM",
            is_vllm ? "vllm serve MODEL"
                    : "torchrun --nproc-per-node STAGES pretrain_gpt.py OPTIONS");
    for (const char *c = emp_manifest_get().command; *c != '\0'; c++)
        fputc((unsigned char)*c < ' ' ? ' ' : *c, stream);
    fputc('\n', stream);
    print_devices(stream, l);
    is_vllm ? print_vllm(stream, l) : print_megatron(stream, l);
    return EMP_OK;
}

emp_status cli_pipeline_options_write(const char *path, cli_form form,
                                      const emp_named_placement *placement,
                                      emp_error                 *err)
{
    emp_status st = EMP_OK;
    pipeline   l = {.p = placement, .form = form, .table = NOWHERE, .head = NOWHERE};

    EMP_TRY(cli_form_check(form, placement, "", err));
    EMP_TRY(EMP_ALLOC(l.layer, (size_t)LAYERS_MAX));
    for (int32_t i = 0; i < LAYERS_MAX; i++) l.layer[i] = NOWHERE;
    EMP_TRY(find_parts(&l, err));
    EMP_TRY(find_stages(&l, err));
    EMP_TRY(emp_atomic_file_write(path, print, &l, err));

cleanup:
    emp_free(l.layer);
    return st;
}
