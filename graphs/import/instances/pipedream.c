// SPDX-License-Identifier: GPL-3.0-or-later
/* PipeDream's profiles (Narayanan et al., SOSP 2019), graph.txt: a line for each layer, with
 * times in milliseconds and sizes in bytes, and one for each edge, behind a tab.
 *
 *     node4 -- Embedding(32320, 1024) -- forward_compute_time=0.073,
 *     backward_compute_time=6.949, activation_size=6291456.0, parameter_size=132382720.000
 *     	node4 -- node5
 *
 * (The first two are one line.) activation_size may be a list, "[6291456.0; 131072.0]": the
 * layer's result is all of it. A profile becomes a training step:
 *
 *  - a layer is the ops "node4", of type Embedding, and "gradients/node4", of type
 *    EmbeddingGrad, which share a device and read what their counterparts' edges say, the
 *    latter also the former's result;
 *  - each of the two keeps parameter_size, weights and their gradients; the backward op's
 *    result is as large as the activations that the layer reads;
 *  - the profile is of GPUs. A CPU is taken to need EMP_INSTANCE_CPU times as long, as in the
 *    instances that Tarnawski et al. (NeurIPS 2020) made of such profiles.
 */
#include <ctype.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/strmap.h"
#include "base/text/units.h"
#include "graphs/import/notes/readers.h"

enum { TYPE_BYTES = 64, NUMBER_BYTES = 48, FIELDS = 4 };

static const char separator[] = " -- ";

/* In the order in which a line has them. */
static const char *const keys[FIELDS] = {"forward_compute_time", "backward_compute_time",
                                         "activation_size", "parameter_size"};
enum { FORWARD, BACKWARD, ACTIVATION, PARAMETERS };

typedef struct {
    emp_slice name, description;
    double    value[FIELDS];
    double    read_bytes; /* activations of the layers before it */
    emp_op_id op[2];      /* forward, backward */
} layer;

typedef struct {
    int32_t from, to;
} edge;

typedef struct {
    layer     *layer;
    edge      *edge;
    int32_t    layer_count, edge_count;
    emp_strmap layer_of_name;
} profile;

bool emp_pipedream_is(emp_slice file)
{
    emp_slice line, name;

    return emp_slice_next_line(&line, &file) && emp_slice_cut(&name, &line, separator) &&
           emp_slice_starts(name, "node") && emp_slice_cut(&name, &line, separator) &&
           emp_slice_starts(line, keys[0]);
}

/* ---- numbers ---- */

static bool read_number(double *value, emp_slice text)
{
    char copy[NUMBER_BYTES], *end;

    if (text.size == 0 || text.size >= sizeof copy) return false;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    *value = emp_number_parse(copy, &end);
    return *end == '\0' && !isspace((unsigned char)copy[0]) && *value >= 0.0 &&
           *value <= EMP_INSTANCE_BYTES_MAX;
}

/* "6291456.0", or the sum of "[6291456.0; 131072.0]". */
static bool read_sum(double *sum, emp_slice text)
{
    emp_slice part;
    double    value;

    if (text.size < 2 || text.data[0] != '[' || text.data[text.size - 1] != ']')
        return read_number(sum, text);
    text = (emp_slice){text.data + 1, text.size - 2};
    *sum = 0.0;
    while (emp_slice_cut(&part, &text, "; ")) {
        if (!read_number(&value, part)) return false;
        *sum += value;
    }
    if (!read_number(&value, text)) return false;
    *sum += value;
    return *sum <= EMP_INSTANCE_BYTES_MAX;
}

