// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/acyclic/gain_queue.h"

#include "base/mem.h"

emp_status emp_gain_queue_init(emp_gain_queue *q, const int64_t *gain,
                               int32_t vertex_count, emp_error *err)
{
    *q = (emp_gain_queue){.gain = gain,
                          .heap = EMP_NEW_ARRAY(int32_t, (size_t)vertex_count),
                          .where = EMP_NEW_ARRAY(int32_t, (size_t)vertex_count)};
    if (q->heap == NULL || q->where == NULL)
        return EMP_ERROR(EMP_ENOMEM, "queue of %d vertices", vertex_count);
    return EMP_OK;
}

void emp_gain_queue_clear(emp_gain_queue *q)
{
    emp_free(q->heap);
    emp_free(q->where);
    *q = (emp_gain_queue){0};
}

void emp_gain_queue_empty(emp_gain_queue *q)
{
    while (q->count > 0) q->where[q->heap[--q->count]] = 0;
}

static bool comes_before(const emp_gain_queue *q, int32_t u, int32_t v)
{
    return q->gain[u] != q->gain[v] ? q->gain[u] > q->gain[v] : u < v;
}

static void put(emp_gain_queue *q, int32_t index, int32_t vertex)
{
    q->heap[index] = vertex;
    q->where[vertex] = index + 1;
}

static void rise(emp_gain_queue *q, int32_t index, int32_t vertex)
{
    while (index > 0 && comes_before(q, vertex, q->heap[(index - 1) / 2])) {
        put(q, index, q->heap[(index - 1) / 2]);
        index = (index - 1) / 2;
    }
    put(q, index, vertex);
}

static void sink(emp_gain_queue *q, int32_t index, int32_t vertex)
{
    for (int32_t child; (child = 2 * index + 1) < q->count; index = child) {
        if (child + 1 < q->count && comes_before(q, q->heap[child + 1], q->heap[child]))
            child++;
        if (!comes_before(q, q->heap[child], vertex)) break;
        put(q, index, q->heap[child]);
    }
    put(q, index, vertex);
}

void emp_gain_queue_push(emp_gain_queue *q, int32_t vertex)
{
    if (q->where[vertex] == 0) rise(q, q->count++, vertex);
}

void emp_gain_queue_fix(emp_gain_queue *q, int32_t vertex)
{
    if (q->where[vertex] == 0) return;
    rise(q, q->where[vertex] - 1, vertex);
    sink(q, q->where[vertex] - 1, vertex);
}

void emp_gain_queue_remove(emp_gain_queue *q, int32_t vertex)
{
    int32_t index = q->where[vertex] - 1;

    if (index < 0) return;
    int32_t last = q->heap[--q->count];
    q->where[vertex] = 0;
    if (last == vertex) return;
    put(q, index, last);
    emp_gain_queue_fix(q, last);
}
