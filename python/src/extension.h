/** \file python/src/extension.h
 * The extension emplace._emplace: Python's stable ABI over <emplace/emplace.h>, and nothing else of
 * the program. Each type holds one handle of the library and what the handle borrows.
 *
 * A function that returns NULL or -1 has set Python's error.
 */
#ifndef EMP_PYTHON_SRC_EXTENSION_H
#define EMP_PYTHON_SRC_EXTENSION_H

#include <Python.h>

#include <emplace/emplace.h>

typedef struct {
    PyObject_HEAD emp_graph *graph;
} emp_py_graph;

typedef struct {
    PyObject_HEAD emp_machine *machine;
} emp_py_machine;

typedef struct {
    PyObject_HEAD emp_problem *problem;
    PyObject    *graph_object, *machine_object; /**< which the problem borrows */
    emp_graph   *graph;                         /**< of these objects */
    emp_machine *machine;
} emp_py_problem;

/** The types, created once with the module. */
extern PyTypeObject *emp_py_graph_type, *emp_py_machine_type, *emp_py_problem_type;

/** emplace.Error */
extern PyObject *emp_py_error_type;

extern PyType_Spec emp_py_graph_spec, emp_py_machine_spec, emp_py_problem_spec,
    emp_py_oracle_spec;

/** Defines the specification of a type by its file's create(), destroy(), getters and methods. */
#define EMP_PY_TYPE(type, type_name, object, doc)                                            \
    static PyType_Slot slots[] = {{Py_tp_new, create},     {Py_tp_dealloc, destroy},         \
                                  {Py_tp_getset, getters}, {Py_tp_methods, methods},         \
                                  {Py_tp_doc, doc},        {0, NULL}};                       \
    PyType_Spec        emp_py_##type##_spec = {.name = "emplace._emplace." type_name,        \
                                               .basicsize = sizeof(object),                  \
                                               .flags =                                      \
                                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, \
                                               .slots = slots}

/* ---- module.c ---- */

/** Raises emplace.Error with the sentence of \a err and its status, MemoryError for EMP_ENOMEM.
 * \return  NULL. */
PyObject *emp_py_raise(const emp_error *err);

/** Frees an object of a type of this module after its own members are released. */
void emp_py_free(PyObject *self);

/* ---- arrays.c ---- */

/** A new array of \a rows x \a columns items, \a columns 0: one dimension; a numpy.ndarray where
 * numpy is installed, else a memoryview. \a format is a letter of the module struct. \a data may
 * be NULL: zeros. \param[out] items  OPTIONAL. Where the items are, to be filled now. */
PyObject *emp_py_array(char format, Py_ssize_t rows, Py_ssize_t columns, const void *data,
                       void **items);

/** Defines a getter that returns such an array of the items \a value, an expression of \a self, \a row and \a column. */
#define EMP_PY_ITEMS(name, object, rows, columns, format, type, value)           \
    static PyObject *name(PyObject *of, void *unused)                            \
    {                                                                            \
        const object *self = (const object *)of;                                 \
        const int32_t row_count = rows, width = columns;                         \
        void         *items;                                                     \
                                                                                 \
        (void)unused;                                                            \
        PyObject *array = emp_py_array(format, row_count, width, NULL, &items);  \
        type     *item = items;                                                  \
        for (int32_t row = 0; array != NULL && row < row_count; row++)           \
            for (int32_t column = 0; column < (width > 0 ? width : 1); column++) \
                *item++ = value;                                                 \
        return array;                                                            \
    }

/** Rows of whole numbers of 32 bits that an argument holds. Zero-initialise; PyMem_Free(item). */
typedef struct {
    int32_t   *item; /**< [count][length] */
    Py_ssize_t count, length;
    Py_ssize_t capacity; /**< items that there is room for */
    int        is_one;   /**< the argument was one row, not an array of rows */
} emp_py_rows;

/** Makes room for \a count rows of \a length and sets both. \return  0, or -1. */
int emp_py_reserve_rows(emp_py_rows *rows, Py_ssize_t count, Py_ssize_t length);

enum { EMP_PY_ANY_LENGTH = -1 };

/** Copies the rows of \a object: a buffer of integers of one or two dimensions, or a sequence of
 * numbers or of rows. All have \a length numbers, or as many as the first for EMP_PY_ANY_LENGTH.
 * \a what names the argument in messages. Keeps the room for the next call.
 * \return  0, or -1. */
int emp_py_read_rows(emp_py_rows *rows, PyObject *object, Py_ssize_t length,
                     const char *what);

#endif /* EMP_PYTHON_SRC_EXTENSION_H */