static emp_status read_fields(layer *l, emp_slice text, int32_t line, emp_error *err)
{
    for (int32_t i = 0; i < FIELDS; i++) {
        emp_slice field = text, key;
        if (i < FIELDS - 1 && !emp_slice_cut(&field, &text, ", "))
            return EMP_ERROR(EMP_EFORMAT, "line %d: the key %s is missing", line,
                             keys[i + 1]);
        if (!emp_slice_cut(&key, &field, "=") || !emp_slice_is(key, keys[i]))
            return EMP_ERROR(EMP_EFORMAT, "line %d: the key %s is missing", line,
                             keys[i]);
        double maximum = i <= BACKWARD ? EMP_INSTANCE_MS_MAX : EMP_INSTANCE_BYTES_MAX;
        if (!read_sum(&l->value[i], field) || l->value[i] > maximum)
            return EMP_ERROR(EMP_EFORMAT,
                             "line %d: %s is \"%.*s\", want a number from 0 to %g", line,
                             keys[i], EMP_SLICE_ARG(field), maximum);
    }
    return EMP_OK;
}

/* ---- layers and edges ---- */

/* A fourth part, "stage_id=0", is what PipeDream's optimizer adds. */
static emp_status read_layer(profile *p, emp_slice text, int32_t line, emp_error *err)
{
    layer    *l = &p->layer[p->layer_count];
    emp_slice fields;

    *l = (layer){0};
    if (!emp_slice_cut(&l->name, &text, separator) || l->name.size == 0 ||
        !emp_slice_cut(&l->description, &text, separator))
        return EMP_ERROR(EMP_EFORMAT,
                         "line %d: a layer is \"NAME -- DESCRIPTION -- %s=...\"", line,
                         keys[0]);
    bool has_more = emp_slice_cut(&fields, &text, separator);
    if (!has_more) fields = text;
    if (has_more && !emp_slice_starts(text, "stage_id="))
        return EMP_ERROR(EMP_EFORMAT, "line %d: \"%.*s\" stands where only stage_id= may",
                         line, EMP_SLICE_ARG(text));
    EMP_CHECK(read_fields(l, fields, line, err));
    if (emp_strmap_get(&p->layer_of_name, l->name.data, l->name.size) >= 0)
        return EMP_ERROR(EMP_EFORMAT, "line %d: the layer %.*s is there twice", line,
                         EMP_SLICE_ARG(l->name));
    EMP_CHECK(emp_strmap_set(&p->layer_of_name, l->name.data, l->name.size,
                             p->layer_count, err));
    p->layer_count++;
    return EMP_OK;
}

static emp_status find_layer(int32_t *index, const profile *p, emp_slice name,
                             int32_t line, emp_error *err)
{
    *index = emp_strmap_get(&p->layer_of_name, name.data, name.size);
    if (*index < 0)
        return EMP_ERROR(EMP_EFORMAT, "line %d: there is no layer \"%.*s\"", line,
                         EMP_SLICE_ARG(name));
    return EMP_OK;
}

static emp_status read_edge(profile *p, emp_slice text, int32_t line, emp_error *err)
{
    emp_slice from;
    edge     *e = &p->edge[p->edge_count];

    if (!emp_slice_cut(&from, &text, separator))
        return EMP_ERROR(EMP_EFORMAT, "line %d: an edge is \"NAME -- NAME\" behind a tab",
                         line);
    EMP_CHECK(find_layer(&e->from, p, from, line, err));
    EMP_CHECK(find_layer(&e->to, p, text, line, err));
    p->layer[e->to].read_bytes += p->layer[e->from].value[ACTIVATION];
    if (p->layer[e->to].read_bytes > EMP_INSTANCE_BYTES_MAX)
        return EMP_ERROR(
            EMP_EFORMAT,
            "line %d: what the layers before this one send is more than %g bytes", line,
            EMP_INSTANCE_BYTES_MAX);
    p->edge_count++;
    return EMP_OK;
}

/* Layers first: an edge may stand before what it joins. */
static emp_status read_lines(profile *p, emp_slice file, bool are_edges, emp_error *err)
{
    emp_slice text;

    for (int32_t line = 1; emp_slice_next_line(&text, &file); line++) {
        bool is_edge = text.size > 0 && text.data[0] == '\t';
        if (text.size == 0 || is_edge != are_edges) continue;
        if (is_edge) {
            EMP_CHECK(read_edge(p, emp_slice_behind(text, 1), line, err));
        } else {
            EMP_CHECK(read_layer(p, text, line, err));
        }
    }
    return EMP_OK;
}

