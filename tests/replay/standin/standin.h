/** \file tests/replay/standin/standin.h
 * GPUs that are not there: what replay/cuda calls of CUDA's runtime, cuBLAS and cuDNN, done by
 * threads of this computer. It shows that the backend orders, addresses and computes as it
 * should, and that it survives failures of every call. It says nothing of speed.
 *
 * - A stream is a thread with a queue. It pauses at random before what it does, so that work which
 *   waits for nothing comes early or late.
 * - Memory of a GPU is a mapping between two guard pages. Copies and fills must stay
 *   within it.
 * - A kernel is a function of C++ that runs for each thread of each block; threads of a block that
 *   wait for each other are coroutines. kernels.cu is compiled as it is, but for its launches.
 * - What CUDA refuses is refused: an event on a stream of another GPU, a launch where another GPU is
 *   current, a time between events that were made without timing.
 *
 * The headers of this folder take the place of CUDA's.
 *
 * Threads. Functions of this header are for one thread, while nothing runs.
 */
#ifndef EMP_TESTS_REPLAY_STANDIN_STANDIN_H
#define EMP_TESTS_REPLAY_STANDIN_STANDIN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { STANDIN_GPUS = 2 };

/** Mistakes that replay/cuda might make, made for it. */
typedef enum {
    STANDIN_NO_BUG,
    STANDIN_NO_WAIT,        /**< streams do not wait for events */
    STANDIN_NO_DRAIN,       /**< the host does not wait for streams */
    STANDIN_EARLY_COPY,     /**< copies happen when they are enqueued, on no stream */
    STANDIN_WRONG_STREAM,   /**< kernels run on another stream of the GPU */
    STANDIN_EARLY_EVENT,    /**< events are said to be there when they are enqueued */
    STANDIN_SHORT_COPY,     /**< the last 4 bytes of copies are missing */
    STANDIN_WRONG_STRIDE,   /**< both leading dimensions of products are swapped */
    STANDIN_NOT_TRANSPOSED, /**< first operands of products are taken as they are */
    STANDIN_LOST_MEMORY,    /**< memory is not freed */
    STANDIN_LOST_EVENT,     /**< events are not destroyed */
    STANDIN_BUGS
} standin_bug;

/** No failures, no mistakes, calls counted from 0; pauses are drawn from \a seed, none if it is 0. */
void standin_reset(uint64_t seed);

void standin_plant(standin_bug bug);

/** The call of that number from now on fails, 1 = the next one; 0 = none. */
void standin_fail_at(int64_t call);

/** Calls since the reset that could have failed. */
int64_t standin_calls(void);

/** Things that were made and are still there: memory, streams, events, handles, descriptors. */
int64_t standin_live(void);

#ifdef __cplusplus
}
#endif

#endif /* EMP_TESTS_REPLAY_STANDIN_STANDIN_H */
