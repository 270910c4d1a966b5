// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace.Oracle: batches of placements on several threads, without Python's lock. */
#include <string.h>

#include "python/src/extension.h"

enum { CHUNK = 256 }; /* placements simulated between two looks for Ctrl-C */

typedef struct {
    PyObject_HEAD PyObject *problem_object;
    emp_py_problem         *problem; /* of this object */
    emp_sim                *sim;     /* one placement with an order, or with times */
    emp_sim_team           *team;
    PyThread_type_lock      lock; /* the oracle serves one thread at a time */
    int                     is_locked;
    unsigned long           owner; /* the thread that has it */
    emp_sim_result         *result[CHUNK];
    emp_device_id          *device_of_op[CHUNK]; /* rows of `placement` */
    emp_py_rows             placement, order, group_of_op, by_group;
} oracle;

static void destroy(PyObject *object)
{
    oracle *self = (oracle *)object;

    for (int i = 0; i < CHUNK; i++) emp_sim_result_destroy(self->result[i]);
    emp_sim_team_destroy(self->team);
    emp_sim_destroy(self->sim);
    if (self->lock != NULL) PyThread_free_lock(self->lock);
    PyMem_Free(self->placement.item);
    PyMem_Free(self->order.item);
    PyMem_Free(self->group_of_op.item);
    PyMem_Free(self->by_group.item);
    Py_XDECREF(self->problem_object);
    emp_py_free(object);
}

static PyObject *create(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"problem", "threads", NULL};
    PyObject    *problem;
    int          threads = 1;
    emp_error    err = {0};

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!|i", names, emp_py_problem_type,
                                     &problem, &threads))
        return NULL;
    oracle *self = (oracle *)PyType_GenericAlloc(type, 0);
    if (self == NULL) return NULL;
    Py_INCREF(problem);
    self->problem_object = problem;
    self->problem = (emp_py_problem *)problem;
    self->lock = PyThread_allocate_lock();
    emp_status st = emp_sim_create(&self->sim, self->problem->problem, &err);
    if (st == EMP_OK)
        st = emp_sim_team_create(&self->team, self->problem->problem, threads, &err);
    for (int i = 0; st == EMP_OK && i < CHUNK; i++)
        st = emp_sim_result_create(&self->result[i], &err);
    if (st == EMP_OK && self->lock != NULL) return (PyObject *)self;
    Py_DECREF(self);
    return st == EMP_OK ? PyErr_NoMemory() : emp_py_raise(&err);
}

/* ---- what is asked ---- */

/* Rows by group become rows by op. */
static int spread_groups(oracle *self, PyObject *placements, PyObject *groups)
{
    const Py_ssize_t ops = emp_graph_op_count(self->problem->graph);
    int32_t          group_count = 0;

    if (emp_py_read_rows(&self->group_of_op, groups, ops, "groups") != 0) return -1;
    if (self->group_of_op.count != 1) {
        PyErr_Format(PyExc_ValueError,
                     "groups: %zd rows; it is one row with the group of each op",
                     self->group_of_op.count);
        return -1;
    }
    for (Py_ssize_t op = 0; op < ops; op++) {
        const int32_t group = self->group_of_op.item[op];
        if (group < 0 || group >= ops) {
            PyErr_Format(PyExc_ValueError, "groups: %d is none of 0 to %zd", group,
                         ops - 1);
            return -1;
        }
        if (group >= group_count) group_count = group + 1;
    }
    if (emp_py_read_rows(&self->by_group, placements, EMP_PY_ANY_LENGTH, "placements") !=
        0)
        return -1;
    if (self->by_group.count > 0 && self->by_group.length < group_count) {
        PyErr_Format(PyExc_ValueError,
                     "placements: a row has %zd numbers, and there is a group %d",
                     self->by_group.length, group_count - 1);
        return -1;
    }
    const Py_ssize_t count = self->by_group.count;
    if (emp_py_reserve_rows(&self->placement, count, ops) != 0) return -1;
    self->placement.is_one = self->by_group.is_one;
    for (Py_ssize_t i = 0; i < count; i++) {
        const int32_t *device_of_group = self->by_group.item + i * self->by_group.length;
        for (Py_ssize_t op = 0; op < ops; op++)
            self->placement.item[i * ops + op] =
                device_of_group[self->group_of_op.item[op]];
    }
    return 0;
}

