// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/plots/drawing.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

enum { FIRST_ROOM = 256 };

void emp_drawing_init(emp_drawing *d, const char *name, const char *label, double width,
                      double height)
{
    *d = (emp_drawing){.label = label, .width = width, .height = height};
    snprintf(d->name, sizeof d->name, "%s", name);
}

void emp_drawing_clear(emp_drawing *d)
{
    emp_free(d->shape);
    emp_free(d->point);
    emp_arena_clear(&d->texts);
    *d = (emp_drawing){0};
}

bool emp_drawing_is_empty(const emp_drawing *d)
{
    return d->shape_count == 0 && d->failure == EMP_OK;
}

/* Room for \a more items behind the first \a used ones; NULL: out of memory. */
static void *grow(emp_drawing *d, void *items, int32_t used, int32_t more, int32_t *room,
                  size_t size)
{
    int32_t wanted = *room > 0 ? *room : FIRST_ROOM;

    if (d->failure != EMP_OK) return NULL;
    if (items != NULL && more <= *room - used) return items;
    while (wanted - used < more && wanted <= INT32_MAX / 2) wanted *= 2;
    void *grown = wanted - used < more ? NULL : emp_realloc(items, (size_t)wanted, size);
    if (grown == NULL) {
        d->failure = EMP_ENOMEM;
        return NULL;
    }
    *room = wanted;
    return grown;
}

/* Copies the points, too. */
static void add(emp_drawing *d, emp_drawing_shape shape, const emp_point *point,
                int32_t count)
{
    emp_drawing_shape *shapes =
        grow(d, d->shape, d->shape_count, 1, &d->shape_room, sizeof *d->shape);
    if (shapes == NULL) return;
    d->shape = shapes;
    emp_point *points =
        grow(d, d->point, d->point_count, count, &d->point_room, sizeof *d->point);
    if (points == NULL) return;
    d->point = points;
    shape.first_point = d->point_count;
    shape.point_count = count;
    if (shape.paint.colour == NULL) shape.paint.colour = EMP_INK;
    if (shape.paint.opacity == 0) shape.paint.opacity = 1;
    if (shape.paint.width == 0) shape.paint.width = 1;
    if (shape.lettering.colour == NULL) shape.lettering.colour = EMP_INK;
    for (int32_t i = 0; i < count; i++) d->point[d->point_count++] = point[i];
    d->shape[d->shape_count++] = shape;
}

static const char *keep(emp_drawing *d, const char *text)
{
    const char *copy = emp_arena_strndup(&d->texts, text, strlen(text));

    if (copy == NULL) d->failure = EMP_ENOMEM;
    return copy;
}

void emp_drawing_area(emp_drawing *d, const emp_point *point, int32_t count,
                      const emp_paint *paint)
{
    if (count > 1)
        add(d, (emp_drawing_shape){.kind = EMP_DRAWING_AREA, .paint = *paint}, point,
            count);
}

void emp_drawing_line(emp_drawing *d, const emp_point *point, int32_t count,
                      const emp_paint *paint)
{
    if (count > 1)
        add(d, (emp_drawing_shape){.kind = EMP_DRAWING_LINE, .paint = *paint}, point,
            count);
}

void emp_drawing_rectangle(emp_drawing *d, emp_box box, const emp_paint *paint)
{
    const emp_point corners[] = {{box.x, box.y},
                                 {box.x + box.width, box.y},
                                 {box.x + box.width, box.y + box.height},
                                 {box.x, box.y + box.height}};

    emp_drawing_area(d, corners, 4, paint);
}

void emp_drawing_segment(emp_drawing *d, double x1, double y1, double x2, double y2,
                         const emp_paint *paint)
{
    const emp_point ends[] = {{x1, y1}, {x2, y2}};

    emp_drawing_line(d, ends, 2, paint);
}

void emp_drawing_text(emp_drawing *d, double x, double y, const char *text,
                      const emp_lettering *lettering)
{
    const emp_point at = {x, y};

    add(d,
        (emp_drawing_shape){
            .kind = EMP_DRAWING_TEXT, .lettering = *lettering, .text = keep(d, text)},
        &at, 1);
}

void emp_drawing_begin(emp_drawing *d, const char *title)
{
    add(d, (emp_drawing_shape){.kind = EMP_DRAWING_BEGIN, .text = keep(d, title)}, NULL,
        0);
}

void emp_drawing_end(emp_drawing *d)
{
    add(d, (emp_drawing_shape){.kind = EMP_DRAWING_END}, NULL, 0);
}

emp_status emp_drawing_check(const emp_drawing *d, emp_error *err)
{
    if (d->failure == EMP_OK) return EMP_OK;
    return EMP_ERROR(d->failure, "figure %s, %d shapes", d->name, d->shape_count);
}

void emp_drawing_scale(emp_drawing *d, double factor)
{
    d->width *= factor;
    d->height *= factor;
    for (int32_t i = 0; i < d->point_count; i++) {
        d->point[i].x *= factor;
        d->point[i].y *= factor;
    }
    for (int32_t i = 0; i < d->shape_count; i++) {
        d->shape[i].paint.width *= factor;
        d->shape[i].lettering.size *= factor;
    }
}
