// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options/forms.h"

#include <stdio.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "cli/options/device_map.h"
#include "graphs/transformer/parts.h"
#include "sim/problem/problem.h"

enum { LAYERS_MAX = EMP_TRANSFORMER_LAYERS_MAX };

cli_form cli_form_of(const char *path, const char *spec)
{
    if (path == NULL) return CLI_FORM_ANY;
    if (emp_text_ends_in(path, ".vllm.sh")) return CLI_FORM_VLLM;
    if (emp_text_ends_in(path, ".megatron.sh")) return CLI_FORM_MEGATRON;
    if (emp_text_ends_in(path, ".sh")) return CLI_FORM_LLAMA;
    if (emp_text_ends_in(path, ".device_map.json")) return CLI_FORM_DEVICE_MAP;
    if (emp_text_ends_in(path, ".py") && cli_device_map_is_for(spec))
        return CLI_FORM_DEVICE_MAP;
    if (emp_text_ends_in(path, ".py") || emp_text_ends_in(path, ".pb") ||
        emp_text_ends_in(path, ".pbtxt"))
        return CLI_FORM_TENSORFLOW;
    return CLI_FORM_ANY;
}

const char *cli_form_ending(cli_form form)
{
    static const char *const endings[] = {NULL,  NULL,       ".device_map.json",
                                          ".sh", ".vllm.sh", ".megatron.sh"};

    return endings[form];
}

const char *cli_form_name(cli_form form)
{
    static const char *const names[] = {"a placement file", "a TensorFlow graph",
                                        "a device_map",     "options of llama.cpp",
                                        "options of vLLM",  "options of Megatron-LM"};

    return names[form];
}

/* ---- before the search ---- */

static emp_status check_machine(cli_form form, const emp_named_placement *p,
                                emp_error *err)
{
    int32_t hosts = 0;

    for (emp_device_id d = 0; d < p->device_count; d++)
        hosts += strncmp(p->device_name[d], "cpu:", 4) == 0;
    if (hosts > 1 && form != CLI_FORM_LLAMA)
        return EMP_ERROR(EMP_EINVAL, "%s %s of one computer, and %s has %d",
                         cli_form_name(form), form == CLI_FORM_DEVICE_MAP ? "is" : "are",
                         p->origin.machine, hosts);
    if ((form == CLI_FORM_VLLM || form == CLI_FORM_MEGATRON) && p->device_count == hosts)
        return EMP_ERROR(EMP_EINVAL, "%s place layers on GPUs, and %s has none",
                         cli_form_name(form), p->origin.machine);
    return EMP_OK;
}

/* Decoders with a cache are served; a step with a loss is trained. */
static emp_status check_phase(cli_form form, const emp_named_placement *p, emp_error *err)
{
    bool has_layers = false, has_sign = false;

    for (int32_t op = 0; op < p->op_count; op++) {
        const emp_model_part part = emp_model_part_of(p->op_name[op]);
        has_layers = has_layers || part.layer >= 0;
        has_sign =
            has_sign || (form == CLI_FORM_MEGATRON ? strcmp(p->op_name[op], "loss") == 0
                                                   : part.layer >= 0 && part.is_cache);
    }
    if (has_layers && has_sign) return EMP_OK;
    if (!has_layers)
        return EMP_ERROR(EMP_EINVAL,
                         "%s place the numbered layers of a transformer, and no op of "
                         "the graph names one, such as model.layers.0 or blk.0",
                         cli_form_name(form));
    if (form == CLI_FORM_MEGATRON)
        return EMP_ERROR(EMP_EINVAL,
                         "Megatron-LM trains, and the graph has no loss; give "
                         "the SPEC phase=train");
    return EMP_ERROR(EMP_EINVAL,
                     "%s runs decoders, and no layer of the graph has a cache of "
                     "keys and values; give the SPEC phase=decode or phase=prefill",
                     form == CLI_FORM_VLLM ? "vLLM" : "llama.cpp");
}

emp_status cli_form_check(cli_form form, const emp_named_placement *p, const char *spec,
                          emp_error *err)
{
    if (form == CLI_FORM_ANY || form == CLI_FORM_TENSORFLOW) return EMP_OK;
    EMP_CHECK(check_machine(form, p, err));
    if (form == CLI_FORM_DEVICE_MAP) return cli_device_map_check(p, spec, err);
    return check_phase(form, p, err);
}

/* ---- what shares a device ---- */

enum { SET_NAME_BYTES = EMP_PART_NAME_BYTES + 16 };

/* Names of sets of ops, which are numbered as they come. */
typedef struct {
    emp_strmap set_of_name;
    char (*name)[SET_NAME_BYTES]; /* [set] what the map borrows */
    int32_t count;
    int32_t layer_root[LAYERS_MAX]; /* layers that share a class, and those between */
    bool    is_tied;                /* the table and the head are one class */
    int32_t last_layer;
} sets;

