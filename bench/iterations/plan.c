// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/iterations/plan.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

enum { ELEMENT_BYTES = 4, STATE_BYTES = 16, UPDATED_LAYERS = 3 };
/* Bytes that cross the memory for each parameter: in Adam's update, when gradients are added, when they are copied into
 * a bucket and back, and when their sum is divided by the replicas. */
enum { ADAM_WORDS = 7, ADD_WORDS = 3, BUCKET_WORDS = 4, MEAN_WORDS = 2 };

static const double BUCKET_BYTES = 4 * 5e8, MOST_BYTES = 1e15; /* more than GPUs have */

typedef struct {
    const emp_iteration   *it;
    const emp_layer_table *table;
    const emp_network     *network;
    emp_engine             engine;
    emp_stage_cost        *cost;     /* [replica * stages + stage] */
    int32_t                replicas; /* that are told apart */
} planner;

static const emp_tensor_group *group_of(const planner *p, int32_t replica, int32_t stage)
{
    return &p->it->group[stage * p->it->replicas + replica];
}

static emp_stage_cost *cost_of(const planner *p, int32_t replica, int32_t stage)
{
    return &p->cost[replica * p->it->stages + stage];
}

/* ---- layers ---- */

/* Shortens passes to what a larger micro-batch took. Layers that were not measured with it keep theirs. */
static emp_status take_shorter(emp_layer *layer, int32_t count, const emp_layer_table *t,
                               const emp_layer_key *key, emp_error *err)
{
    bool *is_known = NULL; /* of several rows for one layer the first counts */

    EMP_CHECK(EMP_ALLOC(is_known, (size_t)count));
    for (int32_t i = 0; i < t->row_count; i++) {
        const emp_layer_row *row = &t->row[i];
        if (!emp_layer_row_is(row, key)) continue;
        for (int32_t l = row->first; l <= row->last && l < count; l++) {
            if (is_known[l]) continue;
            is_known[l] = true;
            layer[l].forward_s = fmin(layer[l].forward_s, row->layer.forward_s);
            layer[l].backward_s = fmin(layer[l].backward_s, row->layer.backward_s);
        }
    }
    emp_free(is_known);
    return EMP_OK;
}

/* The least micro-batch of the table above \a micro_batch; 0 = none. */
static int32_t find_larger(const emp_layer_table *t, emp_layer_key key,
                           int32_t micro_batch)
{
    int32_t least = 0;

    key.micro_batch = 0;
    for (int32_t i = 0; i < t->row_count; i++) {
        int32_t found = t->row[i].key.micro_batch;
        if (!emp_layer_row_is(&t->row[i], &key) || found <= micro_batch) continue;
        if (least == 0 || found < least) least = found;
    }
    return least;
}

/* The layers of the row's model on a group. */
static emp_status select_layers(emp_layer **layers, const planner *p,
                                const emp_tensor_group *group, emp_error *err)
{
    emp_status    st = EMP_OK;
    emp_layer    *layer = NULL;
    int32_t       count = 0, larger = p->it->micro_batch, wanted = 0;
    emp_layer_key key = {.model = p->it->model,
                         .gpu = group->gpu,
                         .tensor_parallel = group->count,
                         .micro_batch = p->it->micro_batch};

    for (int32_t s = 0; s < p->it->stages; s++) wanted += p->it->layers_of_stage[s];
    EMP_TRY(emp_layer_table_select(&layer, &count, p->table, &key, err));
    if (count != wanted)
        EMP_FAIL(EMP_EINVAL,
                 "%.40s: the stages have %d layers, the table has %d of %.40s", p->it->id,
                 wanted, count, p->it->model);
    while ((larger = find_larger(p->table, key, larger)) > 0) {
        key.micro_batch = larger;
        EMP_TRY(take_shorter(layer, count, p->table, &key, err));
    }
    *layers = layer;
    layer = NULL;

cleanup:
    emp_free(layer);
    return st;
}

static int32_t first_layer(const planner *p, int32_t stage)
{
    int32_t first = 0;

    for (int32_t s = 0; s < stage; s++) first += p->it->layers_of_stage[s];
    return first;
}

