// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/giph/giph.h"

#include <math.h>
#include <string.h>

#include "policy/nn/layers.h"

enum { H = EMP_GIPH_WIDTH, M = EMP_GIPH_MESSAGE, S = EMP_GIPH_HIDDEN };
enum { X = EMP_GIPH_NODE_FEATURES, E = EMP_GIPH_EDGE_FEATURES };

/* Slices of the block: weights, each with its bias behind it. The parameters of the
 * second direction follow the first's. */
enum {
    ENCODE = 0,
    ENCODE_OUT = 2,
    MESSAGE = 4,
    UPDATE = 6,
    DIRECTION = 4, /* slices of one */
    SCORE = 12,
    SCORE_OUT = 14,
    SLICES = 16
};

static const emp_param_slice slices[SLICES] = {
    {.name = "encode_w", .rows = X, .cols = H},
    {.name = "encode_b", .rows = 1, .cols = H},
    {.name = "encode_out_w", .rows = H, .cols = H},
    {.name = "encode_out_b", .rows = 1, .cols = H},
    {.name = "forward_message_w", .rows = H + E, .cols = M},
    {.name = "forward_message_b", .rows = 1, .cols = M},
    {.name = "forward_update_w", .rows = M, .cols = H},
    {.name = "forward_update_b", .rows = 1, .cols = H},
    {.name = "backward_message_w", .rows = H + E, .cols = M},
    {.name = "backward_message_b", .rows = 1, .cols = M},
    {.name = "backward_update_w", .rows = M, .cols = H},
    {.name = "backward_update_b", .rows = 1, .cols = H},
    {.name = "score_w", .rows = 2 * H, .cols = S},
    {.name = "score_b", .rows = 1, .cols = S},
    {.name = "score_out_w", .rows = S, .cols = 1},
    {.name = "score_out_b", .rows = 1, .cols = 1}};

emp_status emp_giph_params_init(emp_params *params, uint64_t seed, uint32_t stream,
                                emp_error *err)
{
    emp_rng rng;

    EMP_CHECK(emp_params_init(params, slices, SLICES, err));
    emp_rng_init(&rng, seed, stream, 0);
    for (int32_t i = 0; i < SLICES; i++) {
        const emp_param_slice *s = &slices[i];
        double    limit = 1.0 / sqrt(slices[i - i % 2].rows); /* a bias: as its weights */
        emp_real *value = emp_params_value(params, i);
        for (int32_t j = 0; j < s->rows * s->cols; j++)
            value[j] = (emp_real)(limit * (2.0 * emp_rng_uniform(&rng) - 1.0));
    }
    return EMP_OK;
}

/* ---- room -------------------------------------------------------------------------- */

emp_status emp_giph_work_init(emp_giph_work *work, const emp_giph_world *world,
                              emp_error *err)
{
    const struct {
        emp_real **array;
        int32_t    width;
    } of_pairs[] = {{&work->hidden, H},       {&work->y0, H},
                    {&work->pass[0].y, H},    {&work->pass[1].y, H},
                    {&work->pass[0].rise, H}, {&work->pass[1].rise, H},
                    {&work->pass[0].mean, M}, {&work->pass[1].mean, M},
                    {&work->both, 2 * H},     {&work->score_hidden, S},
                    {&work->score, 1},        {&work->d_score, 1},
                    {&work->d_y, H},          {&work->d_y0, H},
                    {&work->d_h, H},          {&work->d_mean, M},
                    {&work->d_both, 2 * H},   {&work->d_score_hidden, S}},
      of_links[] = {{&work->pass[0].m, M}, {&work->pass[1].m, M}, {&work->d_m, M}};
    size_t pairs = (size_t)world->pair_count, links = (size_t)world->link_count;

    *work = (emp_giph_work){0};
    for (size_t i = 0; i < sizeof of_pairs / sizeof *of_pairs; i++)
        *of_pairs[i].array =
            EMP_ADD_ARRAY(&work->arrays, emp_real, pairs * (size_t)of_pairs[i].width);
    for (size_t i = 0; i < sizeof of_links / sizeof *of_links; i++)
        *of_links[i].array =
            EMP_ADD_ARRAY(&work->arrays, emp_real, links * (size_t)of_links[i].width);
    if (work->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "a network over %zu pairs and %zu links", pairs,
                         links);
    return EMP_OK;
}

void emp_giph_work_clear(emp_giph_work *work)
{
    emp_arrays_clear(&work->arrays);
    *work = (emp_giph_work){0};
}

/* ---- ways through the graph -------------------------------------------------------- */

/* One direction: nodes in an order such that what comes in is final. */
typedef struct {
    const emp_giph_world *world;
    const int32_t        *edge_first, *edge; /* those that come in to a node */
    const int32_t        *from, *to;         /* [link] */
    bool                  is_forward;
    int32_t               message; /* its first slice */
} route;

