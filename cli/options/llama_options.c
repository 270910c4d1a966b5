// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options/placement_output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/atomic_file.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "cli/options/forms.h"
#include "graphs/import/models/gguf.h"
#include "graphs/load.h"
#include "graphs/sources.h"
#include "graphs/transformer/parts.h"
#include "run/sheet/sheet.h"

enum { LAYERS_MAX = EMP_TRANSFORMER_LAYERS_MAX };

/* Where the parts of a layer are; -1 = nothing is known. */
typedef struct {
    emp_device_id cache, other,
        matrix;                   /* its cache, first op without a matrix, first matrix */
    int32_t experts, cpu_experts; /* matrices of experts, and those on the CPU */
} layer;

/* Layers that follow one another on a GPU, the output counted as the last one. */
typedef struct {
    emp_device_id device;
    int32_t       count;
} block;

/* Weights of one name that are not where their layer is. */
typedef struct {
    char          leaf[EMP_PART_NAME_BYTES]; /* "ffn_down", in llama.cpp's words */
    int32_t       layer;
    emp_device_id device;
} stray;

/* A host whose GPUs are reached by its rpc-server. */
typedef struct {
    emp_device_id cpu;
    int32_t       first; /* the number of its first GPU among all servers' GPUs */
} server;

typedef struct {
    const emp_named_placement *p;
    const emp_machine         *machine; /* NULL = there is one host */
    const char                *command; /* that the options complete; NULL = a script's */
    layer                     *layer;
    stray                     *stray;
    int32_t                    layer_count, stray_count, cpu_count, block_count;
    int32_t                    extra_count; /* layers behind the last, which do not run */
    block         block[EMP_MAX_DEVICES + 1]; /* devices without layers have 0 */
    emp_device_id output;
    bool          is_output_stray;
    server        server[EMP_MAX_DEVICES];
    int32_t       server_count;
} options;

bool cli_llama_options_are_for(const char *spec)
{
    return emp_source_has_prefix(spec, "hf") || strstr(spec, ".gguf") != NULL ||
           emp_text_ends_in(spec, ".json");
}

/* ---- names ---- */

static bool is_cpu(const options *o, emp_device_id device)
{
    return strncmp(o->p->device_name[device], "cpu:", 4) == 0;
}

/* The CPU of the device's host; llama.cpp runs on device 0's CPU. */
static emp_device_id host_of(const options *o, emp_device_id device)
{
    return o->machine != NULL ? o->machine->device[device].host : 0;
}

static bool is_gpu_of(const options *o, emp_device_id device, emp_device_id host)
{
    return !is_cpu(o, device) && host_of(o, device) == host;
}

/* The number of a GPU among its host's. */
static int32_t number_on_host(const options *o, emp_device_id gpu)
{
    int32_t number = 0;

    for (emp_device_id d = 0; d < gpu; d++) number += is_gpu_of(o, d, host_of(o, gpu));
    return number;
}

/* A matrix of a layer, whether the op holds it or is named as its parameter. Norms are a few vectors, which stay with
 * their layer. */
static bool is_matrix(const emp_model_part *part, const char *name)
{
    if (part->layer < 0 || part->is_cache || part->role[0] != '\0') return false;
    if (emp_text_ends_in(name, ".weight"))
        return strstr(part->module, "norm") == NULL &&
               strstr(part->module, "ln_") == NULL;
    return emp_model_part_gguf((char[EMP_PART_NAME_BYTES]){0}, part);
}

/* The table of tokens, or the output. The first norm of a layer has neither name. */
static bool is_named(const emp_model_part *part, const char *op_name, const char *name)
{
    return part->names != NULL && part->role[0] == '\0' &&
           strncmp(op_name, name, part->path_length) == 0 &&
           name[part->path_length] == '\0';
}

/* ---- where layers are ---- */

