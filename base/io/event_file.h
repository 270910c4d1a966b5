/** \file base/io/event_file.h
 * TensorBoard's event files: records of scalars by their step.
 *
 *     emp_event_begin(&event, step, now_s);
 *     emp_event_add(&event, "loss", 0.3);
 *     emp_event_write(file, &event);
 *
 * A file is a sequence of TFRecords: a length, the masked CRC-32C of the length, so many bytes of a message
 * tensorflow.Event, and the masked CRC-32C of these. The first one names the version of the format.
 */
#ifndef EMP_BASE_IO_EVENT_FILE_H
#define EMP_BASE_IO_EVENT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { EMP_EVENT_BYTES = 4096, EMP_EVENT_TAG_BYTES = 128 };

/** The scalars of a step; plain data. */
typedef struct {
    double        wall_s; /**< seconds since 1970 */
    int64_t       step;
    unsigned char byte[EMP_EVENT_BYTES]; /**< of the summary's values */
    size_t        size;
    bool          is_full; /**< some scalars had no room */
} emp_event;

/** Begins the event of a step. \a wall_s: seconds since 1970. */
void emp_event_begin(emp_event *event, int64_t step, double wall_s);
/** Adds a scalar. A tag is cut after EMP_EVENT_TAG_BYTES - 1 bytes. */
void emp_event_add(emp_event *event, const char *tag, double value);
/** \return  Whether all of it was written. */
bool emp_event_write(FILE *file, const emp_event *event);

/** Writes the event with which a file begins. */
bool emp_event_write_version(FILE *file, double wall_s);

/** The offset behind the last whole record of a step up to \a step, from which a file can go on; 0: it is no
 * event file. Reads \a file from its beginning. */
long emp_event_end_of(FILE *file, int64_t step);

#endif /* EMP_BASE_IO_EVENT_FILE_H */
