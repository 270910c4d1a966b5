// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/work/stage.h"

#include <stdatomic.h>
#include <stddef.h>

static const char *_Atomic stage;

const char *emp_stage_set(const char *text) { return atomic_exchange(&stage, text); }

const char *emp_stage_get(void) { return atomic_load(&stage); }
