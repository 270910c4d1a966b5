// SPDX-License-Identifier: GPL-3.0-or-later
/* Functions that the types share: errors, the release of objects, and arrays out of the library and into it, by Python's
 * buffers. */
#include <stdint.h>
#include <string.h>

#include "python/src/extension.h"

/* ---- types, errors, objects ---- */

PyTypeObject *emp_py_graph_type, *emp_py_machine_type, *emp_py_problem_type;

PyObject *emp_py_error_type;

static const char *name_of(emp_status status)
{
    switch (status) {
#define X(name, value, text) \
    case name: return #name;
        EMP_STATUS_LIST(X)
#undef X
    default: return "unknown";
    }
}

PyObject *emp_py_raise(const emp_error *err)
{
    if (err->status == EMP_ENOMEM) return PyErr_NoMemory();

    const char *text = err->msg[0] != '\0' ? err->msg : emp_status_str(err->status);
    PyObject   *error = PyObject_CallFunction(emp_py_error_type, "s", text);
    PyObject   *status = PyUnicode_FromString(name_of(err->status));
    if (error != NULL && status != NULL &&
        PyObject_SetAttrString(error, "status", status) == 0)
        PyErr_SetObject(emp_py_error_type, error);
    Py_XDECREF(status);
    Py_XDECREF(error);
    return NULL;
}

void emp_py_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc      release = (freefunc)PyType_GetSlot(type, Py_tp_free);

    release(self);
    Py_DECREF(type);
}

/* ---- out ---- */

static Py_ssize_t size_of(char format)
{
    switch (format) {
    case 'B':
    case '?': return 1;
    case 'i':
    case 'I': return 4;
    default: return 8; /* q, d */
    }
}

PyObject *emp_py_array(char format, Py_ssize_t rows, Py_ssize_t columns, const void *data,
                       void **items)
{
    const Py_ssize_t count = columns == 0 ? rows : rows * columns;
    const Py_ssize_t bytes = count * size_of(format);
    PyObject        *buffer = PyByteArray_FromStringAndSize(NULL, bytes);
    PyObject        *module = NULL, *array = NULL;

    if (buffer == NULL) return NULL;
    void *to = PyByteArray_AsString(buffer);
    if (data != NULL)
        memcpy(to, data, (size_t)bytes);
    else
        memset(to, 0, (size_t)bytes);
    if (items != NULL) *items = to;
    module = PyImport_ImportModule("emplace._arrays");
    if (module != NULL)
        array = columns == 0 ? PyObject_CallMethod(module, "make", "OC(n)", buffer,
                                                   (int)format, rows)
                             : PyObject_CallMethod(module, "make", "OC(nn)", buffer,
                                                   (int)format, rows, columns);
    Py_XDECREF(module);
    Py_DECREF(buffer);
    return array;
}

/* ---- in ---- */

