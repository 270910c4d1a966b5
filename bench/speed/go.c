// SPDX-License-Identifier: GPL-3.0-or-later

#include <math.h>
#include <string.h>

#include "bench/speed/networks.h"
#include "policy/go/go.h"

/* The defaults of policy/go/go.c. */
enum {
    TYPES = 40,
    TYPE_WIDTH = 32,
    WIDTH = 128,
    GRAPH_LAYERS = 3,
    LAYERS = 2,
    HEADS = 8,
    HIDDEN = 512,
    SEGMENT = 256,
    DEVICES = 9,
    EPOCHS = 4
};

/* The rate is a thirtieth of the default: what is rounded otherwise would grow from update to
 * update, and a loss would say little of the peer. */
static const double   CLIP_RATIO = 0.2, CLIP = 1.0, ENTROPY = 0.01;
static const emp_adam ADAM = {
    .learning_rate = 1e-5, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-5};

/* Over a synthetic graph. An update follows the scores of `samples` placements: the forward pass that they were
 * drawn in, and four epochs of PPO. */
typedef struct {
    emp_transferable features;
    emp_go_net       net;
    emp_go_task      task;      /* devices */
    double          *advantage; /* [sample] */
    int32_t          samples;
    emp_arrays       arrays; /* of the task, and the advantages */
} state;

/* ---- creation ---- */

static emp_status init_features(emp_transferable *f, int32_t nodes, emp_rng *rng,
                                emp_error *err)
{
    const size_t count = (size_t)nodes;

    *f = (emp_transferable){.count = nodes, .type_count = TYPES};
    f->type = EMP_ADD_ARRAY(&f->arrays, int32_t, count);
    f->value = EMP_ADD_ARRAY(&f->arrays, emp_real, count * EMP_TRANSFERABLE);
    f->devices = EMP_ADD_ARRAY(&f->arrays, uint64_t, count);
    f->position = EMP_ADD_ARRAY(&f->arrays, int32_t, count);
    f->first = EMP_ADD_ARRAY(&f->arrays, int32_t, count + 1);
    f->neighbor = EMP_ADD_ARRAY(&f->arrays, int32_t, count * EMP_NETWORK_NEIGHBORS);
    if (f->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "%d nodes", nodes);
    for (int32_t i = 0; i < nodes; i++) {
        f->type[i] = (int32_t)emp_rng_below(rng, TYPES);
        f->devices[i] = (UINT64_C(1) << DEVICES) - 1;
        f->position[i] = i;
    }
    for (size_t i = 0; i < count * EMP_TRANSFERABLE; i++)
        f->value[i] = (emp_real)emp_rng_uniform(rng);
    emp_network_connect(f->first, f->neighbor, nodes);
    return EMP_OK;
}

static emp_status init_task(state *s, emp_rng *rng, emp_error *err)
{
    const size_t rows = (size_t)s->features.count, all = rows * DEVICES;
    const size_t drawn = rows * (size_t)s->samples;

    s->task = (emp_go_task){.what = EMP_DECIDES_DEVICES,
                            .p = s->net.p,
                            .d_logits = s->net.d_logits,
                            .ppo = {.rows = s->features.count,
                                    .choices = DEVICES,
                                    .clip = CLIP_RATIO,
                                    .above = EMP_ADD_ARRAY(&s->arrays, emp_real, all),
                                    .below = EMP_ADD_ARRAY(&s->arrays, emp_real, all)},
                            .drawn_from = EMP_ADD_ARRAY(&s->arrays, emp_real, all),
                            .choice = EMP_ADD_ARRAY(&s->arrays, uint8_t, drawn)};
    s->advantage = EMP_ADD_ARRAY(&s->arrays, double, (size_t)s->samples);
    if (s->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "%d samples", s->samples);
    for (size_t i = 0; i < drawn; i++)
        s->task.choice[i] = (uint8_t)emp_rng_below(rng, DEVICES);
    for (int32_t k = 0; k < s->samples; k++) s->advantage[k] = (float)emp_rng_normal(rng);
    return EMP_OK;
}