static route way_of(const emp_gpnet *net, int32_t direction)
{
    const emp_giph_world *w = net->world;
    int32_t               message = MESSAGE + direction * DIRECTION;

    if (direction == 0)
        return (route){w,           w->in_first, w->in_edge, net->source,
                       net->target, true,        message};
    return (route){w,           w->out_first, w->out_edge, net->target,
                   net->source, false,        message};
}

static int32_t node_at(const route *way, int32_t position)
{
    return way->is_forward ? position : way->world->node_count - 1 - position;
}

/* Links that come in to a pair. */
static emp_real degree(const route *way, const emp_gpnet *net, int32_t pair)
{
    return (emp_real)(way->is_forward ? net->in_degree : net->out_degree)[pair];
}

/* ---- forward ----------------------------------------------------------------------- */

/* m = relu(m + y U), m being the edge's part before. */
EMP_KERNEL static void complete_message(emp_real *restrict m, const emp_real *restrict y,
                                        const emp_real *restrict u)
{
    for (int32_t i = 0; i < H; i++) {
        for (int32_t j = 0; j < M; j++) m[j] += y[i] * u[i * M + j];
    }
    for (int32_t j = 0; j < M; j++) m[j] = m[j] > 0 ? m[j] : 0;
}

static void receive(const route *way, emp_giph_pass *pass, const emp_real *u,
                    int32_t node)
{
    const int32_t *link_first = way->world->link_first;

    for (int32_t i = way->edge_first[node]; i < way->edge_first[node + 1]; i++) {
        int32_t edge = way->edge[i];
        for (int32_t l = link_first[edge]; l < link_first[edge + 1]; l++) {
            emp_real *m = &pass->m[(int64_t)l * M], *sum = &pass->mean[way->to[l] * M];
            complete_message(m, &pass->y[way->from[l] * H], u);
            for (int32_t j = 0; j < M; j++) sum[j] += m[j];
        }
    }
}

/* y = y0 + relu(mean W + w). */
static void update(const emp_giph_work *work, emp_giph_pass *pass, const emp_params *p,
                   const route *way, int32_t first, int32_t count)
{
    emp_real *rise = &pass->rise[first * H];

    emp_linear_forward(rise, &pass->mean[first * M],
                       emp_params_value(p, way->message + UPDATE - MESSAGE),
                       emp_params_value(p, way->message + UPDATE - MESSAGE + 1), count, M,
                       H, 1);
    emp_activation_forward(EMP_ACTIVATION_RELU, rise, (int64_t)count * H);
    for (int32_t i = 0; i < count * H; i++)
        pass->y[first * H + i] = work->y0[first * H + i] + rise[i];
}

static void pass_forward(emp_giph_work *work, const emp_params *p, const emp_gpnet *net,
                         int32_t direction)
{
    const emp_giph_world *w = net->world;
    const route           way = way_of(net, direction);
    emp_giph_pass        *pass = &work->pass[direction];
    const emp_real       *u = emp_params_value(p, way.message);

    memset(pass->mean, 0, (size_t)w->pair_count * M * sizeof *pass->mean);
    emp_linear_forward(pass->m, net->e, u + H * M, emp_params_value(p, way.message + 1),
                       w->link_count, E, M, 1);
    for (int32_t n = 0; n < w->node_count; n++) {
        int32_t node = node_at(&way, n), first = w->pair_first[node];
        receive(&way, pass, u, node);
        for (int32_t q = first; q < w->pair_first[node + 1]; q++) {
            emp_real d = degree(&way, net, q);
            for (int32_t j = 0; d > 0 && j < M; j++) pass->mean[q * M + j] /= d;
        }
        update(work, pass, p, &way, first, w->pair_first[node + 1] - first);
    }
}

static void layer(emp_real *y, const emp_real *x, const emp_params *p, int32_t slice,
                  int32_t rows)
{
    emp_linear_forward(y, x, emp_params_value(p, slice), emp_params_value(p, slice + 1),
                       rows, slices[slice].rows, slices[slice].cols, 1);
}

void emp_giph_forward(emp_giph_work *work, const emp_params *params, const emp_gpnet *net)
{
    int32_t pairs = net->world->pair_count;

    layer(work->hidden, net->x, params, ENCODE, pairs);
    emp_activation_forward(EMP_ACTIVATION_RELU, work->hidden, (int64_t)pairs * H);
    layer(work->y0, work->hidden, params, ENCODE_OUT, pairs);
    for (int32_t d = 0; d < 2; d++) {
        pass_forward(work, params, net, d);
        for (int32_t q = 0; q < pairs; q++)
            memcpy(&work->both[(2 * q + d) * H], &work->pass[d].y[q * H],
                   H * sizeof *work->both);
    }
    layer(work->score_hidden, work->both, params, SCORE, pairs);
    emp_activation_forward(EMP_ACTIVATION_RELU, work->score_hidden, (int64_t)pairs * S);
    layer(work->score, work->score_hidden, params, SCORE_OUT, pairs);
}

/* ---- backward ---------------------------------------------------------------------- */

