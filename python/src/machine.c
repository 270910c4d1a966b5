// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace.Machine. */
#include "python/src/extension.h"

static PyObject *create(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"name_or_path", NULL};
    const char  *name;
    emp_machine *machine;
    emp_error    err = {0};

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s", names, &name)) return NULL;
    if (emp_machine_load(&machine, name, &err) != EMP_OK) return emp_py_raise(&err);
    emp_py_machine *self = (emp_py_machine *)PyType_GenericAlloc(type, 0);
    if (self == NULL)
        emp_machine_destroy(machine);
    else
        self->machine = machine;
    return (PyObject *)self;
}

static void destroy(PyObject *self)
{
    emp_machine_destroy(((emp_py_machine *)self)->machine);
    emp_py_free(self);
}

static const emp_machine *machine_of(PyObject *self)
{
    return ((emp_py_machine *)self)->machine;
}

static PyObject *get_device_count(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(emp_machine_device_count(machine_of(self)));
}

static PyObject *get_names(PyObject *self, void *unused)
{
    const emp_machine *machine = machine_of(self);
    const int32_t      devices = emp_machine_device_count(machine);
    PyObject          *list = PyList_New(devices);

    (void)unused;
    for (emp_device_id d = 0; list != NULL && d < devices; d++) {
        PyObject *name = PyUnicode_FromString(emp_machine_device_name(machine, d));
        if (name == NULL || PyList_SetItem(list, d, name) != 0) Py_CLEAR(list);
    }
    return list;
}

EMP_PY_ITEMS(get_is_gpu, emp_py_machine, emp_machine_device_count(self->machine), 0, '?',
             bool, emp_machine_device_kind(self->machine, row) == EMP_DEVICE_GPU)

EMP_PY_ITEMS(get_memory_bytes, emp_py_machine, emp_machine_device_count(self->machine), 0,
             'q', int64_t, emp_machine_device_memory_bytes(self->machine, row))

static PyObject *copy_time(PyObject *self, PyObject *args)
{
    int       from, to;
    long long bytes;

    if (!PyArg_ParseTuple(args, "iiL", &from, &to, &bytes)) return NULL;
    emp_time_ns time = emp_machine_copy_time_ns(machine_of(self), from, to, bytes);
    if (time < 0) {
        PyErr_Format(PyExc_IndexError, "there is no device %d or no device %d", from, to);
        return NULL;
    }
    return PyFloat_FromDouble((double)time * 1e-9);
}

static PyObject *find(PyObject *self, PyObject *name)
{
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);

    return text == NULL ? NULL
                        : PyLong_FromLong(emp_machine_find(machine_of(self), text));
}

static PyGetSetDef getters[] = {
    {"device_count", get_device_count, NULL, "Number of devices.", NULL},
    {"names", get_names, NULL, "Name of each device: \"cpu:0\", \"gpu:1\".", NULL},
    {"is_gpu", get_is_gpu, NULL, "Whether each device is a GPU.", NULL},
    {"memory_bytes", get_memory_bytes, NULL,
     "Bytes that a step can allocate on each device, int64.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef methods[] = {
    {"copy_time", copy_time, METH_VARARGS,
     "copy_time(source, target, bytes): seconds of a copy alone on its links."},
    {"find", find, METH_O, "find(name): the device of that name, or -1."},
    {NULL, NULL, 0, NULL}};

EMP_PY_TYPE(machine, "Machine", emp_py_machine,
            "Machine(name_or_path): see emplace.Machine.");
