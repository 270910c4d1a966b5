// SPDX-License-Identifier: GPL-3.0-or-later
/* Placements as practitioners made them by hand (Mirhoseini et al. 2017, 2018), as rules on op names:
 *
 * - Encoder-decoder models of recurrent layers: every layer on a GPU of its own, encoder
 * and decoder alike; with more layers than GPUs, GPU floor(layer * GPUs / layers), so
 * that neighbouring layers share one. Embeddings go with the first layer, attention and
 * softmax with the last, gradients with their forward op, slots and updates with their
 * variable.
 * - Convolutional networks and language models: the whole model on one GPU.
 * - Anything else: on one GPU when its variables fit there, else contiguous parts of the
 *   forward graph of equal cost, one per GPU, gradients with their forward op.
 *
 * Ops without a rule follow the producer of their first placed input; what has none
 * follows its first placed consumer. */
#define _GNU_SOURCE /* strcasestr */
#include "baselines/baselines.h"

#include <string.h>
#include <strings.h>

#include "base/collections.h"
#include "base/mem.h"
#include "sim/graph/op.h"

/* ---- rules on names ---------------------------------------------------------------- */

static const char *const output_words[] = {"attention", "memory_layer", "projection",
                                           "softmax"};

/* A component may carry the optimizer's prefix: "Adam/update_emb_src/mul". */
static bool has_embedding_component(const char *name)
{
    for (const char *at = name; at != NULL; at = strchr(at, '/')) {
        if (*at == '/') at++;
        if (strncmp(at, "update_", 7) == 0) at += 7;
        if (strncasecmp(at, "emb", 3) == 0) return true;
    }
    return false;
}

emp_role emp_role_of_name(const char *name, int32_t *cell)
{
    size_t length;

    *cell = emp_cell_of_name(name, &length);
    if (*cell >= 0) return EMP_ROLE_CELL;
    if (has_embedding_component(name)) return EMP_ROLE_EMBEDDING;
    for (size_t i = 0; i < sizeof output_words / sizeof output_words[0]; i++) {
        if (strcasestr(name, output_words[i]) != NULL) return EMP_ROLE_OUTPUT;
    }
    return EMP_ROLE_NONE;
}

bool emp_name_is_in_decoder(const char *name)
{
    return strncmp(name, "decoder/", 8) == 0 || strstr(name, "/decoder/") != NULL;
}

/* ---- placement --------------------------------------------------------------------- */

enum { UNPLACED = -1 };

typedef struct {
    const emp_problem *problem;
    const emp_graph   *graph;
    emp_device_id      gpu[EMP_MAX_DEVICES];
    int32_t            gpu_count;
    emp_device_id     *device_of_op; /* being filled; UNPLACED where no rule spoke */
} expert;

/* The features that distinguish the families. */
typedef struct {
    int32_t layer_count; /* recurrent layers */
    bool    has_decoder; /* of recurrent layers */
    bool    has_convolution;
    double  persistent_bytes; /* the sum may be beyond 64 bits */
} traits;

static traits find_traits(const emp_graph *graph)
{
    traits  found = {0};
    int32_t cell;

    for (emp_op_id op = 0; op < graph->op_count; op++) {
        const char *name = graph->name[op];
        if (emp_role_of_name(name, &cell) == EMP_ROLE_CELL) {
            if (cell >= found.layer_count) found.layer_count = cell + 1;
            found.has_decoder = found.has_decoder || emp_name_is_in_decoder(name);
        }
        if (graph->op[op].cost->op_class == EMP_OP_CONV) found.has_convolution = true;
        found.persistent_bytes += (double)graph->op[op].persistent_bytes;
    }
    return found;
}

static void place_all(expert *x, emp_device_id device)
{
    for (emp_op_id op = 0; op < x->graph->op_count; op++) x->device_of_op[op] = device;
}

static emp_device_id gpu_of_layer(const expert *x, int32_t layer, int32_t layer_count)
{
    int64_t gpus = x->gpu_count < layer_count ? x->gpu_count : layer_count;

    return x->gpu[layer * gpus / layer_count];
}

static void place_layers(expert *x, int32_t layer_count)
{
    for (emp_op_id op = 0; op < x->graph->op_count; op++) {
        int32_t layer;
        switch (emp_role_of_name(x->graph->name[op], &layer)) {
        case EMP_ROLE_NONE: continue;
        case EMP_ROLE_CELL: break;
        case EMP_ROLE_EMBEDDING: layer = 0; break;
        case EMP_ROLE_OUTPUT: layer = layer_count - 1; break;
        }
        x->device_of_op[op] = gpu_of_layer(x, layer, layer_count);
    }
}

