/** \file graphs/import/node_devices.h
 * The devices that the nodes of a TensorFlow graph file name: reading them, and writing the file
 * again with others. Nothing else of the file is looked at or changed.
 */
#ifndef EMP_GRAPHS_IMPORT_NODE_DEVICES_H
#define EMP_GRAPHS_IMPORT_NODE_DEVICES_H

#include "graphs/import/proto/wire.h"
#include "sim/graph/graph.h"

/** The kind of a file, by its content. */
typedef enum {
    EMP_NODES_NONE, /**< no TensorFlow graph, or no file that can be read */
    EMP_NODES_BINARY,
    EMP_NODES_TEXT
} emp_nodes_syntax;

emp_nodes_syntax emp_nodes_syntax_of(const char *path);
/** The same of a file in memory, unpacked. */
emp_nodes_syntax emp_nodes_syntax_in(const char *bytes, size_t size);

/** Calls \a visit with the name and the device ("" = none) of each node, in the order of the
 * file. O(bytes of the file).
 * \retval EMP_EIO, EMP_EFORMAT, EMP_ENOMEM  As emp_import_load(); else the status of visit. The message
 * names the file. */
emp_status emp_nodes_each_device(const char *path,
                                 emp_status (*visit)(void *context, emp_slice name,
                                                     emp_slice device, emp_error *err),
                                 void *context, emp_error *err);

/** The same of a file in memory, unpacked, that messages call \a path. */
emp_status emp_nodes_each_device_in(const char *bytes, size_t size, const char *path,
                                    emp_status (*visit)(void *context, emp_slice name,
                                                        emp_slice device, emp_error *err),
                                    void *context, emp_error *err);

/** The device that a node is to have; "" = none. It must be plain ASCII without quotes. */
typedef const char *emp_nodes_device_of(const void *context, emp_slice name);

/** Writes the file at \a path to \a out, of the same syntax and not compressed, with the devices
 * that \a device_of gives. Every byte that is no device, or the length of what holds one, stays.
 * O(bytes of the file).
 * \retval EMP_EIO, EMP_EFORMAT, EMP_ENOMEM  The message names the file. */
emp_status emp_nodes_write(const char *path, const char *out,
                           emp_nodes_device_of *device_of, const void *context,
                           emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_NODE_DEVICES_H */