/* The name must stay. */
static emp_status number_set(int32_t *set, sets *s, const char *name, size_t length,
                             emp_error *err)
{
    *set = emp_strmap_get(&s->set_of_name, name, length);
    if (*set >= 0) return EMP_OK;
    *set = s->count++;
    return emp_strmap_set(&s->set_of_name, name, length, *set, err);
}

/* A matrix of a layer that --override-tensor can name. Activations and products within a feed-forward block go with its
 * last matrix; routers stay with their layer. */
static bool is_apart(char matrix[EMP_PART_NAME_BYTES], const emp_model_part *part)
{
    const bool is_between =
        strcmp(part->role, "act") == 0 || strcmp(part->role, "mul") == 0;

    if (part->is_cache || (part->role[0] != '\0' && !is_between) ||
        emp_model_part_is_router(part) || !emp_model_part_gguf(matrix, part))
        return false;
    if (!is_between) return true;
    const char *experts = strstr(matrix, "_exps"), *shared = strstr(matrix, "_shexp");
    snprintf(matrix, EMP_PART_NAME_BYTES, "ffn_down%s",
             experts != NULL  ? "_exps"
             : shared != NULL ? "_shexp"
                              : "");
    return true;
}

static bool is_token_table(const emp_model_part *part, const char *op_name)
{
    return part->kind == EMP_PART_EMBEDDING &&
           strncmp(op_name, part->names->embedding, part->path_length) == 0;
}

/* A matrix of a layer with a home of its own, or the op that streams it: vLLM reads weights from host memory, too. */
static bool has_own_home(const emp_graph *g, emp_op_id op)
{
    const char *type = g->type_name[g->type[op]];

    if (emp_model_part_of(g->name[op]).layer < 0) return false;
    return strcmp(type, "AnyWeights") == 0 || strcmp(type, "HostWeights") == 0 ||
           strcmp(type, "Stream") == 0;
}

/* Writes the name of the set that an op is in; "" = it is in none. llama.cpp has a copy of a tied
 * model's table of tokens beside the head, but tables of positions are on the CPU always. */
static void name_set(char name[SET_NAME_BYTES], cli_form form, const sets *s,
                     const emp_model_part *part, const char *op_name)
{
    char matrix[EMP_PART_NAME_BYTES];

    name[0] = '\0';
    if (part->kind == EMP_PART_LAYER) {
        const int32_t layer = s->layer_root[part->layer];
        if (form == CLI_FORM_LLAMA && is_apart(matrix, part))
            snprintf(name, SET_NAME_BYTES, "%d %s", part->layer, matrix);
        else if (form == CLI_FORM_VLLM && layer == s->layer_root[s->last_layer])
            snprintf(name, SET_NAME_BYTES, "head");
        else if (form == CLI_FORM_VLLM && layer == s->layer_root[0] && !s->is_tied)
            snprintf(name, SET_NAME_BYTES, "table");
        else
            snprintf(name, SET_NAME_BYTES, "%d", layer);
    } else if (part->kind == EMP_PART_EMBEDDING) {
        const bool is_one =
            form == CLI_FORM_VLLM && s->layer_root[0] == s->layer_root[s->last_layer];
        const bool is_input = form == CLI_FORM_LLAMA && part->role[0] == '\0' &&
                              !is_token_table(part, op_name);
        snprintf(name, SET_NAME_BYTES,
                 (s->is_tied && !is_input) || is_one ? "head" : "table");
    } else if (part->kind == EMP_PART_HEAD) {
        snprintf(name, SET_NAME_BYTES, "head");
    }
}

/* Layers whose ops share a class already are one, with those between, as only they can follow one another. */
static emp_status join_shared_layers(sets *s, const emp_graph *g, emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t   *first = NULL;

    EMP_TRY(EMP_ALLOC(first, (size_t)g->class_count));
    for (int32_t c = 0; c < g->class_count; c++) first[c] = -1;
    emp_disjoint_init(s->layer_root, LAYERS_MAX);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        const int32_t layer = emp_model_part_of(g->name[op]).layer;
        if (layer < 0 || g->op[op].is_folded) continue;
        if (layer > s->last_layer) s->last_layer = layer;
        int32_t *one = &first[g->op[op].colocation_class];
        if (*one < 0) *one = layer;
        for (int32_t i = *one < layer ? *one : layer; i < (*one < layer ? layer : *one);
             i++)
            emp_disjoint_join(s->layer_root, i, i + 1);
    }
    for (int32_t i = 0; i < LAYERS_MAX; i++) emp_disjoint_root(s->layer_root, i);
    for (int32_t i = 0; i < LAYERS_MAX; i++)
        s->layer_root[i] = emp_disjoint_root(s->layer_root, i);

