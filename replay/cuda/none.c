// SPDX-License-Identifier: GPL-3.0-or-later
/* In place of backend.c where there is no CUDA toolkit. */
#include <stddef.h>

#include "replay/backend.h"

const emp_replay_backend *const emp_replay_cuda = NULL;
