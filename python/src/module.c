// SPDX-License-Identifier: GPL-3.0-or-later
/* The module: its types, its exception, random streams. */
#include "python/src/extension.h"

/* ---- random streams ---- */

typedef struct {
    unsigned long long seed, first;
    unsigned int       stream, substream;
    Py_ssize_t         count;
} stream_args;

static int check_count(const stream_args *args)
{
    if (args->count >= 0) return 0;
    PyErr_SetString(PyExc_ValueError, "count is negative");
    return -1;
}

static PyObject *random_words(PyObject *module, PyObject *args)
{
    stream_args s;
    void       *word;

    (void)module;
    if (!PyArg_ParseTuple(args, "KIIKn", &s.seed, &s.stream, &s.substream, &s.first,
                          &s.count) ||
        check_count(&s) != 0)
        return NULL;
    PyObject *array = emp_py_array('I', s.count, 0, NULL, &word);
    if (array != NULL)
        emp_random_words(word, s.count, s.seed, s.stream, s.substream, s.first);
    return array;
}

/* As <emplace/random.h> says how the program makes numbers below a bound. */
static void fill_below(int64_t *number, stream_args *s, uint32_t bound)
{
    enum { BLOCK = 64 };
    const uint32_t reject_below = (0u - bound) % bound;
    uint32_t       word[BLOCK];

    for (Py_ssize_t i = 0; i < s->count;) {
        Py_ssize_t wanted = s->count - i < BLOCK ? s->count - i : BLOCK;
        emp_random_words(word, wanted, s->seed, s->stream, s->substream, s->first);
        for (Py_ssize_t w = 0; w < wanted; w++, s->first++) {
            const uint64_t product = (uint64_t)word[w] * bound;
            if ((uint32_t)product >= reject_below) number[i++] = (int64_t)(product >> 32);
        }
    }
}

static PyObject *random_below(PyObject *module, PyObject *args)
{
    stream_args  s;
    unsigned int bound;
    void        *number;

    (void)module;
    if (!PyArg_ParseTuple(args, "KIIKnI", &s.seed, &s.stream, &s.substream, &s.first,
                          &s.count, &bound) ||
        check_count(&s) != 0)
        return NULL;
    if (bound == 0) {
        PyErr_SetString(PyExc_ValueError, "bound is 0; it must be at least 1");
        return NULL;
    }
    PyObject *array = emp_py_array('q', s.count, 0, NULL, &number);
    if (array == NULL) return NULL;
    fill_below(number, &s, bound);
    return Py_BuildValue("NK", array, s.first);
}

static PyObject *version(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyUnicode_FromString(emp_version());
}

static PyMethodDef functions[] = {
    {"random_words", random_words, METH_VARARGS,
     "random_words(seed, stream, substream, first, count): words of a stream"},
    {"random_below", random_below, METH_VARARGS,
     "random_below(seed, stream, substream, first, count, bound): numbers, next word"},
    {"version", version, METH_NOARGS, "version(): of the library"},
    {NULL, NULL, 0, NULL}};

/* ---- the module ---- */

/* Adds a type under its name; keeps it in \a kept unless that is NULL. */
static int add_type(PyObject *module, PyType_Spec *spec, const char *name,
                    PyTypeObject **kept)
{
    PyObject *type = PyType_FromSpec(spec);

    if (type == NULL) return -1;
    if (kept != NULL) {
        Py_INCREF(type);
        *kept = (PyTypeObject *)type;
    }
    int code = PyModule_AddObjectRef(module, name, type);
    Py_DECREF(type);
    return code;
}

static int add_error(PyObject *module)
{
    emp_py_error_type = PyErr_NewExceptionWithDoc(
        "emplace.Error",
        "What the library refuses. str() is its sentence, status the name of its code.",
        NULL, NULL);
    return emp_py_error_type == NULL
               ? -1
               : PyModule_AddObjectRef(module, "Error", emp_py_error_type);
}

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "emplace._emplace",
    .m_doc = "The library, as objects. Programs import emplace.",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__emplace(void);

PyMODINIT_FUNC PyInit__emplace(void)
{
    PyObject *module = PyModule_Create(&definition);

    if (module == NULL) return NULL;
    if (add_error(module) == 0 &&
        add_type(module, &emp_py_graph_spec, "Graph", &emp_py_graph_type) == 0 &&
        add_type(module, &emp_py_machine_spec, "Machine", &emp_py_machine_type) == 0 &&
        add_type(module, &emp_py_problem_spec, "Problem", &emp_py_problem_type) == 0 &&
        add_type(module, &emp_py_oracle_spec, "Oracle", NULL) == 0)
        return module;
    Py_DECREF(module);
    return NULL;
}