static emp_status note_cache(options *o, int32_t op, int32_t number, emp_error *err)
{
    emp_device_id here = o->p->decision.device_of_op[op], before = o->layer[number].cache;

    o->layer[number].cache = here;
    if (before < 0 || before == here) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL,
                     "llama.cpp has the cache of a layer on one device, and layer %d has "
                     "one on %s and one on %s",
                     number, o->p->device_name[before], o->p->device_name[here]);
}

static emp_status check_host(const options *o, int32_t op, emp_error *err)
{
    const emp_device_id here = o->p->decision.device_of_op[op];

    if (!is_cpu(o, here) || host_of(o, here) == 0) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL,
                     "llama.cpp gives layers to the CPU of the host that it runs on, %s, "
                     "and %s is on %s",
                     o->p->device_name[0], o->p->op_name[op], o->p->device_name[here]);
}

static emp_status find_layers(options *o, emp_error *err)
{
    const emp_named_placement *p = o->p;

    for (int32_t op = 0; op < p->op_count; op++) {
        const char          *name = p->op_name[op];
        const emp_model_part part = emp_model_part_of(name);
        if (part.kind == EMP_PART_HEAD && is_named(&part, name, part.names->head))
            o->output = p->decision.device_of_op[op];
        if (part.layer >= 0 || part.kind == EMP_PART_HEAD)
            EMP_CHECK(check_host(o, op, err));
        if (part.layer < 0) continue;
        if (part.layer >= o->layer_count) o->layer_count = part.layer + 1;
        layer *l = &o->layer[part.layer];
        if (part.is_cache && part.role[0] == '\0')
            EMP_CHECK(note_cache(o, op, part.layer, err));
        const emp_device_id here = p->decision.device_of_op[op];
        if (is_matrix(&part, name) && emp_model_part_is_expert(&part)) {
            l->experts++;
            l->cpu_experts += is_cpu(o, here);
        }
        emp_device_id *seen = is_matrix(&part, name) ? &l->matrix : &l->other;
        if (*seen < 0 && part.role[0] == '\0') *seen = here;
    }
    return EMP_OK;
}

/* A layer is on the device of its cache. A layer that uses the cache of another one is where its attention is. */
static emp_device_id device_of_layer(const options *o, int32_t number)
{
    const layer *l = &o->layer[number];

    if (l->cache >= 0) return l->cache;
    return l->other >= 0 ? l->other : l->matrix >= 0 ? l->matrix : 0;
}

static int32_t find_block(const options *o, emp_device_id device)
{
    for (int32_t i = 0; i < o->block_count; i++)
        if (o->block[i].device == device) return i;
    return -1;
}

static void add_block(options *o, emp_device_id device, int32_t count)
{
    o->block[o->block_count++] = (block){device, count};
}

static emp_status make_blocks(options *o, emp_error *err)
{
    for (int32_t i = 0; i < o->layer_count; i++) {
        emp_device_id here = device_of_layer(o, i);
        int32_t       last = o->block_count - 1;
        if (is_cpu(o, here) && last < 0) {
            o->cpu_count++;
        } else if (last >= 0 && o->block[last].device == here) {
            o->block[last].count++;
        } else if (is_cpu(o, here) || find_block(o, here) >= 0) {
            return EMP_ERROR(
                EMP_EINVAL,
                "llama.cpp gives each device layers that follow one another, the CPU the "
                "first ones; layer %d is on %s, and layer %d on %s",
                i - 1, o->p->device_name[device_of_layer(o, i - 1)], i,
                o->p->device_name[here]);
        } else {
            add_block(o, here, 1);
        }
    }
    return EMP_OK;
}

/* The output follows the last layer. On a GPU that has no layers it is a layer of its own. Layers that predict more
 * tokens are counted between the two. */
static void place_output(options *o)
{
    int32_t last = o->block_count - 1;

    if (last >= 0) o->block[last].count += o->extra_count;
    if (o->output < 0) o->output = device_of_layer(o, o->layer_count - 1);
    if (!is_cpu(o, o->output) && find_block(o, o->output) < 0) {
        add_block(o, o->output, 1);
    } else if (last >= 0) {
        o->block[last].count++;
        o->is_output_stray = o->block[last].device != o->output;
    }
}