static int read_levels(oracle *self, PyObject *levels)
{
    const Py_ssize_t ops = emp_graph_op_count(self->problem->graph);

    if (emp_py_read_rows(&self->order, levels, ops, "levels") != 0) return -1;
    if (self->order.count != self->placement.count) {
        PyErr_Format(PyExc_ValueError, "levels: %zd rows for %zd placements",
                     self->order.count, self->placement.count);
        return -1;
    }
    for (Py_ssize_t i = 0; i < self->order.count * ops; i++) {
        if (self->order.item[i] >= 0 && self->order.item[i] < EMP_LEVELS) continue;
        PyErr_Format(PyExc_ValueError, "levels: %d is none of 0 to %d",
                     self->order.item[i], EMP_LEVELS - 1);
        return -1;
    }
    return 0;
}

typedef struct {
    PyObject *placements, *levels, *groups; /* borrowed; the last two None or an array */
} request;

static int parse(request *r, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"placements", "levels", "groups", NULL};

    *r = (request){NULL, Py_None, Py_None};
    return PyArg_ParseTupleAndKeywords(args, keywords, "O|OO", names, &r->placements,
                                       &r->levels, &r->groups)
               ? 0
               : -1;
}

static int read_request(oracle *self, const request *r)
{
    const Py_ssize_t ops = emp_graph_op_count(self->problem->graph);
    int              code = 0;

    self->order.count = 0;
    if (r->groups != Py_None)
        code = spread_groups(self, r->placements, r->groups);
    else
        code = emp_py_read_rows(&self->placement, r->placements, ops, "placements");
    if (code == 0 && r->levels != Py_None) code = read_levels(self, r->levels);
    return code;
}

/* ---- simulating ---- */

/* Placement i with its order, in the room of its levels. */
static emp_status run_ordered(oracle *self, Py_ssize_t i, emp_sim_result *result,
                              emp_error *err)
{
    const Py_ssize_t ops = self->order.length;
    const int32_t   *from = self->order.item + i * ops;
    uint8_t         *level = (uint8_t *)(self->order.item + i * ops);

    for (Py_ssize_t op = 0; op < ops; op++) level[op] = (uint8_t)from[op];
    emp_problem_legalize(self->problem->problem, self->placement.item + i * ops);
    const emp_decision decision = {.device_of_op = self->placement.item + i * ops,
                                   .level_of_op = level};
    return emp_sim_run_decision(self->sim, &decision, result, err);
}

static emp_status run_chunk(oracle *self, Py_ssize_t first, int32_t count, emp_error *err)
{
    const Py_ssize_t ops = self->placement.length;
    emp_status       st = EMP_OK;

    for (int32_t i = 0; i < count; i++)
        self->device_of_op[i] = self->placement.item + (first + i) * ops;
    if (self->order.count == 0)
        return emp_sim_team_run(self->team, self->device_of_op, count, self->result, err);
    for (int32_t i = 0; st == EMP_OK && i < count; i++)
        st = run_ordered(self, first + i, self->result[i], err);
    return st;
}

/* Where results go: arrays that Python owns. */
typedef struct {
    double  *time_s, *overflow_frac, *busy_s;
    bool    *fits;
    int64_t *peak_bytes, *traffic_bytes; /* NULL: time_s and fits alone */
    int32_t  device_count;
} columns;

/* As the program's loop counts it: memory that was missing over a device's own, summed. */
static double overflow_of(const emp_machine *machine, const emp_sim_result *result)
{
    double sum = 0.0;

    if (emp_sim_result_is_feasible(result)) return 0.0;
    for (emp_device_id d = 0; d < emp_machine_device_count(machine); d++) {
        const double memory = (double)emp_machine_device_memory_bytes(machine, d);
        const double over = (double)emp_sim_result_peak_bytes(result, d) / memory - 1.0;
        if (over > 0.0) sum += over;
    }
    return sum;
}

static void write_row(const columns *c, Py_ssize_t row, const emp_machine *machine,
                      const emp_sim_result *result)
{
    c->time_s[row] = (double)emp_sim_result_step_time_ns(result) * 1e-9;
    c->fits[row] = emp_sim_result_is_feasible(result);
    if (c->peak_bytes == NULL) return;
    c->overflow_frac[row] = overflow_of(machine, result);
    c->traffic_bytes[row] = emp_sim_result_traffic_bytes(result);
    for (emp_device_id d = 0; d < c->device_count; d++) {
        const Py_ssize_t at = row * c->device_count + d;
        c->peak_bytes[at] = emp_sim_result_peak_bytes(result, d);
        c->busy_s[at] = (double)emp_sim_result_busy_ns(result, d) * 1e-9;
    }
}