/* Parameters of what an update was measured with. */
static double count_updated(const emp_layer *layer, int32_t count)
{
    double sum = (double)layer[count - 1].parameters;

    for (int32_t l = 0; l < UPDATED_LAYERS && l < count - 1; l++)
        sum += (double)layer[l].parameters;
    return sum;
}

/* Passes, update and memory of a stage; \a gradient_bytes are the bytes of its weights' gradients. */
static void add_layers(const planner *p, emp_stage_cost *c, double *gradient_bytes,
                       const emp_layer *layer, int32_t stage)
{
    int32_t first = first_layer(p, stage), count = first_layer(p, p->it->stages);
    int32_t end = first + p->it->layers_of_stage[stage];
    double  parameters = 0.0, stored = 0.0, largest = 0.0;
    double  updated = count_updated(layer, count);

    for (int32_t l = first; l < end; l++) {
        c->forward_s += layer[l].forward_s;
        c->backward_s += layer[l].backward_s;
        parameters += (double)layer[l].parameters;
        stored += (double)layer[l].stored_elements;
        largest = fmax(largest, (double)layer[l].stored_elements);
    }
    *gradient_bytes = parameters * ELEMENT_BYTES;
    if (updated > 0.0) c->update_s = layer[first].update_s * parameters / updated;
    c->accumulate_s = c->update_s * ADD_WORDS / ADAM_WORDS;
    c->reduce_s = c->update_s * BUCKET_WORDS / ADAM_WORDS;
    if (p->it->replicas > 1) c->reduce_s += c->update_s * MEAN_WORDS / ADAM_WORDS;
    double of_activation = (double)ELEMENT_BYTES * p->it->micro_batch;
    c->stored_bytes = (int64_t)fmin(stored * of_activation, MOST_BYTES);
    c->state_bytes =
        (int64_t)fmin(parameters * STATE_BYTES + fmin(*gradient_bytes, BUCKET_BYTES) +
                          largest * of_activation,
                      MOST_BYTES);
}

/* ---- engines ---- */

static const double CORE_BYTES_PER_S = 37e9, C2C_BYTES_PER_S = 346e9,
                    PCIE_BYTES_PER_S = 4.5e9;

bool emp_engine_find(emp_engine *out, const char *name)
{
    *out = strcmp(name, "sailor") == 0 ? EMP_ENGINE_SAILOR : EMP_ENGINE_DEEPSPEED;
    return *out == EMP_ENGINE_SAILOR || strcmp(name, "deepspeed") == 0;
}

static bool has_c2c(const char *gpu)
{
    return strncmp(gpu, "GH", 2) == 0 || strncmp(gpu, "GB", 2) == 0;
}

/* Seconds in which a GPU of that name waits for a buffer of so many bytes. */
static double fill_s(emp_engine engine, const char *gpu, double bytes)
{
    double link_bytes_per_s = has_c2c(gpu) ? C2C_BYTES_PER_S : PCIE_BYTES_PER_S;

    if (engine == EMP_ENGINE_DEEPSPEED) return 0.0;
    return bytes / CORE_BYTES_PER_S + bytes / link_bytes_per_s;
}

/* ---- exchanges ---- */

/* How many tensors a stage gathers before a backward pass. */
static int32_t emp_engine_count_gathers(emp_engine engine)
{
    return engine == EMP_ENGINE_DEEPSPEED ? 2 : 1;
}

static emp_status add_boundary(const planner *p, int32_t replica, int32_t stage,
                               double bytes, emp_error *err)
{
    const emp_tensor_group *from = group_of(p, replica, stage);
    const emp_tensor_group *to = group_of(p, replica, stage + 1);
    emp_stage_cost         *c = cost_of(p, replica, stage);
    emp_stage_cost         *next = cost_of(p, replica, stage + 1);
    double                  gather_s;

    EMP_CHECK(emp_network_send(&c->output_s, p->network, from, to, bytes, err));
    EMP_CHECK(emp_network_send(&next->gradient_s, p->network, to, from, bytes, err));
    c->is_output_buffered = bytes / from->count <= EMP_BUFFERED_BYTES;
    next->is_gradient_buffered = bytes / to->count <= EMP_BUFFERED_BYTES;
    EMP_CHECK(emp_network_gather(&gather_s, p->network, to, bytes, err));
    next->forward_s += gather_s + fill_s(p->engine, to->gpu, bytes);
    EMP_CHECK(emp_network_gather(&gather_s, p->network, from, bytes, err));
    c->backward_s += emp_engine_count_gathers(p->engine) * gather_s +
                     fill_s(p->engine, from->gpu, bytes);
    return EMP_OK;
}

