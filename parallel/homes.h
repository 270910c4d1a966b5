/** \file parallel/homes.h
 * States in host memory: what their copies add to passes and to the update, and the bytes that they take of the host.
 *
 * Each layer has two buffers on the GPU. While one layer computes, the next one's weights and activations come in over the
 * link of the GPU to its host, and the gradients and activations of the one before leave, in the other direction.
 */
#ifndef EMP_PARALLEL_HOMES_H
#define EMP_PARALLEL_HOMES_H

#include "parallel/work.h"

/** States that a plan leaves to the host, from few to all; plans try them in this order. */
typedef struct {
    int32_t update, activations, home;
} emp_home_choice;

enum { EMP_HOME_CHOICES = 5 };
extern const emp_home_choice emp_home_choices[EMP_HOME_CHOICES];

/** Sets a choice. Weights on the host need ZeRO 3, unless \a keeps_zero. \return false: the schedule does not allow it. */
bool emp_homes_choose(emp_degrees *d, const emp_home_choice *choice, bool keeps_zero);

/** A layer in a pass: its kernels, and the copies before and behind them. */
typedef struct {
    int64_t compute_ns, in_ns, out_ns;
} emp_layer_turn;

/** Nanoseconds of a pass through layers one after another, from the first copy to the last one. O(count). */
int64_t emp_homes_pass_ns(const emp_layer_turn *layer, int32_t count);

/** True if the degrees keep anything on the host. */
static inline bool emp_homes_any(const emp_degrees *d)
{
    return d->home || d->update || d->activations;
}

/** Parameters of which a rank of the stage keeps a part, by the stages of ZeRO. */
typedef struct {
    double all;     /**< on the rank */
    double updated; /**< whose states it has */
    double held;    /**< whose weights it has between passes */
} emp_rank_parameters;

/** Sets the copies of a layer in one pass: weights come in both ways, activations leave forward and come back, and gradients
 * leave in half precision, which the host adds to fp32 where there are several micro-batches. */
void emp_homes_copies(emp_layer_turn *turn, const emp_parallel *p, const emp_work *w,
                      const emp_rank_parameters *n, bool is_forward);

/** Seconds of the update on the host: gradients that come over the link in fp32 (unless they are there), Adam in the host's
 * memory, weights that go back in half precision (unless they stay there). */
double emp_homes_update_s(const emp_parallel *p, double own);

/** Bytes of host memory of a rank. \param live  Of activations under way. */
double emp_homes_bytes(const emp_degrees *d, const emp_rank_parameters *n, double live);

/** Checks that the cluster says what its hosts have, and that the degrees can be so.
 * \retval EMP_EINVAL  The message names the keys and what would do. */
emp_status emp_homes_check(const emp_parallel *p, bool has_weight_passes, emp_error *err);

#endif /* EMP_PARALLEL_HOMES_H */
