// SPDX-License-Identifier: GPL-3.0-or-later
/* Which ops of PyTorch and XLA are collectives. */
#include <string.h>

#include "sim/graph/graph.h"

/* Types of one device's graph, where the other ranks do the same. */
static const struct {
    emp_collective op;
    const char    *types; /* parted by spaces */
} known[] = {
    {EMP_COLLECTIVE_ALL_REDUCE,
     "_c10d_functional.all_reduce _c10d_functional.all_reduce_coalesced "
     "c10d_functional.all_reduce c10d.allreduce c10d.allreduce_coalesced hlo.all-reduce"},
    {EMP_COLLECTIVE_ALL_GATHER,
     "_c10d_functional.all_gather_into_tensor "
     "_c10d_functional.all_gather_into_tensor_coalesced "
     "_c10d_functional.all_gather_into_tensor_out "
     "_c10d_functional_autograd.all_gather_into_tensor "
     "c10d_functional.all_gather_into_tensor c10d.allgather c10d._allgather_base "
     "hlo.all-gather"},
    {EMP_COLLECTIVE_REDUCE_SCATTER,
     "_c10d_functional.reduce_scatter_tensor "
     "_c10d_functional.reduce_scatter_tensor_coalesced "
     "_c10d_functional_autograd.reduce_scatter_tensor "
     "c10d_functional.reduce_scatter_tensor c10d.reduce_scatter "
     "c10d._reduce_scatter_base hlo.reduce-scatter"},
    {EMP_COLLECTIVE_ALL_TO_ALL,
     "_c10d_functional.all_to_all_single _c10d_functional_autograd.all_to_all_single "
     "c10d_functional.all_to_all_single c10d.alltoall c10d.alltoall_base hlo.all-to-all "
     "hlo.ragged-all-to-all"},
};

static bool has_word(const char *words, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = words; *at != '\0';) {
        size_t size = strcspn(at, " ");
        if (size == length && memcmp(at, word, size) == 0) return true;
        at += size + strspn(at + size, " ");
    }
    return false;
}

bool emp_collective_of_type(emp_collective *op, const char *type)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!has_word(known[i].types, type)) continue;
        *op = known[i].op;
        return true;
    }
    return false;
}
