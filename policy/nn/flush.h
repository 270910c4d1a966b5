/** \file policy/nn/flush.h
 * Numbers below 1e-38 become 0 between begin and end, on the calling thread. Saturated
 * networks are full of them, and each would cost a hundred cycles.
 */
#ifndef EMP_POLICY_NN_FLUSH_H
#define EMP_POLICY_NN_FLUSH_H

/** Returns what emp_flush_end() needs to restore the thread. */
unsigned emp_flush_begin(void);
void     emp_flush_end(unsigned saved);

#endif /* EMP_POLICY_NN_FLUSH_H */
