// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace.Problem. */
#include "python/src/extension.h"

static PyObject *wrap(PyTypeObject *type, emp_problem *problem, PyObject *graph,
                      PyObject *machine)
{
    emp_py_problem *self = (emp_py_problem *)PyType_GenericAlloc(type, 0);

    if (self == NULL) {
        emp_problem_destroy(problem);
        return NULL;
    }
    Py_INCREF(graph);
    Py_INCREF(machine);
    self->problem = problem;
    self->graph_object = graph;
    self->machine_object = machine;
    self->graph = ((emp_py_graph *)graph)->graph;
    self->machine = ((emp_py_machine *)machine)->machine;
    return (PyObject *)self;
}

static PyObject *create(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"graph", "machine", "runtime", "name", NULL};
    const char  *runtime_name, *name;
    PyObject    *graph, *machine;
    emp_runtime *runtime;
    emp_problem *problem;
    emp_error    err = {0};

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!ss", names, emp_py_graph_type,
                                     &graph, emp_py_machine_type, &machine, &runtime_name,
                                     &name))
        return NULL;
    if (emp_runtime_load(&runtime, runtime_name, &err) != EMP_OK)
        return emp_py_raise(&err);
    emp_status st =
        emp_problem_create(&problem, ((emp_py_graph *)graph)->graph,
                           ((emp_py_machine *)machine)->machine, runtime, name, &err);
    emp_runtime_destroy(runtime);
    return st == EMP_OK ? wrap(type, problem, graph, machine) : emp_py_raise(&err);
}

static void destroy(PyObject *object)
{
    emp_py_problem *self = (emp_py_problem *)object;

    emp_problem_destroy(self->problem);
    Py_XDECREF(self->graph_object);
    Py_XDECREF(self->machine_object);
    emp_py_free(object);
}

static PyObject *get_graph(PyObject *self, void *unused)
{
    (void)unused;
    PyObject *graph = ((emp_py_problem *)self)->graph_object;
    Py_INCREF(graph);
    return graph;
}

static PyObject *get_machine(PyObject *self, void *unused)
{
    (void)unused;
    PyObject *machine = ((emp_py_problem *)self)->machine_object;
    Py_INCREF(machine);
    return machine;
}

static PyObject *get_class_count(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(emp_problem_class_count(((emp_py_problem *)self)->problem));
}

EMP_PY_ITEMS(get_class_of_op, emp_py_problem, emp_graph_op_count(self->graph), 0, 'i',
             int32_t, emp_problem_class_of_op(self->problem, row))

EMP_PY_ITEMS(get_op_times, emp_py_problem, emp_graph_op_count(self->graph),
             emp_machine_device_count(self->machine), 'd', double,
             (double)emp_problem_op_time_ns(self->problem, row, column) * 1e-9)

EMP_PY_ITEMS(get_memory_bytes, emp_py_problem, emp_machine_device_count(self->machine), 0,
             'q', int64_t,
             emp_machine_device_memory_bytes(emp_problem_machine(self->problem), row))

EMP_PY_ITEMS(get_allowed, emp_py_problem, emp_graph_op_count(self->graph),
             emp_machine_device_count(self->machine), '?', bool,
             emp_problem_allows(self->problem, row, column))

/* ---- placements ---- */

/* Reads one placement whose numbers are devices; 0, or -1. */
static int read_placement(emp_py_rows *rows, const emp_py_problem *self, PyObject *object)
{
    const int32_t ops = emp_graph_op_count(self->graph);
    const int32_t devices = emp_machine_device_count(self->machine);

    if (emp_py_read_rows(rows, object, ops, "placement") != 0) return -1;
    if (rows->count != 1) {
        PyErr_Format(PyExc_ValueError, "placement: %zd rows, not one", rows->count);
        return -1;
    }
    for (emp_op_id op = 0; op < ops; op++) {
        if (rows->item[op] >= 0 && rows->item[op] < devices) continue;
        PyErr_Format(PyExc_ValueError,
                     "placement: op \"%s\" is on device %d; there are devices 0 to %d",
                     emp_graph_op_name(self->graph, op), rows->item[op], devices - 1);
        return -1;
    }
    return 0;
}

static PyObject *legalize(PyObject *object, PyObject *placement)
{
    const emp_py_problem *self = (emp_py_problem *)object;
    emp_py_rows           rows = {0};
    PyObject             *array = NULL;

    if (read_placement(&rows, self, placement) == 0) {
        emp_problem_legalize(self->problem, rows.item);
        array = emp_py_array('i', rows.length, 0, rows.item, NULL);
    }
    PyMem_Free(rows.item);
    return array;
}

static PyObject *save_placement(PyObject *object, PyObject *args)
{
    const emp_py_problem *self = (emp_py_problem *)object;
    const char           *path;
    PyObject             *placement;
    double                step_time_s;
    emp_py_rows           rows = {0};
    emp_error             err = {0};

    if (!PyArg_ParseTuple(args, "sOd", &path, &placement, &step_time_s)) return NULL;
    emp_status st = EMP_OK;
    int        code = read_placement(&rows, self, placement);
    if (code == 0)
        st = emp_placement_save(path, self->problem, rows.item, step_time_s, &err);
    PyMem_Free(rows.item);
    if (code != 0) return NULL;
    if (st != EMP_OK) return emp_py_raise(&err);
    Py_RETURN_NONE;
}

