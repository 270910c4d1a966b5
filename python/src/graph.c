// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace.Graph. */
#include <string.h>

#include "python/src/extension.h"

static PyObject *create(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"spec_or_path", NULL};
    const char  *spec;
    emp_graph   *graph;
    emp_error    err = {0};
    emp_status   st;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s", names, &spec)) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    st = emp_graph_load(&graph, spec, &err);
    Py_END_ALLOW_THREADS;
    if (st != EMP_OK) return emp_py_raise(&err);
    emp_py_graph *self = (emp_py_graph *)PyType_GenericAlloc(type, 0);
    if (self == NULL)
        emp_graph_destroy(graph);
    else
        self->graph = graph;
    return (PyObject *)self;
}

static void destroy(PyObject *self)
{
    emp_graph_destroy(((emp_py_graph *)self)->graph);
    emp_py_free(self);
}

static const emp_graph *graph_of(PyObject *self) { return ((emp_py_graph *)self)->graph; }

static PyObject *get_default_runtime(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(emp_graph_default_runtime(graph_of(self)));
}

static PyObject *get_op_count(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(emp_graph_op_count(graph_of(self)));
}

/* A list of one text for each op. */
static PyObject *list_texts(const emp_graph *graph,
                            const char *(*text_of)(const emp_graph *, emp_op_id))
{
    const int32_t ops = emp_graph_op_count(graph);
    PyObject     *list = PyList_New(ops);

    for (emp_op_id op = 0; list != NULL && op < ops; op++) {
        PyObject *text = PyUnicode_DecodeUTF8(
            text_of(graph, op), (Py_ssize_t)strlen(text_of(graph, op)), "replace");
        if (text == NULL || PyList_SetItem(list, op, text) != 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *get_names(PyObject *self, void *unused)
{
    (void)unused;
    return list_texts(graph_of(self), emp_graph_op_name);
}

static PyObject *get_types(PyObject *self, void *unused)
{
    (void)unused;
    return list_texts(graph_of(self), emp_graph_op_type);
}

EMP_PY_ITEMS(get_flops, emp_py_graph, emp_graph_op_count(self->graph), 0, 'd', double,
             emp_graph_op_flops(self->graph, row))

EMP_PY_ITEMS(get_persistent_bytes, emp_py_graph, emp_graph_op_count(self->graph), 0, 'q',
             int64_t, emp_graph_op_persistent_bytes(self->graph, row))

EMP_PY_ITEMS(get_is_folded, emp_py_graph, emp_graph_op_count(self->graph), 0, '?', bool,
             emp_graph_op_is_folded(self->graph, row))

static PyObject *get_order(PyObject *self, void *unused)
{
    const emp_graph *graph = graph_of(self);

    (void)unused;
    return emp_py_array('i', emp_graph_op_count(graph), 0, emp_graph_order(graph), NULL);
}

/* ---- edges ---- */

static Py_ssize_t count_edges(const emp_graph *graph, int has_data, int has_controls)
{
    Py_ssize_t sum = 0;
    int32_t    count = 0;

    for (emp_op_id op = 0; op < emp_graph_op_count(graph); op++) {
        if (has_data && emp_graph_inputs(graph, op, &count) != NULL) sum += count;
        if (has_controls && emp_graph_controls(graph, op, &count) != NULL) sum += count;
    }
    return sum;
}

static PyObject *get_edges(PyObject *self, void *unused)
{
    const emp_graph *graph = graph_of(self);
    void            *items;

    (void)unused;
    PyObject *array = emp_py_array('i', count_edges(graph, 1, 0), 2, NULL, &items);
    int32_t  *edge = items;
    for (emp_op_id op = 0; array != NULL && op < emp_graph_op_count(graph); op++) {
        int32_t              count = 0;
        const emp_tensor_id *input = emp_graph_inputs(graph, op, &count);
        for (int32_t i = 0; i < count; i++) {
            *edge++ = emp_graph_tensor_producer(graph, input[i]);
            *edge++ = op;
        }
    }
    return array;
}

static PyObject *get_edge_bytes(PyObject *self, void *unused)
{
    const emp_graph *graph = graph_of(self);
    void            *items;

    (void)unused;
    PyObject *array = emp_py_array('q', count_edges(graph, 1, 0), 0, NULL, &items);
    int64_t  *bytes = items;
    for (emp_op_id op = 0; array != NULL && op < emp_graph_op_count(graph); op++) {
        int32_t              count = 0;
        const emp_tensor_id *input = emp_graph_inputs(graph, op, &count);
        for (int32_t i = 0; i < count; i++)
            *bytes++ = emp_graph_tensor_bytes(graph, input[i]);
    }
    return array;
}

static PyObject *get_controls(PyObject *self, void *unused)
{
    const emp_graph *graph = graph_of(self);
    void            *items;

    (void)unused;
    PyObject *array = emp_py_array('i', count_edges(graph, 0, 1), 2, NULL, &items);
    int32_t  *edge = items;
    for (emp_op_id op = 0; array != NULL && op < emp_graph_op_count(graph); op++) {
        int32_t          count = 0;
        const emp_op_id *before = emp_graph_controls(graph, op, &count);
        for (int32_t i = 0; i < count; i++) {
            *edge++ = before[i];
            *edge++ = op;
        }
    }
    return array;
}

static PyObject *find(PyObject *self, PyObject *name)
{
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);

    return text == NULL ? NULL : PyLong_FromLong(emp_graph_find(graph_of(self), text));
}

static PyGetSetDef getters[] = {
    {"default_runtime", get_default_runtime, NULL,
     "Name of the runtime profile that fits where the graph comes from.", NULL},
    {"op_count", get_op_count, NULL, "Number of ops.", NULL},
    {"names", get_names, NULL, "Name of each op.", NULL},
    {"types", get_types, NULL, "Type of each op.", NULL},
    {"flops", get_flops, NULL, "Floating-point operations of each op, float64.", NULL},
    {"persistent_bytes", get_persistent_bytes, NULL,
     "Bytes that each op holds for the whole step, int64.", NULL},
    {"is_folded", get_is_folded, NULL,
     "Whether each op is a constant that is computed before the step.", NULL},
    {"order", get_order, NULL, "Ops, each after those that it waits for, int32.", NULL},
    {"edges", get_edges, NULL,
     "Producer and reader of each input, in the order of readers, int32 [edges, 2].",
     NULL},
    {"edge_bytes", get_edge_bytes, NULL, "Bytes that each of edges carries, int64.",
     NULL},
    {"controls", get_controls, NULL,
     "Ops that wait without reading: [before, after], int32 [controls, 2].", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef methods[] = {
    {"find", find, METH_O, "find(name): the op of that name, or -1."},
    {NULL, NULL, 0, NULL}};

EMP_PY_TYPE(graph, "Graph", emp_py_graph, "Graph(spec_or_path): see emplace.Graph.");