static emp_status find_strays(options *o, emp_error *err)
{
    const emp_named_placement *p = o->p;

    for (int32_t op = 0; op < p->op_count; op++) {
        const char          *name = p->op_name[op];
        const emp_model_part part = emp_model_part_of(name);
        const emp_device_id  here = p->decision.device_of_op[op];
        if (!is_matrix(&part, name) || here == device_of_layer(o, part.layer)) continue;
        stray *s = &o->stray[o->stray_count++];
        *s = (stray){.layer = part.layer, .device = here};
        if (!emp_model_part_gguf(s->leaf, &part))
            return EMP_ERROR(
                EMP_EINVAL,
                "%s is not where its layer is, and llama.cpp's name of it is not "
                "known; place the GGUF file of the model",
                name);
        if (!is_cpu(o, here) && find_block(o, here) < 0) add_block(o, here, 0);
    }
    return EMP_OK;
}

static int by_leaf(const void *a, const void *b)
{
    const stray *x = (const stray *)a, *y = (const stray *)b;
    int          order = strcmp(x->leaf, y->leaf);

    if (order != 0) return order;
    if (x->device != y->device) return x->device < y->device ? -1 : 1;
    return x->layer - y->layer;
}

/* A matrix that two ops read is an op by itself, of the same name. */
static void sort_strays(options *o)
{
    int32_t kept = 0;

    qsort(o->stray, (size_t)o->stray_count, sizeof *o->stray, by_leaf);
    for (int32_t i = 0; i < o->stray_count; i++)
        if (kept == 0 || by_leaf(&o->stray[kept - 1], &o->stray[i]) != 0)
            o->stray[kept++] = o->stray[i];
    o->stray_count = kept;
}

/* Hosts in the order of their CPUs. A server shows all GPUs of its host, also those that have nothing. */
static void find_servers(options *o)
{
    int32_t gpus = 0;

    for (emp_device_id cpu = 1; cpu < o->p->device_count; cpu++) {
        bool    is_used = false;
        int32_t here = 0;
        for (emp_device_id d = 0; is_cpu(o, cpu) && d < o->p->device_count; d++) {
            here += is_gpu_of(o, d, cpu);
            is_used = is_used || (is_gpu_of(o, d, cpu) && find_block(o, d) >= 0);
        }
        if (!is_used) continue;
        o->server[o->server_count++] = (server){.cpu = cpu, .first = gpus};
        gpus += here;
    }
}

/* ---- the script ---- */

/* The server of a GPU; -1 = it is on the host of llama.cpp. */
static int32_t server_of(const options *o, emp_device_id gpu)
{
    for (int32_t i = 0; i < o->server_count; i++)
        if (o->server[i].cpu == host_of(o, gpu)) return i;
    return -1;
}

static void print_device(FILE *stream, const options *o, emp_device_id device)
{
    const int32_t number = number_on_host(o, device), s = server_of(o, device);

    if (s >= 0)
        fprintf(stream, "RPC%d", o->server[s].first + number);
    else
        fprintf(stream, "CUDA%d", number);
}

/* The memory of a device, within the quotation marks of an option. */
static void print_buffer(FILE *stream, const options *o, emp_device_id device)
{
    const int32_t s = is_cpu(o, device) ? -1 : server_of(o, device);

    if (is_cpu(o, device))
        fputs("CPU", stream);
    else if (s >= 0)
        fprintf(stream, "RPC%d['\"$HOST%d\"']", number_on_host(o, device), s + 1);
    else
        print_device(stream, o, device);
}

static bool is_expert_on_cpu(const options *o, int32_t number)
{
    const stray *s = &o->stray[number];

    return is_cpu(o, s->device) && emp_text_ends_in(s->leaf, "_exps");
}

