// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/elites.h"

#include <string.h>

#include "base/mem.h"
#include "search/restored.h"

emp_status emp_elites_init(emp_elites *e, int32_t capacity, int32_t max_width,
                           emp_error *err)
{
    emp_status st = EMP_OK;

    *e = (emp_elites){.capacity = capacity, .max_width = max_width, .width = max_width};
    EMP_TRY(EMP_ALLOC(e->choice, (size_t)capacity * (size_t)max_width));
    EMP_TRY(EMP_ALLOC(e->step_time_s, (size_t)capacity));

cleanup:
    if (st != EMP_OK) emp_elites_clear(e);
    return st;
}

void emp_elites_clear(emp_elites *e)
{
    emp_free(e->choice);
    emp_free(e->step_time_s);
    *e = (emp_elites){0};
}

void emp_elites_restart(emp_elites *e, int32_t width)
{
    e->count = 0;
    e->width = width;
}

bool emp_elites_keep(emp_elites *e, const int32_t *choice, double step_time_s)
{
    size_t  width = (size_t)e->width, bytes = width * sizeof *e->choice;
    int64_t place = e->count, moved;

    while (place > 0 && e->step_time_s[place - 1] > step_time_s) place--;
    if (place > 0 && e->step_time_s[place - 1] == step_time_s) return false;
    if (place == e->capacity) return false;
    if (e->count < e->capacity) e->count++;
    moved = e->count - 1 - place;
    int32_t *at = e->choice + (size_t)place * width;
    memmove(at + width, at, (size_t)moved * bytes);
    memmove(&e->step_time_s[place + 1], &e->step_time_s[place],
            (size_t)moved * sizeof *e->step_time_s);
    memcpy(at, choice, bytes);
    e->step_time_s[place] = step_time_s;
    return true;
}

const int32_t *emp_elites_at(const emp_elites *e, int64_t index)
{
    return e->choice + (size_t)index * (size_t)e->width;
}

bool emp_elites_are_valid(const emp_elites *e, int32_t choices)
{
    if (e->count < 0 || e->count > e->capacity) return false;
    if (e->width < 0 || e->width > e->max_width) return false;
    return emp_choices_are_valid(e->choice, e->count * e->width, choices);
}
