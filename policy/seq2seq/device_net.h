/** \file policy/seq2seq/device_net.h
 * The placer network: reads the groups in sequence and gives each a device.
 *
 * Encoder: a bidirectional LSTM over group features; its outputs [forward, backward] of
 * each step become one row of attention memory (times W_memory). Decoder: an LSTM whose
 * input is a trainable embedding of the device given to the group before (an extra row at
 * the first step) and whose first state is the backward encoder's last, which has read
 * the whole sequence and stands at the group where decoding begins (Bahdanau et al.,
 * 2015). Additive attention over the memory, queried by the decoder's output, gives a
 * context;
 *
 *     logits = C tanh([h, context] W_out / T),   p = softmax(logits)
 * and, if the shape says so, logits = C tanh(([h, context] W_out + e_t W_aligned) / T), e_t the
 * encoder's outputs of the step itself: without them the decoder has to find its own place in the
 * memory by attention before it can tell one group from another.
 *
 *     device = argmax_d (logits_d + (1 + noise) G_d)
 *
 * with G standard Gumbel numbers, which draws from p when there is no noise and each step
 * has its own. A run of steps shares them, so that a sample is a few stretches of steps
 * per device. Within a run they are no longer independent of the device before, which the
 * decoder reads, so a sample is then only near the policy; log-probabilities and
 * gradients follow p, without noise or runs: a bias that is accepted for the exploration.
 * Noise may instead be normal numbers added to the logits: then p follows from the noisy
 * logits, and gradients take the numbers for constants.
 *
 * One encoding serves all k samples of an update. Threads share the columns of the
 * recurrent products, the rows of the attention, and then the samples: results do not
 * depend on their number.
 */
#ifndef EMP_POLICY_SEQ2SEQ_DEVICE_NET_H
#define EMP_POLICY_SEQ2SEQ_DEVICE_NET_H

#include "base/work.h"
#include "policy/nn/categorical.h"
#include "policy/nn/params.h"
#include "policy/nn/products.h"

typedef struct {
    int32_t inputs; /**< features per group */
    int32_t hidden; /**< of each LSTM, and of the attention: 256 */
    int32_t devices;
    int32_t max_steps, max_samples;
    double  temperature, tanh_constant; /**< T = 10, C = 5 */
    int32_t learned_inputs; /**< the first of them whose gradient is wanted; 0: none */
    bool   is_aligned; /**< a step's logits read the encoder's outputs of the step, too */
    double gradient_bound; /**< emp_lstm_shape's, of all three LSTMs; 0: unlimited */
} emp_device_net_shape;

/** Placements that the network imitates. */
typedef struct {
    const int32_t *device; /**< [placement][step] */
    int32_t        count;
    double         weight; /**< of each in the objective */
} emp_device_lesson;

/** How samples depart from independent draws of the policy; all 0: not at all. */
typedef struct {
    double noise;        /**< added to the scale 1 of Gumbel numbers */
    double logits_noise; /**< deviation of normal numbers that are added to a step's
                            logits, over the root mean square of those */
    double
        run_shortest; /**< part of the steps that share Gumbel numbers on average: ... */
    double run_longest; /**< ... each sample draws its own, log-uniform between the two */
    double
        stretches; /**< if above 0, only so many stretches of a sample on average, at least
                         one, are drawn: anywhere, of log-uniform lengths from one step on,
                         with Gumbel numbers of their own; all other steps take the most
                         probable device. At most EMP_MAX_STRETCHES */
    double stretch_longest; /**< part of the steps that the longest of them has */
} emp_exploration;

enum { EMP_MAX_STRETCHES = 8 };

/** Parameter slices. The backward encoder's parameters follow the forward one's. */
enum {
    EMP_NET_ENCODER_INPUT,
    EMP_NET_ENCODER_RECURRENT,
    EMP_NET_ENCODER_BIAS,
    EMP_NET_ENCODER_SLICES,
    EMP_NET_DEVICE_EMBEDDING = 2 * EMP_NET_ENCODER_SLICES,
    EMP_NET_DECODER_INPUT,
    EMP_NET_DECODER_RECURRENT,
    EMP_NET_DECODER_BIAS,
    EMP_NET_ATTENTION_MEMORY,
    EMP_NET_ATTENTION_QUERY,
    EMP_NET_ATTENTION_V,
    EMP_NET_OUT,
    EMP_NET_ALIGNED, /**< there if the shape says so */
    EMP_NET_SLICES
};

