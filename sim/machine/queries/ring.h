/** \file sim/machine/queries/ring.h
 * How fast devices of a machine exchange data in a collective. A ring goes as fast as its slowest hop; where each pair
 * has links of its own, a device uses all of them at once. Functions read the machine only.
 */
#ifndef EMP_SIM_MACHINE_QUERIES_RING_H
#define EMP_SIM_MACHINE_QUERIES_RING_H

#include "sim/machine/machine.h"

/** Seconds = latency + bytes that a GPU sends / rate. */
typedef struct {
    double bytes_per_s, latency_s;
} emp_link_rate;

/** Some devices of a machine. */
typedef struct {
    emp_device_id id[EMP_MAX_DEVICES];
    int32_t       count;
} emp_device_list;

/** All GPUs of a machine, in its order. */
emp_device_list emp_ring_gpus(const emp_machine *machine);

/** Pairs of devices, a bit each. */
enum { EMP_PAIRS_OF_ONE_HOST = 1, EMP_PAIRS_OF_TWO_HOSTS = 2, EMP_PAIRS_ALL = 3 };

/** The lowest rate and the highest latency of the routes between such pairs. The rate is INFINITY if no pair has a route.
 * O(count^2). */
emp_link_rate emp_ring_slowest(const emp_machine *machine, const emp_device_list *devices,
                               unsigned pairs);

/** Whether the routes between the devices of each host have links that no other pair of them uses, and carry both
 * directions at once: as XGMI joins eight MI300X. O(count^2 links of a route). */
bool emp_ring_is_mesh(const emp_machine *machine, const emp_device_list *devices);

/** The most devices of the list that are in one host. O(count). */
int32_t emp_ring_most_near(const emp_machine *machine, const emp_device_list *devices);

/** The greatest common divisor of the numbers of devices in each host: consecutive groups of so many lie in one host each.
 * O(count). */
int32_t emp_ring_common_near(const emp_machine *machine, const emp_device_list *devices);

/** Whether collectives that were measured with an all-to-all of the rate \a measured hold on links of the rate \a bytes_per_s:
 * an all-to-all goes as fast as the links, and half as fast is assumed to be near enough. */
static inline bool emp_ring_is_as_measured(double bytes_per_s, double measured)
{
    return bytes_per_s >= 0.5 * measured;
}

#endif /* EMP_SIM_MACHINE_QUERIES_RING_H */
