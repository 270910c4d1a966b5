/** \file sim/machine/import/xml.h
 * Elements, attributes and texts of an XML document, one after the other: enough for what lstopo and
 * nvidia-smi write. libhwloc of Debian 12 refuses files of hwloc 3, and cannot read nvidia-smi's.
 *
 *     emp_xml x = {.at = text, .end = text + size, .path = path};
 *     do {
 *         EMP_CHECK(emp_xml_next(&x, err));
 *         if (x.event == EMP_XML_OPEN && emp_slice_is(x.name, "gpu")) ...
 *     } while (x.event != EMP_XML_END);
 *
 * Document types are skipped, and no entities but the five of XML and numbers are known.
 */
#ifndef EMP_SIM_MACHINE_IMPORT_XML_H
#define EMP_SIM_MACHINE_IMPORT_XML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text/text.h"

enum { EMP_XML_DEPTH = 64 };

typedef enum {
    EMP_XML_START, /**< nothing was read */
    EMP_XML_OPEN,  /**< an element begins; `name`, `attributes` */
    EMP_XML_CLOSE, /**< it ends; `name` */
    EMP_XML_TEXT,  /**< between two tags, not blank; `text` */
    EMP_XML_END    /**< of the document */
} emp_xml_event;

/** Set `at`, `end` and `path`; all else is zero. Spans are of the text. */
typedef struct {
    const char   *at, *end;
    const char   *path; /**< for messages; borrowed */
    emp_xml_event event;
    emp_slice     name, attributes, text;
    int32_t       line;  /**< of `at`, less one */
    int32_t       depth; /**< elements that are open, with the one that begins or ends */
    emp_slice     open[EMP_XML_DEPTH]; /**< their names */
    bool          is_empty;            /**< the element that begins has no content */
} emp_xml;

/** Whether a text begins as XML does. */
bool emp_xml_is(const char *text, size_t size);

/** Reads the next event. O(bytes). \retval EMP_EFORMAT  The message names the file and the line. */
emp_status emp_xml_next(emp_xml *xml, emp_error *err);

/** Copies the value of an attribute of the element that begins, as emp_xml_copy().
 * \return false and "" if it has none. */
bool emp_xml_attribute(const emp_xml *xml, const char *name, char *to, size_t size);

/** Copies a text without blanks at its ends and with its entities replaced; all but printable ASCII
 * becomes '?'. */
void emp_xml_copy(char *to, size_t size, emp_slice text);

#endif /* EMP_SIM_MACHINE_IMPORT_XML_H */
