// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options/placement_output.h"

#include <stdio.h>
#include <string.h>

#include "base/collections.h"
#include "base/io/atomic_file.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "cli/options/device_map.h"
#include "cli/options/forms.h"
#include "graphs/import/node_devices.h"
#include "graphs/load.h"
#include "graphs/transformer/parts.h"
#include "graphs/workloads/workloads.h"
#include "run/sheet/sheet.h"
#include "sim/machine/queries/check.h"

enum { NOWHERE = -1, LAYERS_MAX = EMP_TRANSFORMER_LAYERS_MAX };

typedef struct {
    emp_device_id device;
    int32_t       layers;
    bool          has_table, has_head;
    int64_t       host_bytes; /* of its weights that are in host memory */
} stage;

typedef struct {
    const emp_named_placement *p;
    cli_form                   form;
    const char                *spec;
    emp_device_id             *layer;      /* [layer] its device */
    int64_t                   *host_bytes; /* [layer] of its weights in host memory */
    int32_t                    layer_count, stage_count;
    emp_device_id              table, head;
    stage                      stage[EMP_MAX_DEVICES];
} pipeline;

static bool is_cpu(const char *device_name)
{
    return strncmp(device_name, "cpu:", 4) == 0;
}

/* ---- where parts are ---- */

static emp_status note(pipeline *l, int32_t op, const emp_model_part *part,
                       emp_error *err)
{
    const emp_device_id here = l->p->decision.device_of_op[op];
    emp_device_id      *at = &l->layer[part->layer];

    if (part->layer >= l->layer_count) l->layer_count = part->layer + 1;
    if (is_cpu(l->p->device_name[here]))
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

/* Notes a matrix of a layer that is held on a host, from which vLLM can read it. */
static bool note_held(pipeline *l, int32_t op, const emp_model_part *part)
{
    const emp_graph    *g = l->p->graph;
    const emp_device_id here = l->p->decision.device_of_op[op];

    if (l->form != CLI_FORM_VLLM || g == NULL || part->layer < 0 ||
        !is_cpu(l->p->device_name[here]) ||
        !emp_text_ends_in(l->p->op_name[op], ".weight"))
        return false;
    l->host_bytes[part->layer] += g->op[op].persistent_bytes;
    return true;
}

static emp_status find_parts(pipeline *l, emp_error *err)
{
    for (int32_t op = 0; op < l->p->op_count; op++) {
        const emp_model_part part = emp_model_part_of(l->p->op_name[op]);
        const emp_device_id  here = l->p->decision.device_of_op[op];
        if (part.role[0] != '\0' || note_held(l, op, &part)) continue;
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
    const stage *last = l->stage_count > 0 ? &l->stage[l->stage_count - 1] : NULL;

    if (last != NULL && last->device == device) return EMP_OK;
    for (int32_t i = 0; i < l->stage_count; i++)
        if (l->stage[i].device == device)
            return EMP_ERROR(EMP_EINVAL,
                             "%s give a device layers that follow one another, and %s is "
                             "on %s, which has layers before the layers of %s",
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
        l->stage[l->stage_count - 1].host_bytes += l->host_bytes[i];
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

/* A key of a spec, where the spec has it: \return its value's length. */
static int value_of(const char **value, const char *spec, const char *key)
{
    const size_t length = strlen(key);

    for (const char *at = strpbrk(spec, ":,"); at != NULL; at = strpbrk(at + 1, ",")) {
        if (strncmp(at + 1, key, length) != 0 || at[1 + length] != '=') continue;
        *value = at + 2 + length;
        return (int)strcspn(*value, ",");
    }
    return 0;
}

/* The sequences and the tokens that the step was placed for, and the weights that a GPU leaves to the host: vLLM has one number
 * for all GPUs. */
static void print_limits(FILE *stream, const pipeline *l)
{
    static const char *const flags[][2] = {{"batch", "--max-num-seqs"},
                                           {"seq", "--max-model-len"}};
    const char              *value = NULL;
    int64_t                  most = 0;

    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        const int length = value_of(&value, l->spec, flags[i][0]);
        if (length > 0) fprintf(stream, " %s %.*s", flags[i][1], length, value);
    }
    if (value_of(&value, l->spec, "cache_dtype") == 3 && strncmp(value, "fp8", 3) == 0)
        fputs(" --kv-cache-dtype fp8", stream);
    for (int32_t i = 0; i < l->stage_count; i++)
        if (l->stage[i].host_bytes > most) most = l->stage[i].host_bytes;
    if (most > 0) fprintf(stream, " --cpu-offload-gb %.2f", (double)most / 1073741824.0);
}

static void print_vllm(FILE *stream, const pipeline *l)
{
    fputs("VLLM_PP_LAYER_PARTITION=", stream);
    for (int32_t i = 0; i < l->stage_count; i++)
        fprintf(stream, "%s%d", i > 0 ? "," : "", l->stage[i].layers);
    fprintf(stream,
            "\nexport VLLM_PP_LAYER_PARTITION\n"
            "exec \"$@\" --tensor-parallel-size 1 --pipeline-parallel-size %d",
            l->stage_count);
    print_limits(stream, l);
    fputc('\n', stream);
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

/* Writes the script of CLI_FORM_VLLM or CLI_FORM_MEGATRON, whole or not at all. O(ops).
 * \retval EMP_EINVAL  As cli_form_check(); or a layer is on a CPU or on two devices, the layers of a device do not
 *                     follow one another, or the table or the head is not where the form has it.
 * \retval EMP_EIO, EMP_ENOMEM */
static emp_status cli_pipeline_options_write(const char *path, cli_form form,
                                             const emp_named_placement *placement,
                                             const char *spec, emp_error *err)
{
    emp_status st = EMP_OK;
    pipeline   l = {
          .p = placement, .form = form, .spec = spec, .table = NOWHERE, .head = NOWHERE};

    EMP_TRY(cli_form_check(form, placement, "", err));
    EMP_TRY(EMP_ALLOC(l.layer, (size_t)LAYERS_MAX));
    EMP_TRY(EMP_ALLOC(l.host_bytes, (size_t)LAYERS_MAX));
    for (int32_t i = 0; i < LAYERS_MAX; i++) l.layer[i] = NOWHERE;
    EMP_TRY(find_parts(&l, err));
    EMP_TRY(find_stages(&l, err));
    EMP_TRY(emp_atomic_file_write(path, print, &l, err));

cleanup:
    emp_free(l.layer);
    emp_free(l.host_bytes);
    return st;
}

typedef enum {
    KIND_PLACEMENT,
    KIND_BINARY,
    KIND_TEXT,
    KIND_PYTHON,
    KIND_SHELL
} output_kind;

/* A placement with TensorFlow's names of its devices. */
typedef struct {
    const emp_named_placement *placement;
    char                       device[EMP_MAX_DEVICES][EMP_DEVICE_NAME_BYTES];
    emp_strmap                 op_of_name;
} tf_placement;

static output_kind kind_of(const char *path)
{
    if (emp_text_ends_in(path, ".pb")) return KIND_BINARY;
    if (emp_text_ends_in(path, ".pbtxt")) return KIND_TEXT;
    if (emp_text_ends_in(path, ".sh")) return KIND_SHELL;
    return emp_text_ends_in(path, ".py") ? KIND_PYTHON : KIND_PLACEMENT;
}

/* ONNX models, programs of XLA and GGUF files have names of their own. */
static bool is_without_names(const char *spec)
{
    const emp_source_format *format = emp_source_format_of(spec);

    if (emp_source_has_prefix(spec, "onnx")) return true;
    return format != NULL &&
           (format->source == EMP_SOURCE_ONNX || format->source == EMP_SOURCE_HLO ||
            format->source == EMP_SOURCE_GGUF);
}

emp_status cli_placement_output_check(const char *path, const char *spec, emp_error *err)
{
    if (path == NULL) return EMP_OK;
    if (emp_text_ends_in(path, ".gz"))
        return EMP_ERROR(
            EMP_EINVAL, "%s cannot be written: outputs are not compressed; leave out .gz",
            path);
    output_kind kind = kind_of(path);
    const char *cache = NULL;
    if (cli_form_of(path, spec) == CLI_FORM_VLLM &&
        value_of(&cache, spec, "cache_dtype") > 0 && *cache == 'q')
        return EMP_ERROR(
            EMP_EINVAL, "vLLM has no cache of cache_dtype=%.4s; want auto or fp8", cache);
    if (cli_form_of(path, spec) == CLI_FORM_DEVICE_MAP && !cli_device_map_is_for(spec))
        return EMP_ERROR(EMP_EINVAL,
                         "%s is to be a device_map, and %s is no model of PyTorch or "
                         "Hugging Face; name a .json of another ending",
                         path, spec);
    if ((kind == KIND_PYTHON || cli_form_of(path, spec) == CLI_FORM_DEVICE_MAP) &&
        is_without_names(spec))
        return EMP_ERROR(EMP_EINVAL,
                         "%s is to be for PyTorch or TensorFlow 1, and %s does not name "
                         "their modules or ops; name a .json",
                         path, spec);
    if (kind == KIND_SHELL && cli_form_of(path, spec) == CLI_FORM_LLAMA &&
        !cli_llama_options_are_for(spec))
        return EMP_ERROR(EMP_EINVAL,
                         "%s is to have options of llama.cpp, and %s is no GGUF file and "
                         "no config of Hugging Face; name a .json",
                         path, spec);
    if (emp_text_ends_in(path, ".onnx"))
        return EMP_ERROR(
            EMP_EINVAL,
            "%s cannot be written: ONNX Runtime gives each node to the first "
            "provider that supports it, and its settings for layers need "
            "marks inside the model; name a .json",
            path);
    if (kind != KIND_BINARY && kind != KIND_TEXT) return EMP_OK;
    if (emp_workload_is_spec(spec))
        return EMP_ERROR(EMP_EINVAL,
                         "%s is to be a copy of a TensorFlow graph file, and %s is a "
                         "workload; name a .json or a .py",
                         path, spec);
    char             file[EMP_SPEC_BYTES];
    emp_nodes_syntax syntax = emp_nodes_syntax_of(emp_source_file(file, spec));
    if (syntax == EMP_NODES_NONE)
        return EMP_ERROR(EMP_EINVAL,
                         "%s is to be a copy of a TensorFlow graph file, and %s is none",
                         path, spec);
    if ((syntax == EMP_NODES_TEXT) == (kind == KIND_TEXT)) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL, "%s is %s, and so is its copy: name a %s, not %s", spec,
                     syntax == EMP_NODES_TEXT ? "text" : "binary",
                     syntax == EMP_NODES_TEXT ? ".pbtxt" : ".pb", path);
}

emp_status cli_placement_output_check_ops(const char *path, const emp_named_placement *p,
                                          const char *spec, emp_error *err)
{
    return cli_form_check(cli_form_of(path, spec), p, spec, err);
}

bool cli_placement_output_is_device_map(const char *path, const char *spec)
{
    return cli_form_of(path, spec) == CLI_FORM_DEVICE_MAP;
}

bool cli_placement_output_names_run(const char *path)
{
    return cli_form_of(path, "") == CLI_FORM_ANY;
}

bool cli_placement_output_needs_machine(const char *path, const emp_named_placement *p)
{
    int32_t hosts = 0;

    for (emp_device_id d = 0; d < p->device_count; d++)
        hosts += is_cpu(p->device_name[d]);
    return kind_of(path) != KIND_PLACEMENT && hosts > 1;
}

/* TensorFlow's name of a device; without a machine there is one host. */
static void name_device(char name[EMP_DEVICE_NAME_BYTES], const emp_machine *machine,
                        emp_device_id device, const char *device_name)
{
    if (machine != NULL)
        emp_device_name_write(name, machine, device);
    else
        snprintf(name, EMP_DEVICE_NAME_BYTES, "/device:%s:%s",
                 is_cpu(device_name) ? "CPU" : "GPU", device_name + strlen("cpu:"));
}

/* ---- graph files ---- */

static const char *device_of_node(const void *context, emp_slice name)
{
    const tf_placement *tf = (const tf_placement *)context;
    int32_t             op = emp_strmap_get(&tf->op_of_name, name.data, name.size);

    return op >= 0 ? tf->device[tf->placement->decision.device_of_op[op]] : "";
}

static emp_status index_names(emp_strmap *map, const emp_named_placement *p,
                              emp_error *err)
{
    for (int32_t op = 0; op < p->op_count; op++)
        EMP_CHECK(emp_strmap_set(map, p->op_name[op], strlen(p->op_name[op]), op, err));
    return EMP_OK;
}

/* Ops of the placement that a graph file has. */
typedef struct {
    const tf_placement *tf;
    bool               *is_there; /* [op] */
} census;

static emp_status note_node(void *context, emp_slice name, emp_slice device,
                            emp_error *err)
{
    census *c = (census *)context;
    int32_t op = emp_strmap_get(&c->tf->op_of_name, name.data, name.size);

    (void)device, (void)err;
    if (op >= 0) c->is_there[op] = true;
    return EMP_OK;
}

/* The file may have changed since it was placed. */
static emp_status check_ops(const tf_placement *tf, const char *spec, emp_error *err)
{
    emp_status                 st = EMP_OK;
    const emp_named_placement *p = tf->placement;
    census                     c = {.tf = tf};

    EMP_TRY(EMP_ALLOC(c.is_there, (size_t)p->op_count));
    EMP_TRY(emp_nodes_each_device(spec, note_node, &c, err));
    for (int32_t op = 0; op < p->op_count; op++) {
        if (!c.is_there[op])
            EMP_FAIL(EMP_EINVAL, "%s has no op '%s', which the placement has", spec,
                     p->op_name[op]);
    }

cleanup:
    emp_free(c.is_there);
    return st;
}

static emp_status write_graph(const char *path, tf_placement *tf, const char *spec,
                              emp_error *err)
{
    emp_status  st = EMP_OK;
    char        buffer[EMP_SPEC_BYTES];
    const char *file = emp_source_file(buffer, spec);

    EMP_TRY(index_names(&tf->op_of_name, tf->placement, err));
    EMP_TRY(check_ops(tf, file, err));
    EMP_TRY(emp_nodes_write(file, path, device_of_node, tf, err));

cleanup:
    emp_strmap_clear(&tf->op_of_name);
    return st;
}

/* ---- Python ---- */

/* A literal of Python. Names are printable ASCII where they come from a graph file. */
static void print_literal(FILE *stream, const char *text)
{
    fputc('"', stream);
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(stream, "\\%c", c);
        else if (c < ' ' || c >= '\x7f')
            fprintf(stream, "\\x%02x", c);
        else
            fputc(c, stream);
    }
    fputc('"', stream);
}

/* A comment of one line, whatever the text holds. */
static void print_comment(FILE *stream, const char *key, const char *text)
{
    fprintf(stream, "# %s: ", key);
    for (; *text != '\0'; text++) fputc((unsigned char)*text < ' ' ? ' ' : *text, stream);
    fputc('\n', stream);
}

static void print_ops(FILE *stream, const tf_placement *tf, emp_device_id device)
{
    const emp_named_placement *p = tf->placement;

    fputs("    ", stream);
    print_literal(stream, tf->device[device]);
    fputs(": [\n", stream);
    for (int32_t op = 0; op < p->op_count; op++) {
        if (p->decision.device_of_op[op] != device) continue;
        fputs("        ", stream);
        print_literal(stream, p->op_name[op]);
        fputs(",\n", stream);
    }
    fputs("    ],\n", stream);
}

static emp_status print_python(FILE *stream, const void *what, emp_error *err)
{
    const tf_placement        *tf = (const tf_placement *)what;
    const emp_named_placement *p = tf->placement;

    (void)err;
    fputs("\"\"\"Where each op of a TensorFlow 1 graph runs. With this file as "
          "placement.py:\n\n"
          "    import placement\n"
          "    with tf.device(placement.device_of):\n"
          "        ...  # build the graph, under the names that the placement has\n"
          "\"\"\"\n",
          stream);
    print_comment(stream, "made by", emp_manifest_get().command);
    print_comment(stream, "workload", p->origin.workload);
    print_comment(stream, "machine", p->origin.machine);
    fputs("\nOPS_OF_DEVICE = {\n", stream);
    for (emp_device_id d = 0; d < p->device_count; d++) print_ops(stream, tf, d);
    fputs("}\n"
          "_DEVICE_OF_NAME = {name: device for device, names in OPS_OF_DEVICE.items() "
          "for name in names}\n\n\n"
          "def device_of(op):\n"
          "    \"\"\"The device of a tf.Operation; \\\"\\\" leaves it to "
          "TensorFlow.\"\"\"\n"
          "    return _DEVICE_OF_NAME.get(op.name, \"\")\n",
          stream);
    return EMP_OK;
}

emp_status cli_placement_output_write(const char *path, const emp_named_placement *p,
                                      const char *spec, const emp_machine *machine,
                                      emp_error *err)
{
    tf_placement tf = {.placement = p};
    output_kind  kind = kind_of(path);

    switch (cli_form_of(path, spec)) {
    case CLI_FORM_ANY: return emp_placement_write(path, p, err);
    case CLI_FORM_LLAMA: return cli_llama_options_write(path, p, machine, spec, err);
    case CLI_FORM_DEVICE_MAP: return cli_device_map_write(path, p, spec, err);
    case CLI_FORM_VLLM:
    case CLI_FORM_MEGATRON:
        return cli_pipeline_options_write(path, cli_form_of(path, spec), p, spec, err);
    case CLI_FORM_TENSORFLOW: break;
    }
    for (emp_device_id d = 0; d < p->device_count; d++)
        name_device(tf.device[d], machine, d, p->device_name[d]);
    if (kind == KIND_PYTHON) return emp_atomic_file_write(path, print_python, &tf, err);
    return write_graph(path, &tf, spec, err);
}
