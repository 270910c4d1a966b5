/** \file bench/validate/validate.h
 * Predicted beside measured: what the simulator said of placements, what replay measured,
 * and how far they are apart.
 *
 *     emp_validation_case c = {...};                 one a placement
 *     EMP_TRY(emp_validation_summarize(&summary, cases, count, err));
 *
 * Errors are relative to what was measured, (predicted - measured) / measured. Steps that the
 * prediction or the measurement says do not fit count only for the verdicts on memory. So do steps in
 * which two devices ran on the same cores or GPU, because the simulator takes devices to be separate.
 *
 * A prediction is worth something if it beats those that know less. So three guesses stand beside
 * it: one constant for all placements of a workload, chosen with the measurements in hand; a
 * roofline (emp_guess_roofline_s()); and the order of what copies take on their links.
 */
#ifndef EMP_BENCH_VALIDATE_VALIDATE_H
#define EMP_BENCH_VALIDATE_VALIDATE_H

#include "replay/plan/plan.h"
#include "replay/result.h"
#include "run/sheet/sheet.h"
#include "sim/engine/sim.h"
#include "sim/problem/problem.h"

/** A device is in use if it is busy for more than this part of the step. */
#define EMP_VALIDATION_IN_USE 0.02
/** A measurement is steady if the quartiles of its steps are no farther apart than this part of
 * the median. */
#define EMP_VALIDATION_SPREAD 0.1
/** Two steps are apart if the longer one takes longer by more than this part. */
#define EMP_VALIDATION_APART 0.1
/** A device's peak counts if it holds at least this part of all peaks: others hold a few
 * scalars. */
#define EMP_VALIDATION_PEAK 0.01

typedef struct {
    char     name[64];
    uint64_t hash; /**< emp_validation_hash() */
    bool     is_predicted_feasible, is_feasible;
    bool     is_shared;               /**< two devices in use ran on the same hardware */
    bool     keeps_rates;             /**< copies took the time of the machine's links */
    double   predicted_s, measured_s; /**< of the step */
    double   low_s, high_s;           /**< quartiles of the measured */
    double   roofline_s;              /**< emp_guess_roofline_s() */
    double   copies_s;                /**< emp_guess_copies_s() */
    double   scheduled_s; /**< emp_validation_schedule(); not above 0: not known */
    int32_t  device_count;
    double   predicted_busy_s[EMP_MAX_DEVICES], busy_s[EMP_MAX_DEVICES];
    int64_t  predicted_peak_bytes[EMP_MAX_DEVICES], peak_bytes[EMP_MAX_DEVICES];
} emp_validation_case;

/** Fills what was measured, and clears the rest. */
void emp_validation_case_measured(emp_validation_case *out, const char *name,
                                  const emp_replay_result *measured);
/** Fills what the simulator says; the device count is there already. */
void emp_validation_case_predicted(emp_validation_case  *out,
                                   const emp_sim_result *predicted);

/** Multiplies all times of a case that were measured. */
void emp_validation_case_rescale(emp_validation_case *c, double factor);

/** Which graph and which placement: all that a measurement depends on but the computer. O(V). */
uint64_t emp_validation_hash(const emp_graph *graph, const emp_device_id *device_of_op);

/** How far the quartiles of the steps are apart, of the median; 0 of a step that does not fit. */
double emp_validation_spread(const emp_validation_case *c);

/** Makes one case of each placement of several rounds: the median of the measured times, of all that is measured, with the
 * quartiles of rounds; the schedule's part of the error is the median of rounds, too. A placement fits if it did in each round.
 * \param cases      [*count] a round after the other, the last one perhaps not whole; the first \a placements of it are
 *                   replaced
 * \param count      receives the number of placements
 * \param noise_frac receives the mean of |measured / median - 1| of all rounds of placements that fit; NaN of none
 * \retval EMP_ENOMEM  O(*count log *count). */
