/** \file policy/doppler/net.h
 * The two policies of DOPPLER, each with a network of messages of its own. Embeddings are computed
 * once for all episodes of a batch, scores at every step. zz scales columns over the choices, and
 * z over all nodes.
 *
 *     selector: of each ready node v   [leaky(A node, zz), x_v, zz z(below_v), zz z(above_v)]
 *               below_v, above_v: sums of x along v's longest path to an exit, to an entry
 *     placer:   of each candidate d    [leaky(A device, zz), leaky(B node_v), x_v, zz(sum_d)]
 *               sum_d: of x of the nodes that d has been given
 *
 * A row of four blocks goes through the layers of mpnn.h.
 */
#ifndef EMP_POLICY_DOPPLER_NET_H
#define EMP_POLICY_DOPPLER_NET_H

#include "policy/doppler/mpnn.h"
#include "policy/doppler/scene.h"
#include "policy/nn/real.h"

/* Columns shifted and scaled over the rows of a set: y = (x - mean) / (s + 1e-6), with s the
 * deviation over the set. A column that is all but equal, s at most EMP_ZSCORE_EQUAL, becomes 0
 * and has no gradient: otherwise rounding errors would be scaled up a million times.
 *
 * B rows of K columns. Rows begin \a stride reals apart. */

#define EMP_ZSCORE_EQUAL 1e-5

/** In place. \a deviation [K]: s of each column, 0 where it counts as equal. */
void emp_zscore_forward(emp_real *x, int64_t stride, emp_real *deviation, int32_t B,
                        int32_t K);

/** \a dy: the gradient of y in, of x out. \a y has the same stride. */
void emp_zscore_backward(emp_real *dy, const emp_real *y, int64_t stride,
                         const emp_real *deviation, int32_t B, int32_t K);

typedef enum { EMP_DOPPLER_SELECTOR, EMP_DOPPLER_PLACER } emp_doppler_kind;

/** For each node: x, and the values made from it or from the node's features. */
enum {
    EMP_DOPPLER_X,
    EMP_DOPPLER_BELOW,                      /**< of the selector */
    EMP_DOPPLER_ABOVE,                      /**< of the selector */
    EMP_DOPPLER_LATENT = EMP_DOPPLER_BELOW, /**< of the placer */
    EMP_DOPPLER_EMBEDDINGS = 3
};

typedef struct {
    emp_doppler_kind kind;
    emp_params       params;
    emp_doppler_mpnn mpnn;
    emp_doppler_head head;
    emp_real  *embedding[EMP_DOPPLER_EMBEDDINGS];   /**< (N, H); the first is mpnn.x */
    emp_real  *d_embedding[EMP_DOPPLER_EMBEDDINGS]; /**< (N, H) */
    emp_real  *deviation[EMP_DOPPLER_EMBEDDINGS];   /**< [H] of those scaled */
    emp_real  *fixed, *d_fixed; /**< (N, G) see emp_doppler_head_fix() */
    emp_real  *scratch;         /**< (N, H) */
    emp_arrays arrays;          /**< all of these but mpnn.x */
} emp_doppler_net;

/** The contribution of an episode to a net's gradients. */
typedef struct {
    emp_real *head;
    emp_real
        *embedding[EMP_DOPPLER_EMBEDDINGS]; /**< (N, H); NULL where it gets nothing */
    emp_real  *fixed;                       /**< (N, G) */
    emp_arrays arrays;                      /**< all of these */
} emp_doppler_gradient;

/** Sums of x over the nodes of each device, for the placer, and their gradients. */
typedef struct {
    emp_real  *sum, *d_sum; /**< [device][H] */
    emp_arrays arrays;
} emp_doppler_loads;

/** Its place must not change afterwards. Clear it, also after a failure. \retval EMP_ENOMEM */
emp_status emp_doppler_net_init(emp_doppler_net *net, const emp_doppler_scene *scene,
                                emp_doppler_kind kind, emp_doppler_mpnn_shape shape,
                                emp_error *err);
void       emp_doppler_net_clear(emp_doppler_net *net);
void       emp_doppler_net_randomize(emp_doppler_net *net, emp_rng *rng);

emp_status emp_doppler_gradient_init(emp_doppler_gradient  *gradient,
                                     const emp_doppler_net *net, emp_error *err);
void       emp_doppler_gradient_clear(emp_doppler_gradient *gradient);
void       emp_doppler_gradient_zero(emp_doppler_gradient  *gradient,
                                     const emp_doppler_net *net);

emp_status emp_doppler_loads_init(emp_doppler_loads *loads, const emp_doppler_net *placer,
                                  emp_error *err);
void       emp_doppler_loads_clear(emp_doppler_loads *loads);
void emp_doppler_loads_zero(emp_doppler_loads *loads, const emp_doppler_net *placer);
/** The node has been given the device. */
void emp_doppler_loads_add(emp_doppler_loads *loads, const emp_doppler_net *placer,
                           int32_t node, emp_device_id device);

/** Computes the embeddings. */
void emp_doppler_net_embed(emp_doppler_net *net);

/** Probabilities of the ready nodes, of the candidates for a node. Return their entropy. */
double emp_doppler_select(const emp_doppler_net *selector, emp_doppler_choices *c,
                          const emp_doppler_episode *episode);
double emp_doppler_place(const emp_doppler_net *placer, emp_doppler_choices *c,
                         const emp_doppler_episode *episode,
                         const emp_doppler_loads *loads, int32_t node);

/** After one of these, with its d_logit and the device chosen for \a node: keeps the choices of the
 * step. Once there is no room for another step, all kept ones go backward, as they do with
 * emp_doppler_select_learn() and emp_doppler_place_learn() at the end of an episode. */
void emp_doppler_select_keep(const emp_doppler_net *selector, emp_doppler_choices *c,
                             emp_doppler_gradient *gradient);
void emp_doppler_place_keep(const emp_doppler_net *placer, emp_doppler_choices *c,
                            emp_doppler_loads *loads, int32_t node, emp_device_id device,
                            emp_doppler_gradient *gradient);

/** From the kept choices to the gradients of an episode; of the placer also what sums take from x of
 * a node, from the step on that follows its own. \a episode is complete. */
void emp_doppler_select_learn(const emp_doppler_net *selector, emp_doppler_choices *c,
                              emp_doppler_gradient *gradient);
void emp_doppler_place_learn(const emp_doppler_net *placer, emp_doppler_choices *c,
                             const emp_doppler_episode *episode, emp_doppler_loads *loads,
                             emp_doppler_gradient *gradient);

/** Sets the gradients of the parameters to the sum over episodes, in their order. \a gradients
 * [count] are pointers. Once after each emp_doppler_net_embed(). */
void emp_doppler_net_learn(emp_doppler_net *net, emp_doppler_gradient *const *gradients,
                           int32_t count);

#endif /* EMP_POLICY_DOPPLER_NET_H */
