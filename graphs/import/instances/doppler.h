/** \file graphs/import/instances/doppler.h
 * The graphs of DOPPLER (Yao et al., ICLR 2026), as its repository has them in compute_graph/:
 *
 *     112                           nodes in all
 *     0, 1, 2, 3,                   those of them that are inputs
 *     0, 0, 1, 2,                   the ends of edges that read from ...
 *     16, 17, 16, 17,               ... and those that read
 *     1000000000000,4000000000000   of each op: compute, communication and maybe a type
 *     100000000,400000000,squeezer
 *
 * Edges number the ops from 0 and leave inputs out: there are as many lines of ops as nodes that
 * are no inputs. A device takes compute / 10^10 for an op, a message communication / 10^10; the
 * repository names no unit, and we take milliseconds. Nothing is said of bytes or of devices: all
 * are alike, so a CPU takes as long as a GPU, and the published setting is four devices.
 */
#ifndef EMP_GRAPHS_IMPORT_INSTANCES_DOPPLER_H
#define EMP_GRAPHS_IMPORT_INSTANCES_DOPPLER_H

#include "graphs/import/instances/instance.h"
#include "graphs/import/proto/cursor.h"
#include "sim/graph/graph_builder.h"

enum { EMP_DOPPLER_DEVICES = 4 };

/** Whether the file begins as such a graph does: a line with one number, then a list of some. */
bool emp_doppler_is(emp_slice file);

/** Reads a file in memory into \a builder and \a devices. O(V + E).
 * \retval EMP_EFORMAT       The message names the line and what is wrong with it.
 * \retval EMP_EUNSUPPORTED  More nodes or edges than can be read. */
emp_status emp_doppler_read(emp_graph_builder *builder, emp_import_devices *devices,
                            emp_slice file, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_INSTANCES_DOPPLER_H */