emp_status emp_validation_pool(double *noise_frac, emp_validation_case *cases,
                               int32_t *count, int32_t placements, emp_error *err);

/** NaN where there is nothing to compare. */
typedef struct {
    int32_t
        timed_count; /**< cases that fit, predicted and measured, and share no hardware */
    int32_t shared_count; /**< that fit, and share */
    double
        shared_error_frac; /**< mean of |error| of these: a machine may know of sharing */
    double  mean_abs_error_frac; /**< of step times; MAPE / 100 */
    double  bias_frac;           /**< mean error, with its sign */
    double  worst_error_frac;    /**< the one farthest from 0, with its sign */
    double  spearman, kendall;   /**< of step times */
    double  least_s, most_s;     /**< measured */
    double  constant_s;          /**< the one guess for all that is least wrong */
    double  constant_error_frac; /**< its mean of |error| */
    double  scale;               /**< the one factor that makes predictions least wrong */
    double  scaled_error_frac;   /**< mean of |error| of predictions times it */
    double  roofline_error_frac; /**< likewise, of the roofline */
    double  roofline_spearman, copies_spearman;
    int32_t scheduled_count;     /**< timed cases whose scheduled_s is known */
    double  kernel_error_frac;   /**< of these, mean of |predicted / scheduled - 1| */
    double  schedule_error_frac; /**< mean of |scheduled / measured - 1| */
    double  schedule_bias_frac;  /**< mean of that with its sign */
    double
            repeat_error_frac; /**< for the caller: how far placements that were measured again are apart; NaN: none was */
    int32_t unsteady_count;    /**< cases that fit and are not steady, timed or not */
    double  worst_spread;      /**< of these and all others */
    int32_t apart_count;       /**< pairs of steps that are apart, as measured */
    int32_t apart_in_order;    /**< of these, predicted in the same order */
    double  busy_error_frac;   /**< mean of |error|, devices weighted by measured time */
    double  peak_error_frac;   /**< mean of |error| of peaks that count */
    double  worst_peak_error_frac;
    int32_t both_fit, both_oom, missed_oom, false_oom; /**< missed: predicted to fit */
} emp_validation_summary;

/** O(count^2). \retval EMP_EINVAL  A measured time is not above 0. */
emp_status emp_validation_summarize(emp_validation_summary    *out,
                                    const emp_validation_case *cases, int32_t count,
                                    emp_error *err);

enum { EMP_VALIDATION_TYPE_BYTES = 48, EMP_VALIDATION_TYPES = 256 };

/** All ops of one type, over all cases. */
typedef struct {
    char    type[EMP_VALIDATION_TYPE_BYTES];
    int64_t count;
    double  predicted_s, measured_s; /**< sums */
} emp_validation_type;

/** Zero-initialise. */
typedef struct {
    int32_t             count;
    emp_validation_type type[EMP_VALIDATION_TYPES];
} emp_validation_types;

/** Adds what one executed step says of ops: \a op_s of a result of a plan that was made
 * from this problem and placement. Ops that were not timed are left out.
 * \param factor  Multiplies the measured times, as in emp_validation_case_rescale().
 * \retval EMP_EINVAL  The result has another number of ops. */
emp_status emp_validation_add_ops(emp_validation_types *types, const emp_problem *problem,
                                  const emp_device_id     *device_of_op,
                                  const emp_replay_result *measured, double factor,
                                  emp_error *err);

/** Longest measured first. */
void emp_validation_sort_types(emp_validation_types *types);

/* Predictions of a step without simulating it: the guesses that a prediction must beat. */

/** The one factor f for all guesses that makes them least wrong: the least mean of
 * |f guess / measured - 1|, which \a error_frac receives; NaN of none. With guesses of 1 s it is
 * the best constant. The mean is convex and straight between the factors that make one guess
 * right, so the best f is one of them. Times are above 0. O(count^2). */
double emp_guess_scale(double *error_frac, const double *guess_s,
                       const double *measured_s, int32_t count);

