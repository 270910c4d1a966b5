// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/go/coupling.h"

#include <math.h>

#include "base/mem.h"
#include "search/groups/class_groups.h"

emp_coupling emp_coupling_none(int32_t count) { return (emp_coupling){.count = count}; }

/* Nodes that METIS leaves out share one more group. */
static void spread(int32_t *group, const int32_t *group_of_class, int32_t rest,
                   const emp_node_graph *nodes, const emp_transferable *features,
                   const emp_problem *problem)
{
    for (int32_t v = 0; v < nodes->node_count; v++) {
        emp_op_id op = nodes->ops.member[nodes->ops.first[v]];
        int32_t   own = group_of_class[problem->graph->op[op].colocation_class];
        group[features->position[v]] = own < 0 ? rest : own;
    }
}

emp_status emp_coupling_init(emp_coupling *c, const emp_node_graph *nodes,
                             const emp_transferable *features, const emp_problem *problem,
                             const emp_method_params *params, emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t *group_of_class = EMP_NEW_ARRAY(int32_t, (size_t)problem->graph->class_count);
    emp_class_groups_params how = {.kind = EMP_CLASS_GROUPS_METIS,
                                   .imbalance = 1.3,
                                   .seed = params->seed,
                                   .stop = params->stop};

    *c = emp_coupling_none(nodes->node_count);
    if (group_of_class == NULL)
        EMP_FAIL(EMP_ENOMEM, "groups of %d nodes", nodes->node_count);
    for (how.count = 4; how.count < c->count / 2 && c->cut_count < EMP_GO_MAX_CUTS;
         how.count *= 2) {
        int32_t  found = 0;
        int32_t *group = EMP_ADD_ARRAY(&c->arrays, int32_t, (size_t)c->count);
        if (group == NULL) EMP_FAIL(EMP_ENOMEM, "groups of %d nodes", c->count);
        EMP_TRY(emp_class_groups(group_of_class, &found, problem, &how, err));
        spread(group, group_of_class, found, nodes, features, problem);
        c->group[c->cut_count] = group;
        c->group_count[c->cut_count++] = found + 1;
    }

cleanup:
    emp_free(group_of_class);
    return st;
}

void emp_coupling_clear(emp_coupling *c)
{
    emp_arrays_clear(&c->arrays);
    *c = (emp_coupling){0};
}

static float draw_gumbel(emp_rng *rng)
{
    return (float)-log(-log(emp_rng_uniform(rng) + 0x1p-54));
}

static uint8_t choose(const emp_real *p, const float *gumbel, int32_t devices)
{
    double  most = -INFINITY;
    uint8_t chosen = 0;

    for (int32_t d = 0; d < devices; d++) {
        if (!(p[d] > 0)) continue;
        double value = log((double)p[d]) + (double)gumbel[d];
        if (value <= most) continue;
        most = value;
        chosen = (uint8_t)d;
    }
    return chosen;
}

void emp_coupling_draw(const emp_coupling *c, uint8_t *choice, const emp_real *p,
                       int32_t devices, float *gumbel, emp_rng *rng)
{
    int32_t cut =
        c->cut_count == 0 ? 0 : (int32_t)emp_rng_below(rng, (uint32_t)c->cut_count + 1);
    const int32_t *group = cut < c->cut_count ? c->group[cut] : NULL;
    int64_t        groups = group != NULL ? c->group_count[cut] : c->count;

    for (int64_t i = 0; i < groups * devices; i++) gumbel[i] = draw_gumbel(rng);
    for (int64_t v = 0; v < c->count; v++) {
        int64_t own = group != NULL ? group[v] : v;
        choice[v] = choose(&p[v * devices], &gumbel[own * devices], devices);
    }
}

void emp_coupling_argmax(uint8_t *choice, const emp_real *p, int32_t count,
                         int32_t devices)
{
    for (int64_t v = 0; v < count; v++) {
        choice[v] = 0;
        for (int32_t d = 1; d < devices; d++)
            if (p[v * devices + d] > p[v * devices + choice[v]]) choice[v] = (uint8_t)d;
    }
}