/* Simulates all placements; 0, or -1. */
static int simulate(oracle *self, const columns *c)
{
    emp_error  err = {0};
    emp_status st = EMP_OK;

    for (Py_ssize_t first = 0; first < self->placement.count; first += CHUNK) {
        const Py_ssize_t left = self->placement.count - first;
        const int32_t    count = left < CHUNK ? (int32_t)left : CHUNK;
        Py_BEGIN_ALLOW_THREADS;
        st = run_chunk(self, first, count, &err);
        for (int32_t i = 0; st == EMP_OK && i < count; i++)
            write_row(c, first + i, emp_problem_machine(self->problem->problem),
                      self->result[i]);
        Py_END_ALLOW_THREADS;
        if (st != EMP_OK) {
            emp_py_raise(&err);
            return -1;
        }
        if (PyErr_CheckSignals() != 0) return -1;
    }
    return 0;
}

/* Waits for the thread that has the oracle; 0, or -1 where that is this very one, by way of a
 * signal handler or of a sequence that calls the oracle as it is read. */
static int lock(oracle *self)
{
    const unsigned long me = PyThread_get_thread_ident();

    if (self->is_locked && self->owner == me) {
        PyErr_SetString(PyExc_RuntimeError, "the oracle is asked while it answers");
        return -1;
    }
    if (PyThread_acquire_lock(self->lock, 0) == 0) {
        Py_BEGIN_ALLOW_THREADS;
        PyThread_acquire_lock(self->lock, 1);
        Py_END_ALLOW_THREADS;
    }
    self->owner = me;
    self->is_locked = 1;
    return 0;
}

static void unlock(oracle *self)
{
    self->is_locked = 0;
    PyThread_release_lock(self->lock);
}

/* ---- answers ---- */

static PyObject *score_locked(oracle *self, const request *r)
{
    void     *time_s = NULL, *fits = NULL;
    PyObject *times, *are_fit;

    if (read_request(self, r) != 0) return NULL;
    times = emp_py_array('d', self->placement.count, 0, NULL, &time_s);
    are_fit = emp_py_array('?', self->placement.count, 0, NULL, &fits);
    if (times == NULL || are_fit == NULL ||
        simulate(self, &(columns){.time_s = time_s, .fits = fits}) != 0) {
        Py_XDECREF(times);
        Py_XDECREF(are_fit);
        return NULL;
    }
    return Py_BuildValue("NN", times, are_fit);
}

static PyObject *measure_locked(oracle *self, const request *r)
{
    enum { TIMES, FITS, OVERFLOW, PEAKS, BUSY, TRAFFIC, COLUMNS };
    static const char        format[COLUMNS] = {'d', '?', 'd', 'q', 'd', 'q'};
    static const char *const name[COLUMNS] = {"times",      "fits", "overflow",
                                              "peak_bytes", "busy", "traffic_bytes"};
    const int32_t            devices = emp_machine_device_count(self->problem->machine);
    void                    *items[COLUMNS];
    PyObject                *table = read_request(self, r) == 0 ? PyDict_New() : NULL;

    for (int i = 0; table != NULL && i < COLUMNS; i++) {
        const Py_ssize_t width = i == PEAKS || i == BUSY ? devices : 0;
        PyObject        *array =
            emp_py_array(format[i], self->placement.count, width, NULL, &items[i]);
        if (array == NULL || PyDict_SetItemString(table, name[i], array) != 0)
            Py_CLEAR(table);
        Py_XDECREF(array);
    }
    if (table != NULL && simulate(self, &(columns){.time_s = items[TIMES],
                                                   .fits = items[FITS],
                                                   .overflow_frac = items[OVERFLOW],
                                                   .peak_bytes = items[PEAKS],
                                                   .busy_s = items[BUSY],
                                                   .traffic_bytes = items[TRAFFIC],
                                                   .device_count = devices}) != 0)
        Py_CLEAR(table);
    return table;
}

/* ---- one step with its times ---- */

static PyObject *describe_oom(const oracle *self, const emp_sim_result *result)
{
    emp_oom oom;

    if (!emp_sim_result_oom(result, &oom)) Py_RETURN_NONE;
    return Py_BuildValue("{s:s,s:s,s:L,s:d}", "device",
                         emp_machine_device_name(self->problem->machine, oom.device),
                         "op", emp_graph_op_name(self->problem->graph, oom.op), "bytes",
                         (long long)oom.bytes, "at", (double)oom.at_ns * 1e-9);
}