static emp_status read_profile(profile *p, emp_slice file, emp_error *err)
{
    size_t lines = 1;

    for (size_t i = 0; i < file.size; i++) lines += file.data[i] == '\n';
    if (lines > INT32_MAX / 4) return EMP_ERROR(EMP_EUNSUPPORTED, "%zu lines", lines);
    EMP_CHECK(EMP_ALLOC(p->layer, lines));
    EMP_CHECK(EMP_ALLOC(p->edge, lines));
    EMP_CHECK(read_lines(p, file, false, err));
    return read_lines(p, file, true, err);
}

/* ---- the graph ---- */

/* The word that the description begins with. */
static void name_type(char type[TYPE_BYTES], const layer *l, bool is_backward)
{
    size_t length = 0;

    while (length < l->description.size &&
           (isalnum((unsigned char)l->description.data[length]) ||
            l->description.data[length] == '_'))
        length++;
    emp_slice word = {l->description.data, length};
    if (length == 0) word = (emp_slice){"Layer", 5};
    if (word.size > TYPE_BYTES - 8) word.size = TYPE_BYTES - 8;
    snprintf(type, TYPE_BYTES, "%.*s%s", EMP_SLICE_ARG(word), is_backward ? "Grad" : "");
}

static emp_status add_op(emp_graph_builder *builder, profile *p, int32_t i,
                         bool is_backward, emp_error *err)
{
    layer  *l = &p->layer[i];
    int64_t gpu_ns = emp_instance_ns(l->value[is_backward ? BACKWARD : FORWARD]);
    int64_t result =
        emp_instance_bytes(is_backward ? l->read_bytes : l->value[ACTIVATION]);
    emp_stated_op stated = {
        .cost = {.gpu_ns = gpu_ns,
                 .cpu_ns = gpu_ns * EMP_INSTANCE_CPU,
                 .copy_ns = -1,
                 .colocation = i},
        .flags = emp_slice_starts(l->description, "Conv") ? EMP_OP_LAYER : 0u,
        .kinds = EMP_KIND_CPU | EMP_KIND_GPU,
        .persistent_bytes = emp_instance_bytes(l->value[PARAMETERS]),
        .held_bytes = result,
        .copy_bytes = result};
    char name[EMP_INSTANCE_NAME_BYTES], type[TYPE_BYTES];

    snprintf(name, sizeof name, "%.*s", EMP_SLICE_ARG(l->name));
    name_type(type, l, is_backward);
    return emp_instance_add(builder, name, is_backward, type, &stated,
                            &l->op[is_backward], err);
}

static emp_status connect(emp_graph_builder *builder, const profile *p, emp_error *err)
{
    for (int32_t i = 0; i < p->edge_count; i++) {
        const layer *from = &p->layer[p->edge[i].from], *to = &p->layer[p->edge[i].to];
        EMP_CHECK(emp_graph_builder_connect(builder, (emp_port){from->op[0], 0},
                                            to->op[0], err));
        EMP_CHECK(emp_graph_builder_connect(builder, (emp_port){to->op[1], 0},
                                            from->op[1], err));
    }
    for (int32_t i = 0; i < p->layer_count; i++) {
        const layer *l = &p->layer[i];
        EMP_CHECK(
            emp_graph_builder_connect(builder, (emp_port){l->op[0], 0}, l->op[1], err));
    }
    return EMP_OK;
}

emp_status emp_pipedream_read(emp_graph_builder *builder, emp_reading *r, emp_error *err)
{
    emp_status st = EMP_OK;
    profile    p = {0};

    EMP_TRY(read_profile(&p, r->bytes, err));
    for (int32_t pass = 0; pass < 2; pass++) {
        for (int32_t i = 0; i < p.layer_count; i++)
            EMP_TRY(add_op(builder, &p, i, pass == 1, err));
    }
    EMP_TRY(connect(builder, &p, err));

cleanup:
    emp_strmap_clear(&p.layer_of_name);
    emp_free(p.layer);
    emp_free(p.edge);
    return st;
}