/** A roofline: of each device, its ops' FLOPs / peak + bytes / bandwidth; of these the longest.
 * It knows the machine's rates, and nothing of kernels, order, copies and the runtime. O(V). */
double emp_guess_roofline_s(const emp_problem   *problem,
                            const emp_device_id *device_of_op);

/** The time of all copies on their links, one after the other: latency + bytes / bandwidth of each.
 * With --keep-rates it is what copies sleep. O(copies). */
double emp_guess_copies_s(const emp_replay_plan *plan);

/* Whether a step was predicted wrong because of its kernels or because of their schedule.
 *
 *     EMP_TRY(emp_validation_schedule(&c.scheduled_s, problem, device_of_op, measured, err));
 *
 * The step is simulated once more with what its own ops took. Its difference from the first prediction is due to the
 * times of kernels, and its difference from the measured step to all else: order, overlap, copies, the host's work. */

/** \param step_s  NaN: the step does not fit, predicted or measured, or no op was timed.
 * \retval EMP_EINVAL  The result has another number of ops. \retval EMP_ENOMEM */
emp_status emp_validation_schedule(double *step_s, const emp_problem *problem,
                                   const emp_device_id     *device_of_op,
                                   const emp_replay_result *measured, emp_error *err);

/* validation_sheet.c: validations as tables, a line for each device of each placement, which is also the record of
 * what was measured, and a line for each workload. */

enum { EMP_VALIDATION_SPEC_BYTES = 256 };

/** Where all lines of a table come from. */
typedef struct {
    const char *machine, *runtime, *backend;
} emp_validation_origin;

/** An empty table of the placements of one workload. */
void emp_validation_sheet_init(emp_sheet *sheet, const char *workload);
/** A line a device. */
void emp_validation_sheet_add(emp_sheet *sheet, const char *workload,
                              const emp_validation_origin *origin,
                              const emp_validation_case   *c);

/** An empty table of workloads. */
void emp_validation_summary_init(emp_sheet *sheet);
void emp_validation_summary_add(emp_sheet *sheet, const char *workload,
                                const emp_validation_origin  *origin,
                                const emp_validation_summary *summary);

/** The measurements of one placement, without any prediction. */
typedef struct {
    char                workload[EMP_VALIDATION_SPEC_BYTES];
    emp_validation_case c;
} emp_validation_measured;

/** Zero-initialise; emp_validation_record_clear() releases it, also after a failure. */
typedef struct {
    int32_t                  count;
    emp_validation_measured *measured;
} emp_validation_record;

/** Reads what was measured from a table of placements, as CSV. Columns of predictions are not
 * looked at.
 * \retval EMP_EIO \retval EMP_EFORMAT  The message names the row and the column. */
emp_status emp_validation_record_load(emp_validation_record *record, const char *path,
                                      emp_error *err);
void       emp_validation_record_clear(emp_validation_record *record);

/** The measurement of a placement; NULL = there is none of that name and \a hash. */
const emp_validation_case *emp_validation_record_find(const emp_validation_record *record,
                                                      const char *workload,
                                                      const char *name, uint64_t hash);

/* A list of sheets as a table in HDF5 (run/store/checkpoint.h). The columns are the CSV's, one
 * after the other, except the origin's, which are texts, and the first, which names the
 * sheet: it holds the sheet's number. Whole
 * numbers, flags and hashes are int64, -1 where there is none; a range is two columns more.
 * Texts: the caller's, version, commit, and the names of the sheets, "workload 0", ... */

enum { EMP_VALIDATION_PARTS = 16 };

/** \retval EMP_ENOMEM \retval EMP_EIO \retval EMP_EINVAL  More than EMP_VALIDATION_PARTS
 * sheets, or no line at all. */
emp_status emp_validation_save(const char *path, const emp_sheet *sheets,
                               const emp_validation_origin *origin, emp_error *err);

#endif /* EMP_BENCH_VALIDATE_VALIDATE_H */