/* Nanoseconds become seconds in their place; those of folded ops stay NaN. */
static void to_seconds(void *items, Py_ssize_t count)
{
    double *time_s = items;

    for (Py_ssize_t i = 0; i < count; i++) {
        emp_time_ns time_ns;
        memcpy(&time_ns, &time_s[i], sizeof time_ns);
        time_s[i] = time_ns < 0 ? Py_NAN : (double)time_ns * 1e-9;
    }
}

static emp_status run_times(oracle *self, emp_time_ns *start_ns, emp_time_ns *end_ns,
                            emp_error *err)
{
    const Py_ssize_t ops = self->placement.length;
    emp_decision     decision = {.device_of_op = self->placement.item};
    uint8_t         *level = (uint8_t *)self->order.item;

    for (Py_ssize_t op = 0; op < ops; op++) start_ns[op] = end_ns[op] = -1;
    for (Py_ssize_t op = 0; self->order.count > 0 && op < ops; op++)
        level[op] = (uint8_t)self->order.item[op];
    if (self->order.count > 0) decision.level_of_op = level;
    emp_problem_legalize(self->problem->problem, self->placement.item);
    return emp_sim_run_times(self->sim, &decision, start_ns, end_ns, self->result[0],
                             err);
}

static PyObject *times_locked(oracle *self, const request *r)
{
    void     *start = NULL, *end = NULL;
    emp_error err = {0};

    if (read_request(self, r) != 0) return NULL;
    if (self->placement.count != 1) {
        PyErr_Format(PyExc_ValueError, "placements: %zd rows, not one",
                     self->placement.count);
        return NULL;
    }
    const Py_ssize_t ops = self->placement.length;
    PyObject        *starts = emp_py_array('d', ops, 0, NULL, &start);
    PyObject        *ends = emp_py_array('d', ops, 0, NULL, &end);
    PyObject        *devices = NULL, *oom = NULL;
    if (starts != NULL && ends != NULL) {
        if (run_times(self, start, end, &err) == EMP_OK) {
            to_seconds(start, ops);
            to_seconds(end, ops);
            devices = emp_py_array('i', ops, 0, self->placement.item, NULL);
            oom = devices != NULL ? describe_oom(self, self->result[0]) : NULL;
        } else {
            emp_py_raise(&err);
        }
    }
    if (oom != NULL) return Py_BuildValue("NNNN", devices, starts, ends, oom);
    Py_XDECREF(devices);
    Py_XDECREF(starts);
    Py_XDECREF(ends);
    return NULL;
}

/* ---- methods ---- */

static PyObject *answer(PyObject *object, PyObject *args, PyObject *keywords,
                        PyObject *(*answer_locked)(oracle *, const request *))
{
    oracle *self = (oracle *)object;
    request r;

    if (parse(&r, args, keywords) != 0 || lock(self) != 0) return NULL;
    PyObject *result = answer_locked(self, &r);
    unlock(self);
    return result;
}

static PyObject *score(PyObject *self, PyObject *args, PyObject *keywords)
{
    return answer(self, args, keywords, score_locked);
}

static PyObject *measure(PyObject *self, PyObject *args, PyObject *keywords)
{
    return answer(self, args, keywords, measure_locked);
}

static PyObject *times(PyObject *self, PyObject *args, PyObject *keywords)
{
    return answer(self, args, keywords, times_locked);
}

static PyObject *get_problem(PyObject *self, void *unused)
{
    (void)unused;
    PyObject *problem = ((oracle *)self)->problem_object;
    Py_INCREF(problem);
    return problem;
}

static PyGetSetDef getters[] = {
    {"problem", get_problem, NULL, "The problem whose placements it scores.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef methods[] = {
    {"score", (PyCFunction)(void (*)(void))score, METH_VARARGS | METH_KEYWORDS,
     "score(placements, levels=None, groups=None): times in seconds, and fits."},
    {"measure", (PyCFunction)(void (*)(void))measure, METH_VARARGS | METH_KEYWORDS,
     "measure(placements, levels=None, groups=None): a dict of arrays."},
    {"times", (PyCFunction)(void (*)(void))times, METH_VARARGS | METH_KEYWORDS,
     "times(placement, levels=None, groups=None): devices, starts, ends, out of memory."},
    {NULL, NULL, 0, NULL}};

EMP_PY_TYPE(oracle, "Oracle", oracle, "Oracle(problem, threads): see emplace.Oracle.");