/* Fills map with the ops that a gradient may belong to. */
static emp_status map_forward_ops(const emp_graph *graph, emp_strmap *map, emp_error *err)
{
    const char *forward;

    for (emp_op_id op = 0; op < graph->op_count; op++) {
        const char *name = graph->name[op];
        if (emp_forward_of_gradient(name, &forward) == 0)
            EMP_CHECK(emp_strmap_set(map, name, strlen(name), op, err));
    }
    return EMP_OK;
}

/* An op carries data when it depends on an input of the model, not only on variables. */
static bool carries_data(const emp_graph *graph, emp_op_id op, const bool *carries)
{
    int32_t first = graph->input_offset[op], end = graph->input_offset[op + 1];

    for (int32_t i = first; i < end; i++) {
        if (carries[graph->tensor[graph->input[i]].producer]) return true;
    }
    return first == end &&
           (graph->op[op].flags & (EMP_OP_IS_VARIABLE | EMP_OP_IS_CONST)) == 0;
}

/* The time on a GPU of the ops that are placed by their position in the forward graph; 0
 * for all others: variables and what only reads them stand where they are used, gradients
 * beside their forward op, updates beside their variable. Returns the sum. */
static int64_t time_forward_ops(const expert *x, bool *carries, int64_t *time_ns)
{
    const emp_graph *graph = x->graph;
    const char      *forward;
    int64_t          total_ns = 0;
    int64_t          limit_ns = INT64_MAX / ((int64_t)graph->op_count + 1); /* for sums */

    for (int32_t i = 0; i < graph->op_count; i++) {
        emp_op_id           op = graph->topo[i];
        const emp_gpu_cost *cost = &x->problem->costs->gpu[op]; /* of the first model */
        bool                is_update =
            (graph->op[op].flags & (EMP_OP_UPDATES_REF | EMP_OP_IS_OPTIMIZER)) != 0;
        carries[op] = carries_data(graph, op, carries);
        if (!carries[op] || is_update || graph->op[op].is_folded) continue;
        if (emp_forward_of_gradient(graph->name[op], &forward) > 0) continue;
        time_ns[op] =
            1 + cost->compute_ns + cost->issue_ns; /* 1: free ops have a place too */
        if (time_ns[op] > limit_ns) time_ns[op] = limit_ns;
        total_ns += time_ns[op];
    }
    return total_ns;
}

/* Contiguous in topological order, equal shares of the forward ops' time. */
static emp_status place_contiguous(expert *x, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *graph = x->graph;
    const char      *forward;
    emp_strmap       map = {0};
    int64_t          done_ns = 0;
    bool            *carries = EMP_NEW_ARRAY(bool, (size_t)graph->op_count);
    int64_t         *time_ns = EMP_NEW_ARRAY(int64_t, (size_t)graph->op_count);

    if (carries == NULL || time_ns == NULL)
        EMP_FAIL(EMP_ENOMEM, "positions of %d ops", graph->op_count);
    EMP_TRY(map_forward_ops(graph, &map, err));
    int64_t total_ns = time_forward_ops(x, carries, time_ns);
    for (int32_t i = 0; i < graph->op_count; i++) {
        emp_op_id op = graph->topo[i];
        size_t    length = emp_forward_of_gradient(graph->name[op], &forward);
        int32_t   twin = length == 0 ? -1 : emp_strmap_get(&map, forward, length);
        if (twin >= 0) {
            x->device_of_op[op] = x->device_of_op[twin];
        } else if (time_ns[op] > 0) { /* done < total, so the share is below 1 */
            x->device_of_op[op] =
                x->gpu[(int32_t)((double)done_ns / (double)total_ns * x->gpu_count)];
            done_ns += time_ns[op];
        }
    }

cleanup:
    emp_strmap_clear(&map);
    emp_free(carries);
    emp_free(time_ns);
    return st;
}