static emp_status init(void *self, const emp_network_params *params, emp_rng *rng,
                       emp_error *err)
{
    state             *s = (state *)self;
    const emp_go_shape shape = {.type_width = TYPE_WIDTH,
                                .width = WIDTH,
                                .graph_layers = GRAPH_LAYERS,
                                .layers = LAYERS,
                                .heads = HEADS,
                                .hidden = HIDDEN,
                                .segment = SEGMENT,
                                .modulate = EMP_MODULATE_NODE,
                                .has_memory = true,
                                .devices = DEVICES,
                                .threads = params->threads};

    s->samples = params->samples;
    EMP_CHECK(init_features(&s->features, params->size, rng, err));
    EMP_CHECK(emp_go_net_init(&s->net, &shape, &s->features, err));
    emp_go_net_randomize(&s->net, 1.0, rng);
    return init_task(s, rng, err);
}

static void clear(void *self)
{
    state *s = (state *)self;

    emp_go_net_clear(&s->net);
    emp_transferable_clear(&s->features);
    emp_arrays_clear(&s->arrays);
}

/* ---- an update ---- */

static double surprise(const state *s)
{
    const int64_t rows = s->features.count;
    double        sum = 0.0;

    for (int64_t k = 0; k < s->samples; k++)
        for (int64_t v = 0; v < rows; v++)
            sum -= log((double)s->net.p[v * DEVICES + s->task.choice[k * rows + v]]);
    return sum / (double)(rows * s->samples);
}

/* Returns the mean of -ln p of all decisions before the last step. */
static double update(void *self, int32_t threads)
{
    state             *s = (state *)self;
    const emp_go_climb climb = {.samples = s->samples,
                                .epochs = EPOCHS,
                                .clip = CLIP,
                                .entropy = ENTROPY,
                                .adam = ADAM};
    const size_t bytes = (size_t)s->features.count * DEVICES * sizeof *s->task.drawn_from;
    double       unused;

    s->net.shape.threads = s->net.work.attention.threads = threads;
    s->net.params.threads = threads;
    emp_go_net_forward(&s->net);
    memcpy(s->task.drawn_from, s->net.p, bytes);
    emp_row_ppo_gather(&s->task.ppo, s->task.choice, s->advantage, s->samples);
    emp_go_climb_run(&climb, &s->net, &s->task, 1, &unused);
    return surprise(s);
}

/* ---- the file for the peer ---- */

/* (nodes, neighbours); a place without a neighbour has the number of nodes. */
static void write_neighbors(const state *s, FILE *stream)
{
    const int32_t nodes = s->features.count;

    fprintf(stream, "neighbor int %d %d\n", nodes, EMP_NETWORK_NEIGHBORS);
    for (int32_t i = 0; i < nodes; i++)
        for (int k = 0; k < EMP_NETWORK_NEIGHBORS; k++) {
            const int32_t other = i + emp_network_offset[k];
            const int32_t written = other >= 0 && other < nodes ? other : nodes;
            fwrite(&written, sizeof written, 1, stream);
        }
}

static void write_choices(const state *s, FILE *stream)
{
    const int32_t nodes = s->features.count;

    fprintf(stream, "choice int %d %d\n", s->samples, nodes);
    for (int64_t i = 0; i < (int64_t)s->samples * nodes; i++) {
        const int32_t written = s->task.choice[i];
        fwrite(&written, sizeof written, 1, stream);
    }
}

static void write(void *self, FILE *stream)
{
    const state            *s = (state *)self;
    const emp_transferable *f = &s->features;

    fprintf(stream,
            "go lr=%g epsilon=%g clip=%g graph_layers=%d layers=%d heads=%d segment=%d "
            "epochs=%d clip_ratio=%g entropy=%g\n",
            ADAM.learning_rate, ADAM.epsilon, CLIP, GRAPH_LAYERS, LAYERS, HEADS, SEGMENT,
            EPOCHS, CLIP_RATIO, ENTROPY);
    emp_network_write_parameters(stream, &s->net.params, 0);
    emp_network_write_reals(stream, "value", f->value, f->count, EMP_TRANSFERABLE);
    emp_network_write_ints(stream, "type", f->type, 1, f->count);
    write_neighbors(s, stream);
    write_choices(s, stream);
    emp_network_write_doubles(stream, "advantage", s->advantage, s->samples, 1);
}

static emp_params *params(void *self) { return &((state *)self)->net.params; }

const emp_network emp_network_go = {"go",  sizeof(state), HIDDEN, 64,   init,
                                    clear, update,        params, write};