/* d_m is the gradient of m in, of what relu takes out; d_y and d_u add up. */
EMP_KERNEL static void return_message(emp_real *restrict d_m, emp_real *restrict d_y,
                                      emp_real *restrict d_u, const emp_real *restrict m,
                                      const emp_real *restrict y,
                                      const emp_real *restrict u)
{
    for (int32_t j = 0; j < M; j++) d_m[j] = m[j] > 0 ? d_m[j] : 0;
    for (int32_t i = 0; i < H; i++) {
        for (int32_t j = 0; j < M; j++) {
            d_y[i] += d_m[j] * u[i * M + j];
            d_u[i * M + j] += d_m[j] * y[i];
        }
    }
}

static void give_back(emp_giph_work *work, const route *way, const emp_gpnet *net,
                      const emp_giph_pass *pass, const emp_real *u, emp_real *d_u,
                      int32_t node)
{
    const int32_t *link_first = way->world->link_first;

    for (int32_t i = way->edge_first[node]; i < way->edge_first[node + 1]; i++) {
        int32_t edge = way->edge[i];
        for (int32_t l = link_first[edge]; l < link_first[edge + 1]; l++) {
            emp_real *d_m = &work->d_m[(int64_t)l * M], d = degree(way, net, way->to[l]);
            for (int32_t j = 0; j < M; j++) d_m[j] = work->d_mean[way->to[l] * M + j] / d;
            return_message(d_m, &work->d_y[way->from[l] * H], d_u,
                           &pass->m[(int64_t)l * M], &pass->y[way->from[l] * H], u);
        }
    }
}

/* Takes d_y, the gradient of the direction's y; adds to d_y0 and the block. */
static void pass_backward(emp_giph_work *work, const emp_params *p, const emp_gpnet *net,
                          int32_t direction, emp_real *gradient)
{
    const emp_giph_world *w = net->world;
    const route           way = way_of(net, direction);
    const emp_giph_pass  *pass = &work->pass[direction];
    int32_t               renew = way.message + UPDATE - MESSAGE;
    const emp_real       *u = emp_params_value(p, way.message);
    emp_real             *d_u = gradient + p->slice[way.message].offset;

    for (int32_t n = w->node_count - 1; n >= 0; n--) {
        int32_t node = node_at(&way, n), first = w->pair_first[node],
                count = w->pair_first[node + 1] - first;
        memcpy(&work->d_h[first * H], &work->d_y[first * H],
               (size_t)count * H * sizeof *work->d_h);
        emp_activation_backward(EMP_ACTIVATION_RELU, &work->d_h[first * H],
                                &pass->rise[first * H], (int64_t)count * H);
        emp_linear_backward(&work->d_mean[first * M], gradient + p->slice[renew].offset,
                            gradient + p->slice[renew + 1].offset, &work->d_h[first * H],
                            &pass->mean[first * M], emp_params_value(p, renew), count, M,
                            H, 1);
        give_back(work, &way, net, pass, u, d_u, node);
    }
    emp_linear_backward(NULL, d_u + H * M, gradient + p->slice[way.message + 1].offset,
                        work->d_m, net->e, u + H * M, w->link_count, E, M, 1);
    for (int32_t i = 0; i < w->pair_count * H; i++) work->d_y0[i] += work->d_y[i];
}

static void layer_backward(emp_real *dx, emp_real *gradient, const emp_real *dy,
                           const emp_real *x, const emp_params *p, int32_t slice,
                           int32_t rows)
{
    emp_linear_backward(
        dx, gradient + p->slice[slice].offset, gradient + p->slice[slice + 1].offset, dy,
        x, emp_params_value(p, slice), rows, slices[slice].rows, slices[slice].cols, 1);
}

void emp_giph_backward(emp_giph_work *work, const emp_params *params,
                       const emp_gpnet *net, emp_real *gradient)
{
    int32_t pairs = net->world->pair_count;

    layer_backward(work->d_score_hidden, gradient, work->d_score, work->score_hidden,
                   params, SCORE_OUT, pairs);
    emp_activation_backward(EMP_ACTIVATION_RELU, work->d_score_hidden, work->score_hidden,
                            (int64_t)pairs * S);
    layer_backward(work->d_both, gradient, work->d_score_hidden, work->both, params,
                   SCORE, pairs);
    memset(work->d_y0, 0, (size_t)pairs * H * sizeof *work->d_y0);
    for (int32_t d = 0; d < 2; d++) {
        for (int32_t q = 0; q < pairs; q++)
            memcpy(&work->d_y[q * H], &work->d_both[(2 * q + d) * H],
                   H * sizeof *work->d_y);
        pass_backward(work, params, net, d, gradient);
    }
    layer_backward(work->d_h, gradient, work->d_y0, work->hidden, params, ENCODE_OUT,
                   pairs);
    emp_activation_backward(EMP_ACTIVATION_RELU, work->d_h, work->hidden,
                            (int64_t)pairs * H);
    layer_backward(NULL, gradient, work->d_h, net->x, params, ENCODE, pairs);
}