static PyObject *load_placement(PyObject *object, PyObject *path)
{
    const emp_py_problem *self = (emp_py_problem *)object;
    const char           *text = PyUnicode_AsUTF8AndSize(path, NULL);
    void                 *items;
    emp_error             err = {0};

    if (text == NULL) return NULL;
    PyObject *array = emp_py_array('i', emp_graph_op_count(self->graph), 0, NULL, &items);
    if (array == NULL || emp_placement_load(items, text, self->problem, &err) == EMP_OK)
        return array;
    Py_DECREF(array);
    return emp_py_raise(&err);
}

/* ---- what a wheel lacks, and explanations ---- */

static PyObject *explain(PyObject *object, PyObject *placement)
{
    const emp_py_problem *self = (emp_py_problem *)object;
    emp_py_rows           rows = {0};
    char                  text[EMP_EXPLANATION_BYTES];
    emp_error             err = {0};
    emp_status            st;

    if (read_placement(&rows, self, placement) != 0) {
        PyMem_Free(rows.item);
        return NULL;
    }
    emp_problem_legalize(self->problem, rows.item);
    Py_BEGIN_ALLOW_THREADS;
    st = emp_explain(text, sizeof text, self->problem, rows.item, &err);
    Py_END_ALLOW_THREADS;
    PyMem_Free(rows.item);
    return st == EMP_OK ? PyUnicode_FromString(text) : emp_py_raise(&err);
}

#ifdef EMP_PYTHON_ALONE
static PyObject *refuse(void)
{
    emp_error err = {
        .status = EMP_EUNSUPPORTED,
        .msg = "a wheel is built without METIS, Scotch and GLPK; use the module of a "
               "build tree or of an installed prefix (docs/library.md)"};

    return emp_py_raise(&err);
}

static PyObject *group(PyObject *object, PyObject *args)
{
    (void)object, (void)args;
    return refuse();
}

static PyObject *bound(PyObject *object, PyObject *unused)
{
    (void)object, (void)unused;
    return refuse();
}
#else
static PyObject *group(PyObject *object, PyObject *args)
{
    const emp_py_problem *self = (emp_py_problem *)object;
    const char           *kind;
    int                   count, groups = 0;
    unsigned long long    seed;
    void                 *items;
    emp_error             err = {0};
    emp_status            st;

    if (!PyArg_ParseTuple(args, "siK", &kind, &count, &seed)) return NULL;
    PyObject *array = emp_py_array('i', emp_graph_op_count(self->graph), 0, NULL, &items);
    if (array == NULL) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    st = emp_problem_group(items, &groups, self->problem, kind, count, seed, &err);
    Py_END_ALLOW_THREADS;
    if (st == EMP_OK) return Py_BuildValue("Ni", array, groups);
    Py_DECREF(array);
    return emp_py_raise(&err);
}

static PyObject *bound(PyObject *object, PyObject *unused)
{
    const emp_py_problem *self = (emp_py_problem *)object;
    emp_time_ns           bound_ns = 0;
    emp_error             err = {0};
    emp_status            st;

    (void)unused;
    Py_BEGIN_ALLOW_THREADS;
    st = emp_bound(&bound_ns, self->problem, &err);
    Py_END_ALLOW_THREADS;
    return st == EMP_OK ? PyFloat_FromDouble((double)bound_ns * 1e-9)
                        : emp_py_raise(&err);
}
#endif

static PyGetSetDef getters[] = {
    {"graph", get_graph, NULL, "Its graph.", NULL},
    {"machine", get_machine, NULL, "Its machine.", NULL},
    {"class_count", get_class_count, NULL, "Number of colocation classes.", NULL},
    {"class_of_op", get_class_of_op, NULL,
     "Colocation class of each op, -1 of a folded one, int32.", NULL},
    {"op_times", get_op_times, NULL,
     "Seconds of each op alone on each device, float64 [ops, devices].", NULL},
    {"memory_bytes", get_memory_bytes, NULL,
     "Bytes of each device that a step can allocate: without what the runtime keeps of a "
     "GPU, int64.",
     NULL},
    {"allowed", get_allowed, NULL,
     "Whether each op may be on each device, bool [ops, devices].", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef methods[] = {
    {"legalize", legalize, METH_O,
     "legalize(placement): the legal placement that is simulated for it, int32."},
    {"save_placement", save_placement, METH_VARARGS,
     "save_placement(path, placement, step_time): writes a placement file."},
    {"load_placement", load_placement, METH_O,
     "load_placement(path): the placement of a file, int32."},
    {"explain", explain, METH_O,
     "explain(placement): why its step takes as long as it does, in ten lines of text."},
    {"bound", bound, METH_NOARGS,
     "bound(): seconds that no placement's step can beat; 0: no bound is known."},
    {"_group", group, METH_VARARGS,
     "_group(kind, count, seed): group of each op, and how many."},
    {NULL, NULL, 0, NULL}};

EMP_PY_TYPE(problem, "Problem", emp_py_problem,
            "Problem(graph, machine, runtime, name): see emplace.Problem.");
