// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options/llama_options.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/atomic_file.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "graphs/sources.h"
#include "graphs/transformer/model.h"
#include "run/sheet/manifest.h"

enum { LAYERS_MAX = 10000, LEAF_BYTES = 64 };

static const char weight_ending[] = ".weight";

/* Where the parts of a layer are; -1 = nothing is known. */
typedef struct {
    emp_device_id cache, weight; /* its cache, its first weight */
} layer;

/* Layers that follow one another on a GPU, the output counted as the last one. */
typedef struct {
    emp_device_id device;
    int32_t       count;
} block;

/* Weights of one name that are not where their layer is. */
typedef struct {
    char          leaf[LEAF_BYTES]; /* "ffn_down", in llama.cpp's words */
    int32_t       layer;
    emp_device_id device;
} stray;

typedef struct {
    const emp_named_placement *p;
    layer                     *layer;
    stray                     *stray;
    int32_t                    layer_count, stray_count, cpu_count, block_count;
    block         block[EMP_MAX_DEVICES + 1]; /* devices without layers have 0 */
    emp_device_id output;
    bool          is_output_stray;
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

/* Of "model.layers.3.mlp.up_proj.weight": 3, "mlp.up_proj.weight" and the length of "model.layers". */
static bool split_name(const char *name, int32_t *number, const char **leaf,
                       size_t *prefix)
{
    for (const char *at = strchr(name, '.'); at != NULL; at = strchr(at + 1, '.')) {
        char *end;
        if (at[1] < '0' || at[1] > '9') continue;
        long value = strtol(at + 1, &end, 10);
        if (*end != '.' || value >= LAYERS_MAX || strchr(name, '/') != NULL) return false;
        *number = (int32_t)value;
        *leaf = end + 1;
        *prefix = (size_t)(at - name);
        return true;
    }
    return false;
}

static bool is_cache(const char *leaf) { return emp_text_ends_in(leaf, "_cache"); }

static bool is_weight(const char *leaf) { return emp_text_ends_in(leaf, weight_ending); }

/* Norms are a few vectors, which stay with their layer. */
static bool is_norm(const char *leaf)
{
    return strstr(leaf, "norm") != NULL || strstr(leaf, "ln_") != NULL;
}

static const emp_transformer_names *const families[] = {
    &emp_names_gguf, &emp_names_llama, &emp_names_gpt2, &emp_names_falcon,
    &emp_names_neox, &emp_names_mpt,   &emp_names_opt};
enum { FAMILIES = sizeof families / sizeof *families };

#define PART(name) offsetof(emp_transformer_names, name)
static const size_t whole_parts[] = {
    PART(q),    PART(k),       PART(v),    PART(qkv),    PART(output),     PART(gate),
    PART(up),   PART(gate_up), PART(down), PART(q_a),    PART(q_b),        PART(kv_a),
    PART(kv_b), PART(k_b),     PART(v_b),  PART(router), PART(shared_gate)};
static const size_t starred_parts[] = {PART(experts), PART(shared)};
#undef PART

static const char *part_of(const emp_transformer_names *names, size_t part)
{
    const char *text;

    memcpy(&text, (const char *)names + part, sizeof text);
    return text;
}

/* "a.*_b" with a word for the star. */
static void fill_star(char out[LEAF_BYTES], const char *pattern, const char *word)
{
    int before = (int)strcspn(pattern, "*");

    snprintf(out, LEAF_BYTES, "%.*s%s%s", before, pattern, word, pattern + before + 1);
}

static bool find_in_family(char out[LEAF_BYTES], const emp_transformer_names *names,
                           const char *leaf)
{
    static const char *const words[] = {"gate", "up", "gate_up", "down"};
    char                     text[LEAF_BYTES];

    for (size_t i = 0; i < sizeof whole_parts / sizeof *whole_parts; i++) {
        if (strcmp(part_of(names, whole_parts[i]), leaf) != 0) continue;
        snprintf(out, LEAF_BYTES, "%s", part_of(&emp_names_gguf, whole_parts[i]));
        return true;
    }
    for (size_t i = 0; i < 2 * sizeof words / sizeof *words; i++) {
        fill_star(text, part_of(names, starred_parts[i % 2]), words[i / 2]);
        if (strcmp(text, leaf) != 0) continue;
        fill_star(out, part_of(&emp_names_gguf, starred_parts[i % 2]), words[i / 2]);
        return true;
    }
    return false;
}

/* llama.cpp's name of a weight of a layer, without ".weight". */
static emp_status find_leaf(char out[LEAF_BYTES], const char *name, const char *leaf,
                            size_t prefix, emp_error *err)
{
    char   module[LEAF_BYTES];
    size_t length = strlen(leaf) - (sizeof weight_ending - 1);

    snprintf(module, sizeof module, "%.*s", (int)length, leaf);
    for (size_t i = 0; i < FAMILIES; i++) {
        const char *layers = families[i]->layer;
        if (strlen(layers) == prefix && memcmp(layers, name, prefix) == 0 &&
            find_in_family(out, families[i], module))
            return EMP_OK;
    }
    return EMP_ERROR(EMP_EINVAL,
                     "%s is not where its layer is, and llama.cpp's name of it is not "
                     "known; place the GGUF file of the model",
                     name);
}

static bool is_head(const char *name)
{
    for (size_t i = 0; i < FAMILIES; i++)
        if (strcmp(name, families[i]->head) == 0) return true;
    return false;
}

emp_status cli_llama_options_check(const emp_named_placement *p, emp_error *err)
{
    const char *leaf;
    int32_t     number, hosts = 0;
    size_t      prefix;

    for (emp_device_id d = 0; d < p->device_count; d++)
        hosts += strncmp(p->device_name[d], "cpu:", 4) == 0;
    if (hosts > 1)
        return EMP_ERROR(EMP_EINVAL,
                         "options of llama.cpp are of one computer, and %s has %d",
                         p->origin.machine, hosts);
    for (int32_t op = 0; op < p->op_count; op++)
        if (split_name(p->op_name[op], &number, &leaf, &prefix) && is_cache(leaf))
            return EMP_OK;
    return EMP_ERROR(EMP_EINVAL,
                     "llama.cpp runs decoders, and no layer of the graph has a cache of "
                     "keys and values; give the SPEC phase=decode or phase=prefill");
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

static emp_status find_layers(options *o, emp_error *err)
{
    const emp_named_placement *p = o->p;
    const char                *leaf;
    int32_t                    number;
    size_t                     prefix;

    for (int32_t op = 0; op < p->op_count; op++) {
        if (is_head(p->op_name[op])) o->output = p->decision.device_of_op[op];
        if (!split_name(p->op_name[op], &number, &leaf, &prefix)) continue;
        if (number >= o->layer_count) o->layer_count = number + 1;
        layer *l = &o->layer[number];
        if (is_cache(leaf)) EMP_CHECK(note_cache(o, op, number, err));
        if (is_weight(leaf) && !is_norm(leaf) && l->weight < 0)
            l->weight = p->decision.device_of_op[op];
    }
    return EMP_OK;
}

/* The device of a layer is that of its cache, or of a weight if it uses the cache of another one. */
static emp_device_id device_of_layer(const options *o, int32_t number)
{
    const layer *l = &o->layer[number];

    return l->cache >= 0 ? l->cache : l->weight >= 0 ? l->weight : 0;
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

/* The output follows the last layer. On a GPU that has no layers it is a layer of its own. */
static void place_output(options *o)
{
    int32_t last = o->block_count - 1;

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
    const char                *leaf;
    int32_t                    number;
    size_t                     prefix;

    for (int32_t op = 0; op < p->op_count; op++) {
        const char   *name = p->op_name[op];
        emp_device_id here = p->decision.device_of_op[op];
        if (!split_name(name, &number, &leaf, &prefix) || !is_weight(leaf) ||
            is_norm(leaf) || here == device_of_layer(o, number))
            continue;
        stray *s = &o->stray[o->stray_count++];
        *s = (stray){.layer = number, .device = here};
        EMP_CHECK(find_leaf(s->leaf, name, leaf, prefix, err));
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

/* ---- the script ---- */

static void print_device(FILE *stream, const options *o, emp_device_id device)
{
    const char *name = o->p->device_name[device];

    if (is_cpu(o, device))
        fputs("CPU", stream);
    else
        fprintf(stream, "CUDA%s", name + strcspn(name, ":") + 1);
}

static void print_strays(FILE *stream, const options *o)
{
    for (int32_t i = 0, end; i < o->stray_count; i = end) {
        const stray *first = &o->stray[i];
        fputs(" \\\n    --override-tensor '^blk\\.(", stream);
        for (end = i; end < o->stray_count; end++) {
            const stray *s = &o->stray[end];
            if (strcmp(s->leaf, first->leaf) != 0 || s->device != first->device) break;
            fprintf(stream, "%s%d", end > i ? "|" : "", s->layer);
        }
        fprintf(stream, ")\\.%s\\.=", first->leaf);
        print_device(stream, o, first->device);
        fputc('\'', stream);
    }
    if (!o->is_output_stray) return;
    fputs(" \\\n    --override-tensor '^output\\.=", stream);
    print_device(stream, o, o->output);
    fputc('\'', stream);
}

static void print_devices(FILE *stream, const options *o)
{
    int32_t layers = 0;

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

static emp_status print(FILE *stream, const void *what, emp_error *err)
{
    const options *o = (const options *)what;

    (void)err;
    fputs("#!/bin/sh\n# Runs a program of llama.cpp with this placement:\n"
          "#     sh FILE.sh llama-server -m MODEL.gguf\n"
          "# CUDA0 is gpu:0. CUDA_DEVICE_ORDER=PCI_BUS_ID has the order of nvidia-smi.\n",
          stream);
    if (o->cpu_count > 0 && o->block_count > 0)
        fprintf(stream,
                "# -ngl counts the output as the last layer, so that the CPU has the "
                "first %d. See what llama.cpp prints.\n",
                o->cpu_count);
    fputs("# made by: ", stream);
    for (const char *c = emp_manifest_get().command; *c != '\0'; c++)
        fputc((unsigned char)*c < ' ' ? ' ' : *c, stream);
    fputs("\nexec \"$@\"", stream);
    print_devices(stream, o);
    print_strays(stream, o);
    fputc('\n', stream);
    return EMP_OK;
}

emp_status cli_llama_options_write(const char *path, const emp_named_placement *placement,
                                   emp_error *err)
{
    emp_status st = EMP_OK;
    options    o = {.p = placement};

    EMP_TRY(cli_llama_options_check(placement, err));
    EMP_TRY(EMP_ALLOC(o.layer, (size_t)LAYERS_MAX));
    EMP_TRY(EMP_ALLOC(o.stray, (size_t)placement->op_count));
    for (int32_t i = 0; i < LAYERS_MAX; i++) o.layer[i] = (layer){-1, -1};
    EMP_TRY(find_layers(&o, err));
    EMP_TRY(make_blocks(&o, err));
    place_output(&o);
    EMP_TRY(find_strays(&o, err));
    qsort(o.stray, (size_t)o.stray_count, sizeof *o.stray, by_leaf);
    EMP_TRY(emp_atomic_file_write(path, print, &o, err));

cleanup:
    emp_free(o.layer);
    emp_free(o.stray);
    return st;
}