int emp_py_reserve_rows(emp_py_rows *rows, Py_ssize_t count, Py_ssize_t length)
{
    if (count > 0 && length > PTRDIFF_MAX / (Py_ssize_t)sizeof(int32_t) / count) {
        PyErr_NoMemory();
        return -1;
    }
    if (count * length > rows->capacity) {
        int32_t *moved = PyMem_Realloc(rows->item, (size_t)(count * length) * 4);
        if (moved == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        rows->item = moved;
        rows->capacity = count * length;
    }
    rows->count = count;
    rows->length = length;
    return 0;
}

static int refuse_length(const char *what, Py_ssize_t length, Py_ssize_t wanted)
{
    PyErr_Format(PyExc_ValueError, "%s: a row has %zd numbers; it must have %zd", what,
                 length, wanted);
    return -1;
}

/* Letter of the items of a buffer in this machine's order, or 0. */
static char letter_of(const char *format)
{
    if (format == NULL) return 'B';
    if (*format == '<' || *format == '=' || *format == '@') format++;
    return format[0] != '\0' && format[1] == '\0' ? format[0] : '\0';
}

static int64_t item_at(const char *at, Py_ssize_t size, int is_signed)
{
    int8_t  byte;
    int16_t half;
    int32_t word;
    int64_t whole;

    switch (size) {
    case 1: return memcpy(&byte, at, 1), is_signed ? byte : (uint8_t)byte;
    case 2: return memcpy(&half, at, 2), is_signed ? half : (uint16_t)half;
    case 4: return memcpy(&word, at, 4), is_signed ? word : (int64_t)(uint32_t)word;
    default: return memcpy(&whole, at, 8), whole;
    }
}

/* Refuses items that are no integers in this machine's order. */
static int check_items(const Py_buffer *view, const char *what)
{
    const char letter = letter_of(view->format);

    if (letter != '\0' && strchr("bBhHiIlLqQ?", letter) != NULL && view->itemsize <= 8)
        return 0;
    PyErr_Format(PyExc_TypeError, "%s: items are of format \"%s\", not integers", what,
                 view->format);
    return -1;
}

/* Copies a row whose items lie `stride` bytes apart. */
static int copy_items(int32_t *to, const char *from, Py_ssize_t count, Py_ssize_t stride,
                      const Py_buffer *view, const char *what)
{
    const char letter = letter_of(view->format);
    const int  is_signed = strchr("bhilq", letter) != NULL;

    if (is_signed && view->itemsize == 4 && stride == 4) {
        memcpy(to, from, (size_t)count * 4);
        return 0;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        const int64_t value = item_at(from + i * stride, view->itemsize, is_signed);
        if (value < INT32_MIN || value > INT32_MAX) {
            PyErr_Format(PyExc_ValueError, "%s: %lld is no device", what,
                         (long long)value);
            return -1;
        }
        to[i] = (int32_t)value;
    }
    return 0;
}

static int read_buffer(emp_py_rows *rows, const Py_buffer *view, Py_ssize_t length,
                       const char *what)
{
    if (view->ndim != 1 && view->ndim != 2) {
        PyErr_Format(PyExc_ValueError, "%s: an array has one or two dimensions, not %d",
                     what, view->ndim);
        return -1;
    }
    const Py_ssize_t last = view->shape[view->ndim - 1];
    const Py_ssize_t stride = view->strides[view->ndim - 1];
    rows->is_one = view->ndim == 1;
    if (length == EMP_PY_ANY_LENGTH) length = last;
    if (last != length) return refuse_length(what, last, length);
    if (check_items(view, what) != 0 ||
        emp_py_reserve_rows(rows, rows->is_one ? 1 : view->shape[0], length) != 0)
        return -1;
    for (Py_ssize_t i = 0; i < rows->count; i++) {
        const char *from = (const char *)view->buf;
        if (!rows->is_one) from += i * view->strides[0];
        if (copy_items(rows->item + i * length, from, length, stride, view, what) != 0)
            return -1;
    }
    return 0;
}

static int read_number(int32_t *to, PyObject *number, const char *what)
{
    const long long value = PyLong_AsLongLong(number);

    if (value == -1 && PyErr_Occurred() != NULL) return -1;
    if (value < INT32_MIN || value > INT32_MAX) {
        PyErr_Format(PyExc_ValueError, "%s: %lld is no device", what, value);
        return -1;
    }
    *to = (int32_t)value;
    return 0;
}

/* One row out of a sequence of numbers. */
static int read_numbers(int32_t *to, PyObject *sequence, Py_ssize_t length,
                        const char *what)
{
    const Py_ssize_t found = PySequence_Size(sequence);

    if (found < 0) return -1;
    if (found != length) return refuse_length(what, found, length);
    for (Py_ssize_t i = 0; i < length; i++) {
        PyObject *number = PySequence_GetItem(sequence, i);
        int       code = number == NULL ? -1 : read_number(&to[i], number, what);
        Py_XDECREF(number);
        if (code != 0) return -1;
    }
    return 0;
}

static int read_row(int32_t *to, PyObject *row, Py_ssize_t length, const char *what)
{
    Py_buffer view;

    if (!PyObject_CheckBuffer(row)) return read_numbers(to, row, length, what);
    if (PyObject_GetBuffer(row, &view, PyBUF_RECORDS_RO) != 0) return -1;
    int code = view.ndim == 1 && view.shape[0] == length
                   ? check_items(&view, what)
                   : refuse_length(what, view.ndim == 1 ? view.shape[0] : 0, length);
    if (code == 0)
        code =
            copy_items(to, (const char *)view.buf, length, view.strides[0], &view, what);
    PyBuffer_Release(&view);
    return code;
}

static int read_sequence(emp_py_rows *rows, PyObject *object, Py_ssize_t length,
                         const char *what)
{
    const Py_ssize_t count = PySequence_Size(object);
    PyObject        *first = NULL;

    if (count < 0) return -1;
    if (count > 0 && (first = PySequence_GetItem(object, 0)) == NULL) return -1;
    rows->is_one = first != NULL && PyIndex_Check(first) && !PySequence_Check(first);
    if (length == EMP_PY_ANY_LENGTH)
        length = rows->is_one ? count : first != NULL ? PyObject_Size(first) : 0;
    Py_XDECREF(first);
    if (length < 0) return -1;
    if (emp_py_reserve_rows(rows, rows->is_one ? 1 : count, length) != 0) return -1;
    if (rows->is_one) return read_numbers(rows->item, object, length, what);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *row = PySequence_GetItem(object, i);
        int       code =
            row == NULL ? -1 : read_row(rows->item + i * length, row, length, what);
        Py_XDECREF(row);
        if (code != 0) return -1;
    }
    return 0;
}

int emp_py_read_rows(emp_py_rows *rows, PyObject *object, Py_ssize_t length,
                     const char *what)
{
    Py_buffer view;

    if (!PyObject_CheckBuffer(object)) return read_sequence(rows, object, length, what);
    if (PyObject_GetBuffer(object, &view, PyBUF_RECORDS_RO) != 0) return -1;
    int code = read_buffer(rows, &view, length, what);
    PyBuffer_Release(&view);
    return code;
}