cleanup:
    emp_free(first);
    return st;
}

static bool is_tied(const emp_graph *g)
{
    int32_t table = -1, head = -1;

    for (emp_op_id op = 0; op < g->op_count; op++) {
        const emp_model_part part = emp_model_part_of(g->name[op]);
        const int32_t        c = g->op[op].colocation_class;
        if (table < 0 && is_token_table(&part, g->name[op])) table = c;
        if (part.kind == EMP_PART_HEAD && part.role[0] == '\0' &&
            strncmp(g->name[op], part.names->head, part.path_length) == 0)
            head = c;
    }
    return table >= 0 && table == head;
}

/* A module within a layer shares the layer's device, as sums of outputs on two devices fail in accelerate. */
static size_t map_set_length(const char *name, const char *spec)
{
    const size_t layer = cli_layer_length(name, cli_path_length(name, spec));

    return layer > 0 ? layer : cli_module_length(name, spec);
}

static emp_status find_set(int32_t *set, sets *s, cli_form form, const emp_graph *g,
                           emp_op_id op, const char *spec, emp_error *err)
{
    char *name = s->name[s->count];

    *set = -1;
    name[0] = '\0';
    if (form == CLI_FORM_DEVICE_MAP) {
        const size_t length = map_set_length(g->name[op], spec);
        return length > 0 ? number_set(set, s, g->name[op], length, err) : EMP_OK;
    }
    if (form == CLI_FORM_VLLM && has_own_home(g, op)) return EMP_OK;
    const emp_model_part part = emp_model_part_of(g->name[op]);
    if (form == CLI_FORM_MEGATRON && strncmp(g->name[op], "loss", 4) == 0)
        snprintf(name, SET_NAME_BYTES, "head");
    else
        name_set(name, form, s, &part, g->name[op]);
    return name[0] != '\0' ? number_set(set, s, name, strlen(name), err) : EMP_OK;
}

emp_status cli_form_join(cli_form form, emp_graph *g, const char *spec, emp_error *err)
{
    emp_status st = EMP_OK;
    sets      *s = NULL;
    int32_t   *set_of_op = NULL;
    bool      *is_cpu_class = NULL;

    if (form == CLI_FORM_ANY || form == CLI_FORM_TENSORFLOW) return EMP_OK;
    EMP_TRY(EMP_ALLOC(s, (size_t)1));
    EMP_TRY(EMP_ALLOC(s->name, (size_t)g->op_count + 1));
    EMP_TRY(EMP_ALLOC(set_of_op, (size_t)g->op_count));
    EMP_TRY(EMP_ALLOC(is_cpu_class, (size_t)g->class_count));
    cli_layers_mark_cpu(is_cpu_class, g);
    EMP_TRY(join_shared_layers(s, g, err));
    s->is_tied = is_tied(g);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        set_of_op[op] = -1;
        if (!is_cpu_class[g->op[op].colocation_class])
            EMP_TRY(find_set(&set_of_op[op], s, form, g, op, spec, err));
    }
    EMP_TRY(emp_graph_join_classes(g, set_of_op, err));

cleanup:
    if (s != NULL) {
        emp_strmap_clear(&s->set_of_name);
        emp_free(s->name);
    }
    emp_free(s);
    emp_free(set_of_op);
    emp_free(is_cpu_class);
    return st;
}

/* ---- devices and order ---- */

typedef struct {
    const emp_problem *problem;
    cli_form           form;
    int32_t           *unit_of_class, *home_of_class;
    int32_t           *class_of_unit;
    int32_t            unit_count;
    int32_t            table, head; /* classes; -1 = none */
    int32_t            inputs; /* the class of tables that llama.cpp has on the CPU */
    int32_t            class_of_layer[LAYERS_MAX];
} binding;

static void note_op(binding *b, emp_op_id op)
{
    const emp_model_part part = emp_model_part_of(b->problem->graph->name[op]);
    const int32_t        c = b->problem->class_of_op[op];
    char                 matrix[EMP_PART_NAME_BYTES];

    if (c < 0 || (b->problem->kinds_of_class[c] & EMP_KIND_GPU) == 0 ||
        (b->form == CLI_FORM_VLLM && has_own_home(b->problem->graph, op)))
        return;
    if (part.kind == EMP_PART_EMBEDDING) {
        if (b->table < 0 || is_token_table(&part, b->problem->graph->name[op]))
            b->table = c;
        if (!is_token_table(&part, b->problem->graph->name[op]) && part.role[0] == '\0')
            b->inputs = c;
    }
    if (part.kind == EMP_PART_HEAD) b->head = c;
    if (part.kind == EMP_PART_LAYER &&
        (b->form != CLI_FORM_LLAMA || !is_apart(matrix, &part)))
        b->class_of_layer[part.layer] = c;
}