/* A bucket of gradients among the replicas of a stage, at the slowest pair of neighbours. */
static emp_status time_bucket(double *seconds, const planner *p, int32_t stage,
                              double bytes, emp_error *err)
{
    int32_t replicas = p->it->replicas;

    *seconds = 0.0;
    for (int32_t r = 0; r < replicas; r++) {
        const emp_tensor_group *from = group_of(p, r, stage);
        const emp_tensor_group *to = group_of(p, (r + 1) % replicas, stage);
        double                  message_s;
        EMP_CHECK(emp_network_send(&message_s, p->network, from, to,
                                   bytes / replicas * from->count, err));
        *seconds = fmax(*seconds, 2.0 * (replicas - 1) * message_s);
    }
    return EMP_OK;
}

static emp_status add_messages(double *seconds, const planner *p, int32_t stage,
                               double bytes, emp_error *err)
{
    double full = floor(bytes / BUCKET_BYTES), rest = bytes - full * BUCKET_BYTES;
    double full_s = 0.0, rest_s = 0.0;

    if (p->it->replicas == 1) return EMP_OK;
    if (full > 0.0) EMP_CHECK(time_bucket(&full_s, p, stage, BUCKET_BYTES, err));
    if (rest > 0.0) EMP_CHECK(time_bucket(&rest_s, p, stage, rest, err));
    *seconds += full * full_s + rest_s;
    return EMP_OK;
}

/* ---- stages ---- */

static emp_status plan_stage(const planner *p, int32_t replica, int32_t stage,
                             emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_layer      *layer = NULL;
    emp_stage_cost *c = cost_of(p, replica, stage);
    double          gradient_bytes;
    int32_t         last = first_layer(p, stage) + p->it->layers_of_stage[stage] - 1;

    EMP_TRY(select_layers(&layer, p, group_of(p, replica, stage), err));
    add_layers(p, c, &gradient_bytes, layer, stage);
    if (stage + 1 < p->it->stages)
        EMP_TRY(add_boundary(p, replica, stage,
                             (double)layer[last].output_elements * ELEMENT_BYTES *
                                 p->it->micro_batch,
                             err));
    EMP_TRY(add_messages(&c->reduce_s, p, stage, gradient_bytes, err));

cleanup:
    emp_free(layer);
    return st;
}

static bool is_same_group(const emp_tensor_group *a, const emp_tensor_group *b)
{
    return a->count == b->count && strcmp(a->gpu, b->gpu) == 0;
}

/* 1 if all replicas are alike. */
static int32_t count_replicas(const planner *p)
{
    for (int32_t s = 0; s < p->it->stages; s++)
        for (int32_t r = 1; r < p->it->replicas; r++)
            if (!is_same_group(group_of(p, 0, s), group_of(p, r, s)))
                return p->it->replicas;
    return 1;
}

emp_status emp_layers_plan(emp_step *step, emp_stage_cost **stages,
                           const emp_iteration *iteration, const emp_layer_table *layers,
                           const emp_network *network, emp_engine engine, emp_error *err)
{
    emp_status st = EMP_OK;
    planner p = {.it = iteration, .table = layers, .network = network, .engine = engine};

    *stages = NULL;
    p.replicas = count_replicas(&p);
    EMP_TRY(EMP_ALLOC(p.cost, (size_t)p.replicas * (size_t)iteration->stages));
    for (int32_t r = 0; r < p.replicas; r++)
        for (int32_t s = 0; s < iteration->stages; s++)
            EMP_TRY(plan_stage(&p, r, s, err));
    *step = (emp_step){.stages = iteration->stages,
                       .replicas = p.replicas,
                       .micro_batches = iteration->micro_batches,
                       .stage = p.cost};
    *stages = p.cost;
    p.cost = NULL;

cleanup:
    emp_free(p.cost);
    return st;
}
