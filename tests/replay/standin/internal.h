/** \file tests/replay/standin/internal.h
 * What the parts of the stand-in share.
 */
#ifndef EMP_TESTS_REPLAY_STANDIN_INTERNAL_H
#define EMP_TESTS_REPLAY_STANDIN_INTERNAL_H

#include <stdbool.h>

#include "tests/replay/standin/cuda_runtime_api.h"
#include "tests/replay/standin/standin.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Counts a call that may fail; whether this one does. */
bool standin_fails(void);

/** Counts things that are made (1) and destroyed (-1). */
void standin_count(int change);

standin_bug standin_planted(void);

/** The GPU that is current in this thread. */
int standin_device(void);
int standin_stream_device(cudaStream_t stream);

/** Sets the result of cudaGetLastError() in this thread; returns it. */
cudaError_t standin_note(cudaError_t code);

/** Waits until a stream is empty, or all streams of a GPU. */
void standin_finish_stream(cudaStream_t stream);
void standin_finish(int device);

/** Puts work at the end of a stream. \a run owns \a data. */
void standin_enqueue(cudaStream_t stream, void (*run)(void *data), void *data);

/** The same for a kernel, which is refused where another GPU is current. */
void standin_launch(cudaStream_t stream, void (*run)(void *data),
                    void (*drop)(void *data), void *data);

#ifdef __cplusplus
}
#endif

#endif /* EMP_TESTS_REPLAY_STANDIN_INTERNAL_H */