static void add_unit(binding *b, int32_t c)
{
    if (c < 0 || b->unit_of_class[c] >= 0) return;
    b->unit_of_class[c] = b->unit_count;
    b->class_of_unit[b->unit_count++] = c;
}

/* The matrices of a layer follow it; so does a head whose device is free. */
static void find_homes(binding *b)
{
    const emp_problem *p = b->problem;

    for (emp_op_id op = 0; op < p->graph->op_count; op++) {
        const int32_t layer = emp_model_part_of(p->graph->name[op]).layer;
        const int32_t c = p->class_of_op[op];
        if (layer < 0 || c < 0 || b->unit_of_class[c] >= 0) continue;
        if (b->class_of_layer[layer] >= 0)
            b->home_of_class[c] = b->unit_of_class[b->class_of_layer[layer]];
    }
    if (b->head >= 0 && b->unit_of_class[b->head] < 0 && b->unit_count > 0)
        b->home_of_class[b->head] = b->unit_count - 1;
}

/* In the order in which a token passes them. */
static void find_units(binding *b)
{
    const bool is_tied = b->table >= 0 && b->table == b->head;

    if (b->form == CLI_FORM_MEGATRON && !is_tied) add_unit(b, b->table);
    for (int32_t i = 0; i < LAYERS_MAX; i++) add_unit(b, b->class_of_layer[i]);
    if (b->form != CLI_FORM_LLAMA || is_tied) add_unit(b, b->head);
}

/* llama.cpp runs on the first host, and reaches the GPUs of others. */
static void withhold_cpus(emp_problem *p)
{
    for (emp_device_id d = 1; d < p->machine->device_count; d++)
        if (p->machine->device[d].kind == EMP_DEVICE_CPU) emp_sequence_withhold(p, d, 0);
}

static void limit_devices(const binding *b)
{
    const emp_problem *p = b->problem;

    if (b->form == CLI_FORM_LLAMA) {
        const int32_t tables[] = {b->table, b->inputs};
        for (int i = 0; i < 2; i++)
            if (tables[i] >= 0 && tables[i] != b->head &&
                (p->kinds_of_class[tables[i]] & EMP_KIND_CPU) != 0)
                p->kinds_of_class[tables[i]] = EMP_KIND_CPU;
        return;
    }
    for (int32_t c = 0; c < p->graph->class_count; c++)
        if (p->kinds_of_class[c] & EMP_KIND_GPU)
            p->kinds_of_class[c] &= ~(uint32_t)EMP_KIND_CPU;
    for (emp_op_id op = 0; op < p->graph->op_count && b->form == CLI_FORM_VLLM; op++)
        if (p->class_of_op[op] >= 0 && has_own_home(p->graph, op))
            p->kinds_of_class[p->class_of_op[op]] |= EMP_KIND_CPU;
}

emp_status cli_form_bind(cli_form form, emp_problem *p, emp_error *err)
{
    emp_status   st = EMP_OK;
    const size_t classes = (size_t)p->graph->class_count;
    binding     *b = NULL;

    if (form != CLI_FORM_LLAMA && form != CLI_FORM_VLLM && form != CLI_FORM_MEGATRON)
        return EMP_OK;
    EMP_TRY(EMP_ALLOC(b, (size_t)1));
    *b = (binding){.problem = p, .form = form, .table = -1, .head = -1, .inputs = -1};
    EMP_TRY(EMP_ALLOC(b->unit_of_class, classes));
    EMP_TRY(EMP_ALLOC(b->home_of_class, classes));
    EMP_TRY(EMP_ALLOC(b->class_of_unit, classes));
    for (size_t c = 0; c < classes; c++) b->unit_of_class[c] = b->home_of_class[c] = -1;
    for (int32_t i = 0; i < LAYERS_MAX; i++) b->class_of_layer[i] = -1;
    for (emp_op_id op = 0; op < p->graph->op_count; op++) note_op(b, op);
    find_units(b);
    find_homes(b);
    if (emp_machine_count(p->machine, EMP_DEVICE_GPU) > 0) limit_devices(b);
    EMP_TRY(emp_problem_set_sequence(p, b->class_of_unit, b->unit_count, b->home_of_class,
                                     err));
    if (form == CLI_FORM_LLAMA) withhold_cpus(p);

cleanup:
    if (b != NULL) {
        emp_free(b->unit_of_class);
        emp_free(b->home_of_class);
        emp_free(b->class_of_unit);
    }
    emp_free(b);
    return st;
}
