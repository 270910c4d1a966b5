// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/iterations/engine.h"

#include <string.h>

static const double CORE_BYTES_PER_S = 37e9, C2C_BYTES_PER_S = 346e9,
                    PCIE_BYTES_PER_S = 4.5e9;

bool emp_engine_find(emp_engine *out, const char *name)
{
    *out = strcmp(name, "sailor") == 0 ? EMP_ENGINE_SAILOR : EMP_ENGINE_DEEPSPEED;
    return *out == EMP_ENGINE_SAILOR || strcmp(name, "deepspeed") == 0;
}

static bool has_c2c(const char *gpu)
{
    return strncmp(gpu, "GH", 2) == 0 || strncmp(gpu, "GB", 2) == 0;
}

double emp_engine_fill_s(emp_engine engine, const char *gpu, double bytes)
{
    double link_bytes_per_s = has_c2c(gpu) ? C2C_BYTES_PER_S : PCIE_BYTES_PER_S;

    if (engine == EMP_ENGINE_DEEPSPEED) return 0.0;
    return bytes / CORE_BYTES_PER_S + bytes / link_bytes_per_s;
}

int32_t emp_engine_count_gathers(emp_engine engine)
{
    return engine == EMP_ENGINE_DEEPSPEED ? 2 : 1;
}
