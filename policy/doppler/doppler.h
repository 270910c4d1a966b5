/** \file policy/doppler/doppler.h
 * DOPPLER (Yao et al., ICLR 2026) as a placer: one policy selects the next op, another its device;
 * both first imitate a list scheduler and then learn from scores. README.md says what of it is
 * published and what is ours.
 *
 * The first ask imitates, which takes most of the time of a short run. Then one ask is some
 * episodes, and one tell is one update. Presets: "paper" and "emplace"; options: options.h.
 */
#ifndef EMP_POLICY_DOPPLER_DOPPLER_H
#define EMP_POLICY_DOPPLER_DOPPLER_H

#include "search/method.h"

extern const emp_method emp_method_doppler;

#endif /* EMP_POLICY_DOPPLER_DOPPLER_H */
