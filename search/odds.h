/** \file search/odds.h
 * Draws devices in proportion to their peak FLOP/s: searches try fast devices more often.
 * Devices of other kinds than the searches may use are never drawn.
 */
#ifndef EMP_SEARCH_ODDS_H
#define EMP_SEARCH_ODDS_H

#include "base/rng.h"
#include "sim/machine/machine.h"

typedef struct {
    int32_t       device_count;            /**< that may be drawn */
    emp_device_id device[EMP_MAX_DEVICES]; /**< their numbers, rising */
    double        up_to[EMP_MAX_DEVICES];  /**< running sum of shares; the last is 1 */
} emp_device_odds;

/** \param kinds  A mask of EMP_KIND_; the machine has a device of one of them. */
emp_device_odds emp_device_odds_of(const emp_machine *machine, uint32_t kinds);

/** One uniform number of \a rng. O(devices). */
emp_device_id emp_device_odds_draw(const emp_device_odds *odds, emp_rng *rng);

#endif /* EMP_SEARCH_ODDS_H */