/** Weights packed for single steps, and transposed for the way back. */
typedef struct {
    emp_panels encoder[2], encoder_t[2];
    emp_panels decoder, decoder_t, query, out;
} emp_net_panels;

typedef struct {
    emp_device_net_shape shape;
    emp_params           params;
    int32_t              steps, samples; /**< of the last run */
    int32_t             *device;         /**< [sample][step] */
    double              *log_prob;       /**< [sample] summed over steps */
    double              *entropy;        /**< [sample] mean over steps, nats */
    int32_t  *moved; /**< [sample] steps whose device is not the most probable */
    emp_real *d_x;   /**< (steps, learned_inputs) set by the backward pass */
    /** OPTIONAL; borrowed. Once set, passes end early, and what they leave is worth nothing. */
    const atomic_int *stop;

    /* Private. S steps, K samples, H hidden, D devices. */
    bool            is_stopped; /* as the first thread has seen it */
    const emp_real *x;          /**< borrowed from the last run: (S, inputs) */
    emp_net_panels  panels;
    emp_real       *work; /**< owns all that follows */
    /* Encoder: activations, then gradients of the gates' sums. */
    emp_real *encoder_gates[2];  /**< (S,4H) in the order of positions */
    emp_real *encoder_cell[2];   /**< (S+1,H) in the order of steps */
    emp_real *states, *d_states; /**< (S,2H) */
    emp_real *memory, *d_memory; /**< (S,H) */
    emp_real *memory_exp;        /**< (S,H) as the attention wants it */
    /* Decoder, all starting with [sample]. */
    emp_real *image; /**< (D+1,4H) device embedding x W + b */
    emp_real *d_image;
    emp_real *gates;               /**< (K,S,4H) */
    emp_real *cell;                /**< (K,S+1,H) */
    emp_real *query;               /**< (K,S,H), then its gradient */
    emp_real *weights;             /**< (K,S,S) attention */
    emp_real *output;              /**< (K,S,2H) [h, context] */
    emp_real *aligned, *d_aligned; /**< (S,D) their part of the logits' sums */
    emp_real *squashed;            /**< (K,S,D) tanh(logits / T) */
    emp_real *p;         /**< (K,S,D) probabilities, then gradient of the logits */
    emp_real *d_output;  /**< (K,S,2H) */
    emp_real *d_weights; /**< (K,S,S) */
    emp_real *d_hidden, *d_cell; /**< (K,H) of the first state */
    emp_real *sum;               /**< (H) over samples */
} emp_device_net;

emp_status emp_device_net_init(emp_device_net *net, const emp_device_net_shape *shape,
                               emp_error *err);
void       emp_device_net_clear(emp_device_net *net);

/** Glorot-uniform weights (the output layer's times \a output_gain), forget biases 1. */
void emp_device_net_randomize(emp_device_net *net, double output_gain, emp_rng *rng);

/** Draws \a samples placements of \a steps groups, or takes \a given ([sample][step];
 * NULL = draw). \a x is borrowed until the backward pass. Allocates nothing. */
void emp_device_net_run(emp_device_net *net, const emp_real *x, int32_t steps,
                        int32_t samples, const emp_draw *draw,
                        const emp_exploration *explore, const int32_t *given);

/** The same with a lesson (NULL: none): adds to the objective, for each placement of the lesson,
 * its weight times the mean over samples of the sum over steps of its device's log-probability
 * after the sample's own devices before that step. The network so learns the device whatever
 * came before, and a sample that left the placement finds the way back. */
void emp_device_net_teach(emp_device_net *net, const double *weight,
                          double entropy_weight, const emp_device_lesson *lesson,
                          int32_t threads);

/** After a run: sets the gradients of parameters and learned inputs, by the sum
 *     over samples of weight[k] log p(devices of k)
 *     + entropy_weight x mean over samples and steps of the entropy. */
void emp_device_net_backward(emp_device_net *net, const double *weight,
                             double entropy_weight, int32_t threads);

#endif /* EMP_POLICY_SEQ2SEQ_DEVICE_NET_H */