/* How many of the first layers have all their experts on the CPU, and no later layer an expert there, which is what
 * --n-cpu-moe says; 0 = it does not. */
static int32_t count_cpu_experts(const options *o)
{
    int32_t first = 0;

    for (int32_t i = 0; i < o->stray_count; i++) {
        if (!is_expert_on_cpu(o, i)) continue;
        if (o->stray[i].layer >= first) first = o->stray[i].layer + 1;
    }
    for (int32_t i = 0; i < first; i++)
        if (o->layer[i].experts != o->layer[i].cpu_experts) return 0;
    return first;
}

/* A config has one matrix where the file may have two. */
static void print_leaf(FILE *stream, const char *leaf)
{
    static const char both[] = "ffn_gate_up";

    if (strncmp(leaf, both, sizeof both - 1) == 0)
        fprintf(stream, "ffn_(gate_up|gate|up)%s", leaf + sizeof both - 1);
    else
        fputs(leaf, stream);
}

/* Begins an override. llama.cpp warns of options that are given twice, so that all overrides are one option. */
static void begin_override(FILE *stream, int32_t *count)
{
    fputs((*count)++ == 0 ? " \\\n    --override-tensor '" : ",'\\\n'", stream);
}

static void print_strays(FILE *stream, const options *o)
{
    const int32_t cpu_experts = count_cpu_experts(o);
    int32_t       count = 0;

    if (cpu_experts > 0) fprintf(stream, " \\\n    --n-cpu-moe %d", cpu_experts);
    for (int32_t i = 0, end; i < o->stray_count; i = end) {
        const stray *first = &o->stray[i];
        end = i + 1;
        if (cpu_experts > 0 && is_expert_on_cpu(o, i)) continue;
        begin_override(stream, &count);
        fputs("^blk\\.(", stream);
        for (end = i; end < o->stray_count; end++) {
            const stray *s = &o->stray[end];
            if (strcmp(s->leaf, first->leaf) != 0 || s->device != first->device) break;
            fprintf(stream, "%s%d", end > i ? "|" : "", s->layer);
        }
        fputs(")\\.", stream);
        print_leaf(stream, first->leaf);
        fputs("\\.=", stream);
        print_buffer(stream, o, first->device);
    }
    if (o->is_output_stray) {
        begin_override(stream, &count);
        fputs("^output(_norm|)\\.=", stream);
        print_buffer(stream, o, o->output);
    }
    if (count > 0) fputc('\'', stream);
}

static void print_devices(FILE *stream, const options *o)
{
    int32_t layers = 0;

    /* devices have no names before their servers are known */
    for (int32_t i = 0; i < o->server_count; i++)
        fprintf(stream, "%s\"$HOST%d\"", i > 0 ? "," : " --rpc ", i + 1);
    fputs(" --device ", stream);
    if (o->block_count == 0) fputs("none", stream);
    for (int32_t i = 0; i < o->block_count; i++) {
        if (i > 0) fputc(',', stream);
        print_device(stream, o, o->block[i].device);
        layers += o->block[i].count;
    }
    if (o->block_count > 1) fputs(" --split-mode layer --tensor-split ", stream);
    for (int32_t i = 0; i < o->block_count && o->block_count > 1; i++)
        fprintf(stream, "%s%d", i > 0 ? "," : "", o->block[i].count);
    fprintf(stream, " -ngl %d", layers);
}

/* The addresses of the servers, which the caller may set. */
static void print_servers(FILE *stream, const options *o)
{
    for (int32_t i = 0; i < o->server_count; i++) {
        emp_device_id gpu = 0;
        while (!is_gpu_of(o, gpu, o->server[i].cpu)) gpu++;
        fprintf(stream,
                "# HOST%d is the host of %s, which runs rpc-server --host ADDRESS --port "
                "50052; RPC%d is its first GPU, %s.\n",
                i + 1, o->p->device_name[o->server[i].cpu], o->server[i].first,
                o->p->device_name[gpu]);
    }
    if (o->server_count > 0)
        fputs("# Set HOST1=ADDRESS:PORT and so on in the environment. A server must show "
              "all GPUs of its host.\n",
              stream);
}

