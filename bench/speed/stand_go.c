// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/speed/stand_go.h"

#include <math.h>
#include <string.h>

/* The defaults of policy/go/go.c. */
enum {
    TYPES = 40,
    TYPE_WIDTH = 32,
    WIDTH = 128,
    GRAPH_LAYERS = 3,
    LAYERS = 2,
    HEADS = 8,
    HIDDEN = EMP_STAND_GO_HIDDEN,
    SEGMENT = 256,
    DEVICES = 9,
    EPOCHS = 4
};

/* The rate is a thirtieth of the default: what is rounded otherwise would grow from update to
 * update, and a loss would say little of the peer. */
static const double   CLIP_RATIO = 0.2, CLIP = 1.0, ENTROPY = 0.01;
static const emp_adam ADAM = {
    .learning_rate = 1e-5, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-5};

/* ---- creation ---- */

/* How far off a node's neighbours are. */
enum { NEIGHBORS = 4 };
static const int32_t offsets[NEIGHBORS] = {-17, -1, 1, 17};

static void connect(emp_transferable *f)
{
    int32_t edges = 0;

    for (int32_t i = 0; i < f->count; i++) {
        f->first[i] = edges;
        for (int k = 0; k < NEIGHBORS; k++) {
            const int32_t other = i + offsets[k];
            if (other >= 0 && other < f->count) f->neighbor[edges++] = other;
        }
    }
    f->first[f->count] = edges;
}

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
    f->neighbor = EMP_ADD_ARRAY(&f->arrays, int32_t, count * NEIGHBORS);
    if (f->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "%d nodes", nodes);
    for (int32_t i = 0; i < nodes; i++) {
        f->type[i] = (int32_t)emp_rng_below(rng, TYPES);
        f->devices[i] = (UINT64_C(1) << DEVICES) - 1;
        f->position[i] = i;
    }
    for (size_t i = 0; i < count * EMP_TRANSFERABLE; i++)
        f->value[i] = (emp_real)emp_rng_uniform(rng);
    connect(f);
    return EMP_OK;
}

static emp_status init_task(emp_stand_go *s, emp_rng *rng, emp_error *err)
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

emp_status emp_stand_go_init(emp_stand_go *s, int32_t nodes, int32_t samples,
                             int32_t threads, emp_rng *rng, emp_error *err)
{
    emp_status         st = EMP_OK;
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
                                .threads = threads};

    *s = (emp_stand_go){.samples = samples};
    EMP_TRY(init_features(&s->features, nodes, rng, err));
    EMP_TRY(emp_go_net_init(&s->net, &shape, &s->features, err));
    emp_go_net_randomize(&s->net, 1.0, rng);
    EMP_TRY(init_task(s, rng, err));

cleanup:
    if (st != EMP_OK) emp_stand_go_clear(s);
    return st;
}

void emp_stand_go_clear(emp_stand_go *s)
{
    emp_go_net_clear(&s->net);
    emp_transferable_clear(&s->features);
    emp_arrays_clear(&s->arrays);
    *s = (emp_stand_go){0};
}

/* ---- an update ---- */

static double surprise(const emp_stand_go *s)
{
    const int64_t rows = s->features.count;
    double        sum = 0.0;

    for (int64_t k = 0; k < s->samples; k++)
        for (int64_t v = 0; v < rows; v++)
            sum -= log((double)s->net.p[v * DEVICES + s->task.choice[k * rows + v]]);
    return sum / (double)(rows * s->samples);
}

double emp_stand_go_update(emp_stand_go *s, int32_t threads)
{
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

/* ---- what a peer and the limit need to know ---- */

/* (nodes, NEIGHBORS); a place without a neighbour has the number of nodes. */
static void write_neighbors(const emp_stand_go *s, FILE *stream)
{
    const int32_t nodes = s->features.count;

    fprintf(stream, "neighbor int %d %d\n", nodes, NEIGHBORS);
    for (int32_t i = 0; i < nodes; i++)
        for (int k = 0; k < NEIGHBORS; k++) {
            const int32_t other = i + offsets[k];
            const int32_t written = other >= 0 && other < nodes ? other : nodes;
            fwrite(&written, sizeof written, 1, stream);
        }
}

static void write_choices(const emp_stand_go *s, FILE *stream)
{
    const int32_t nodes = s->features.count;

    fprintf(stream, "choice int %d %d\n", s->samples, nodes);
    for (int64_t i = 0; i < (int64_t)s->samples * nodes; i++) {
        const int32_t written = s->task.choice[i];
        fwrite(&written, sizeof written, 1, stream);
    }
}

void emp_stand_go_write(const emp_stand_go *s, FILE *stream)
{
    const emp_transferable *f = &s->features;

    fprintf(stream,
            "go lr=%g epsilon=%g clip=%g graph_layers=%d layers=%d heads=%d segment=%d "
            "epochs=%d clip_ratio=%g entropy=%g\n",
            ADAM.learning_rate, ADAM.epsilon, CLIP, GRAPH_LAYERS, LAYERS, HEADS, SEGMENT,
            EPOCHS, CLIP_RATIO, ENTROPY);
    emp_stand_write_parameters(stream, &s->net.params, 0);
    emp_stand_write_reals(stream, "value", f->value, f->count, EMP_TRANSFERABLE);
    emp_stand_write_ints(stream, "type", f->type, 1, f->count);
    write_neighbors(s, stream);
    write_choices(s, stream);
    emp_stand_write_doubles(stream, "advantage", s->advantage, s->samples, 1);
}

/* Of a row: a map meets it once forward and twice backward; attention has two products forward and
 * five backward; features have no gradient. */
emp_stand_work emp_stand_go_work(const emp_stand_go *s)
{
    const double W = WIDTH, rows = s->features.count;
    const double keys = rows > SEGMENT ? 2.0 * SEGMENT : rows;
    const double layer = 3 * W * W + W * W + 2 * W * HIDDEN;
    const double maps =
        3 * W * W * GRAPH_LAYERS + (LAYERS + 1) * layer + LAYERS * W * W + W * DEVICES;
    const double attention = (LAYERS + 1) * keys * W;

    return (emp_stand_work){.large_flops =
                                2 * rows * EPOCHS *
                                (2 * EMP_TRANSFERABLE * W + 3 * maps + 7 * attention)};
}
