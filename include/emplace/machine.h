/** \file emplace/machine.h
 * Devices and what joins them, and the runtime that drives them.
 *
 * Machines and runtimes are YAML files. A name, "k40x2", is looked up in machines/ or runtimes/ of
 * the data folder; a text with a slash or that ends in .yaml is a path. The data folder is the
 * environment's EMPLACE_DATA, else share/emplace beside the folder of the library or the program.
 * "giph:devices=20,seed=1" is a machine that is drawn at random, docs/models.md.
 *
 * Queries take O(1). A query with a machine that is NULL, or a device that the machine does not
 * have, gives NULL, 0 or -1.
 *
 * Threads. A machine and a runtime do not change, so threads may share them.
 */
#ifndef EMP_EMPLACE_MACHINE_H
#define EMP_EMPLACE_MACHINE_H

#include <stdint.h>

#include <emplace/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t emp_device_id; /**< dense, 0 .. device count - 1; -1 = none */
typedef int64_t emp_time_ns;   /**< simulated time in nanoseconds */

typedef enum { EMP_DEVICE_CPU, EMP_DEVICE_GPU } emp_device_kind;

typedef struct emp_machine emp_machine;
typedef struct emp_runtime emp_runtime;

/** Loads a machine by name or path.
 * \param[out] out  The caller's, who destroys it; NULL after a failure.
 * \retval EMP_EIO      No such machine, or no data folder; the message says where it was sought.
 * \retval EMP_EFORMAT  The message names the file, the line, the key and what is expected.
 * \retval EMP_EINVAL, EMP_ENOMEM */
EMP_API emp_status emp_machine_load(emp_machine **out, const char *name_or_path,
                                    emp_error *err);

/** A machine for graphs with costs of their own: \a cpu_count CPUs and \a gpu_count GPUs, all with the
 * first CPU as their host. Each GPU has \a gpu_memory_bytes of memory. Links carry 2^31 B/s.
 * \retval EMP_EUNSUPPORTED  No CPU, a negative number, or more than 64 devices in all.
 * \retval EMP_EINVAL, EMP_ENOMEM */
EMP_API emp_status emp_machine_create(emp_machine **out, const char *name,
                                      int32_t cpu_count, int32_t gpu_count,
                                      int64_t gpu_memory_bytes, emp_error *err);

/** Releases \a machine; NULL is allowed. Problems on it must be destroyed before. */
EMP_API void emp_machine_destroy(emp_machine *machine);

EMP_API int32_t emp_machine_device_count(const emp_machine *machine);
/** "cpu:0", "gpu:1"; borrowed from the machine. */
EMP_API const char *emp_machine_device_name(const emp_machine *machine,
                                            emp_device_id      device);
/** EMP_DEVICE_CPU also for a device that is not there. */
EMP_API emp_device_kind emp_machine_device_kind(const emp_machine *machine,
                                                emp_device_id      device);
/** Bytes that a step can allocate there. */
EMP_API int64_t emp_machine_device_memory_bytes(const emp_machine *machine,
                                                emp_device_id      device);
/** The device of that name, or -1. O(devices). */
EMP_API emp_device_id emp_machine_find(const emp_machine *machine, const char *name);
/** Nanoseconds that a copy of \a bytes takes by itself on the links between two devices; 0 from a
 * device to itself. */
EMP_API emp_time_ns emp_machine_copy_time_ns(const emp_machine *machine,
                                             emp_device_id from, emp_device_id to,
                                             int64_t bytes);

/** Loads a runtime profile by path or by name, such as "tf-r1.3" or "torch-eager"; docs/machines.md lists them.
 * \param[out] out  The caller's, who destroys it; NULL after a failure.
 * \retval EMP_EIO      No such profile; the message lists the known ones.
 * \retval EMP_EFORMAT  The message names the file, the line, the key and what is expected.
 * \retval EMP_EINVAL, EMP_ENOMEM */
EMP_API emp_status emp_runtime_load(emp_runtime **out, const char *name_or_path,
                                    emp_error *err);

/** NULL is allowed. Problems keep a copy. */
EMP_API void emp_runtime_destroy(emp_runtime *runtime);

#ifdef __cplusplus
}
#endif

#endif /* EMP_EMPLACE_MACHINE_H */