static void print_heading(FILE *stream, const options *o)
{
    fputs("#!/bin/sh\n# Runs a program of llama.cpp with this placement:\n"
          "#     sh FILE.sh llama-server -m MODEL.gguf\n"
          "# CUDA0 is gpu:0. CUDA_DEVICE_ORDER=PCI_BUS_ID has the order of nvidia-smi.\n",
          stream);
    if (o->cpu_count > 0 && o->block_count > 0)
        fprintf(stream,
                "# -ngl counts the output as the last layer, so that the CPU has the "
                "first %d. See what llama.cpp prints.\n",
                o->cpu_count);
    print_servers(stream, o);
    fputs("# made by: ", stream);
    for (const char *c = emp_manifest_get().command; *c != '\0'; c++)
        fputc((unsigned char)*c < ' ' ? ' ' : *c, stream);
    fputc('\n', stream);
}

static emp_status print(FILE *stream, const void *what, emp_error *err)
{
    const options *o = (const options *)what;

    (void)err;
    if (o->command == NULL)
        print_heading(stream, o);
    else
        print_servers(stream, o);
    for (int32_t i = 1; i <= o->server_count; i++)
        fprintf(stream, "HOST%d=\"${HOST%d:-HOST%d:50052}\"\n", i, i, i);
    fputs(o->command != NULL ? o->command : "exec \"$@\"", stream);
    print_devices(stream, o);
    print_strays(stream, o);
    fputc('\n', stream);
    return EMP_OK;
}

/* A config does not say whether the file that is made of it has such layers. */
static emp_status count_extra_layers(options *o, const char *spec, emp_error *err)
{
    char        path[EMP_SPEC_BYTES];
    const char *file = emp_source_file(path, spec);

    if (!emp_text_ends_in(file, ".gguf")) return EMP_OK;
    return emp_gguf_extra_layers(&o->extra_count, file, err);
}

/* Finds the options of a placement, and writes them to a file, or behind a command to standard output. */
static emp_status write_options(const char *path, const char *command,
                                const emp_named_placement *placement,
                                const emp_machine *machine, const char *spec,
                                emp_error *err)
{
    emp_status st = EMP_OK;
    options    o = {.p = placement, .machine = machine, .command = command, .output = -1};

    EMP_TRY(cli_form_check(CLI_FORM_LLAMA, placement, spec, err));
    EMP_TRY(count_extra_layers(&o, spec, err));
    EMP_TRY(EMP_ALLOC(o.layer, (size_t)LAYERS_MAX));
    EMP_TRY(EMP_ALLOC(o.stray, (size_t)placement->op_count));
    for (int32_t i = 0; i < LAYERS_MAX; i++) o.layer[i] = (layer){-1, -1, -1, 0, 0};
    EMP_TRY(find_layers(&o, err));
    EMP_TRY(make_blocks(&o, err));
    place_output(&o);
    EMP_TRY(find_strays(&o, err));
    sort_strays(&o);
    find_servers(&o);
    if (path != NULL)
        EMP_TRY(emp_atomic_file_write(path, print, &o, err));
    else
        EMP_TRY(print(stdout, &o, err));

cleanup:
    emp_free(o.layer);
    emp_free(o.stray);
    return st;
}

emp_status cli_llama_options_write(const char *path, const emp_named_placement *placement,
                                   const emp_machine *machine, const char *spec,
                                   emp_error *err)
{
    return write_options(path, NULL, placement, machine, spec, err);
}

emp_status cli_llama_options_print(const char                *command,
                                   const emp_named_placement *placement,
                                   const emp_machine *machine, const char *spec,
                                   emp_error *err)
{
    return write_options(NULL, command, placement, machine, spec, err);
}