/* A class goes where its leader does, or where the first member with a rule does. */
static emp_status gather_classes(expert *x, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *graph = x->graph;
    emp_device_id   *device_of_class =
        EMP_NEW_ARRAY(emp_device_id, (size_t)graph->class_count);

    if (device_of_class == NULL) EMP_FAIL(EMP_ENOMEM, "%d classes", graph->class_count);
    for (int32_t c = 0; c < graph->class_count; c++)
        device_of_class[c] = x->device_of_op[x->problem->leader_of_class[c]];
    for (emp_op_id op = 0; op < graph->op_count; op++) {
        emp_device_id *device = &device_of_class[graph->op[op].colocation_class];
        if (*device == UNPLACED) *device = x->device_of_op[op];
    }
    for (emp_op_id op = 0; op < graph->op_count; op++)
        x->device_of_op[op] = device_of_class[graph->op[op].colocation_class];

cleanup:
    emp_free(device_of_class);
    return st;
}

static emp_device_id device_of_first_input(const expert *x, emp_op_id op)
{
    const emp_graph *graph = x->graph;

    for (int32_t i = graph->input_offset[op]; i < graph->input_offset[op + 1]; i++) {
        emp_op_id producer = graph->tensor[graph->input[i]].producer;
        if (x->device_of_op[producer] != UNPLACED) return x->device_of_op[producer];
    }
    for (int32_t i = graph->control_offset[op]; i < graph->control_offset[op + 1]; i++) {
        if (x->device_of_op[graph->control[i]] != UNPLACED)
            return x->device_of_op[graph->control[i]];
    }
    return UNPLACED;
}

static emp_device_id device_of_first_consumer(const expert *x, emp_op_id op)
{
    const emp_graph *graph = x->graph;
    int32_t          first = graph->consumer_offset[graph->output_offset[op]];
    int32_t          end = graph->consumer_offset[graph->output_offset[op + 1]];

    for (int32_t i = first; i < end; i++) {
        if (x->device_of_op[graph->consumer[i]] != UNPLACED)
            return x->device_of_op[graph->consumer[i]];
    }
    for (int32_t i = graph->control_out_offset[op]; i < graph->control_out_offset[op + 1];
         i++) {
        if (x->device_of_op[graph->control_out[i]] != UNPLACED)
            return x->device_of_op[graph->control_out[i]];
    }
    return UNPLACED;
}

/* Forwards along the edges, then backwards; what is linked to nothing goes to the first
 * GPU. */
static void place_the_rest(expert *x)
{
    const emp_graph *graph = x->graph;

    for (int32_t i = 0; i < graph->op_count; i++) {
        emp_device_id *device = &x->device_of_op[graph->topo[i]];
        if (*device == UNPLACED) *device = device_of_first_input(x, graph->topo[i]);
    }
    for (int32_t i = graph->op_count - 1; i >= 0; i--) {
        emp_device_id *device = &x->device_of_op[graph->topo[i]];
        if (*device == UNPLACED) *device = device_of_first_consumer(x, graph->topo[i]);
        if (*device == UNPLACED) *device = x->gpu[0];
    }
}

static emp_status place(const emp_method *type, const emp_problem *problem,
                        const emp_method_params  *params,
                        const emp_owned_decision *proposal, emp_error *err)
{
    expert x = {.problem = problem,
                .graph = problem->graph,
                .device_of_op = proposal->device_of_op};
    traits is = find_traits(x.graph);

    EMP_CHECK(emp_method_options_parse(NULL, type, params, err));
    x.gpu_count = emp_machine_list(problem->machine, EMP_DEVICE_GPU, x.gpu);
    if (x.gpu_count == 0)
        return EMP_ERROR(EMP_EUNSUPPORTED, "method expert: machine %s has no GPU",
                         problem->machine->name);

    bool is_known = is.has_convolution || is.layer_count > 0;
    bool fits =
        is.persistent_bytes <= (double)emp_problem_memory_bytes(problem, x.gpu[0]);
    if (!is.has_decoder && (is_known || fits)) {
        place_all(&x, x.gpu[0]);
    } else {
        place_all(&x, UNPLACED);
        if (is.has_decoder)
            place_layers(&x, is.layer_count);
        else
            EMP_CHECK(place_contiguous(&x, err));
        EMP_CHECK(gather_classes(&x, err));
        place_the_rest(&x);
    }
    return EMP_OK;
}

const emp_method emp_method_expert = {
    .name = "expert",
    .description = "hand rules per family: a GPU per recurrent layer, or one GPU for all "
                   "(Mirhoseini et al. 2018)",
    .advice = "a first look, and the hand placement to beat",
    .place = place,
};
