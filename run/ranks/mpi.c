// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L
#include <limits.h>
#include <mpi.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/work.h"
#include "run/ranks/ranks.h"

/* Who waits looks that often without a pause: most answers come at once. */
enum { EAGER_LOOKS = 200, PAUSE_NS = 20000 };

/* After SIGTERM mpirun grants some seconds, in which rank 0 must have written what it has:
 * it waits for the others for this part of them. */
static const double PATIENCE = 0.4;

static emp_ranks         ranks; /* count 0: not joined */
static const atomic_int *is_stopping;
static bool              is_ending_together, has_given_up;

static double patience_s(void)
{
    const char *granted = getenv("OMPI_MCA_odls_base_sigkill_timeout");
    double      granted_s = granted != NULL ? strtod(granted, NULL) : 0.0;

    return PATIENCE * (granted_s > 1.0 ? granted_s : 1.0);
}

static emp_status check(int code, const char *what, emp_error *err)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int  length = 0;

    if (code == MPI_SUCCESS) return EMP_OK;
    MPI_Error_string(code, text, &length);
    return EMP_ERROR(EMP_EEXTERNAL, "MPI failed to %s: %s", what, text);
}

/* Open MPI's own waiting would spin, and go on for ever when ranks have gone. Only rank 0
 * gives up: mpirun ends the others when it leaves. */
static emp_status wait_for(MPI_Request *request, MPI_Status *status, emp_error *err)
{
    const struct timespec pause = {0, PAUSE_NS};
    double                give_up_s = 0.0;
    int                   is_done = 0, looks = 0;

    while (!has_given_up) {
        EMP_CHECK(check(MPI_Test(request, &is_done, status), "exchange data", err));
        if (is_done) return EMP_OK;
        if (looks < EAGER_LOOKS) {
            looks++;
            continue;
        }
        nanosleep(&pause, NULL);
        if (*is_stopping == 0 || *is_stopping == SIGUSR1 || ranks.rank > 0) continue;
        if (give_up_s <= 0.0) give_up_s = emp_clock_now_s() + patience_s();
        has_given_up = emp_clock_now_s() > give_up_s;
    }
    return EMP_ERROR(
        EMP_EEXTERNAL,
        "other ranks have gone or are too slow to end with this one: the run "
        "is not finished, and --resume goes on from its last checkpoint");
}

static emp_status check_size(size_t bytes, emp_error *err)
{
    if (bytes > INT_MAX)
        return EMP_ERROR(EMP_EUNSUPPORTED, "%zu bytes in one message, want at most %d",
                         bytes, INT_MAX);
    return EMP_OK;
}

static emp_status gather(const void *mine, void *all, size_t bytes, emp_error *err)
{
    MPI_Request request;

    EMP_CHECK(check_size(bytes, err));
    EMP_CHECK(check(MPI_Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE,
                                   MPI_COMM_WORLD, &request),
                    "gather", err));
    return wait_for(&request, MPI_STATUS_IGNORE, err);
}

static emp_status broadcast(int32_t owner, void *block, size_t bytes, emp_error *err)
{
    MPI_Request request;

    EMP_CHECK(check_size(bytes, err));
    EMP_CHECK(
        check(MPI_Ibcast(block, (int)bytes, MPI_BYTE, owner, MPI_COMM_WORLD, &request),
              "broadcast", err));
    return wait_for(&request, MPI_STATUS_IGNORE, err);
}

static emp_status send(int32_t to, const void *block, size_t bytes, emp_error *err)
{
    MPI_Request request;

    EMP_CHECK(check_size(bytes, err));
    EMP_CHECK(
        check(MPI_Isend(block, (int)bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD, &request),
              "send", err));
    return wait_for(&request, MPI_STATUS_IGNORE, err);
}

static emp_status receive(int32_t *from, void *block, size_t bytes, emp_error *err)
{
    MPI_Request request;
    MPI_Status  status;

    EMP_CHECK(check_size(bytes, err));
    EMP_CHECK(check(MPI_Irecv(block, (int)bytes, MPI_BYTE,
                              *from == EMP_ANY_RANK ? MPI_ANY_SOURCE : *from, 0,
                              MPI_COMM_WORLD, &request),
                    "receive", err));
    EMP_CHECK(wait_for(&request, &status, err));
    *from = status.MPI_SOURCE;
    return EMP_OK;
}

static emp_status agree(emp_status mine, emp_error *err)
{
    emp_status st = mine;
    int32_t    failed = mine == EMP_OK ? ranks.count : ranks.rank, first = failed;
    int32_t   *all = EMP_NEW_ARRAY(int32_t, (size_t)ranks.count);

    if (is_ending_together || has_given_up) goto cleanup;
    if (all == NULL) EMP_FAIL(EMP_ENOMEM, "%d ranks", ranks.count);
    EMP_TRY(gather(&failed, all, sizeof failed, err));
    st = mine;
    for (int32_t i = 0; i < ranks.count; i++) first = all[i] < first ? all[i] : first;
    is_ending_together = first < ranks.count;
    if (first < ranks.count && first != ranks.rank) {
        st = EMP_EELSEWHERE;
        if (err != NULL) *err = (emp_error){0};
    }

cleanup:
    emp_free(all);
    return st;
}

emp_status emp_ranks_join(const emp_ranks **out, const atomic_int *stop, emp_error *err)
{
    int provided, rank, count;

    *out = NULL;
    if (emp_ranks_count() == 1) return EMP_OK;
    is_stopping = stop;
    EMP_CHECK(check(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided),
                    "start", err));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    EMP_CHECK(check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "number ranks", err));
    EMP_CHECK(check(MPI_Comm_size(MPI_COMM_WORLD, &count), "count ranks", err));
    ranks = (emp_ranks){.rank = rank,
                        .count = count,
                        .takes_threads = provided >= MPI_THREAD_SERIALIZED,
                        .gather = gather,
                        .broadcast = broadcast,
                        .send = send,
                        .receive = receive,
                        .agree = agree};
    if (count != emp_ranks_count()) {
        return EMP_ERROR(
            EMP_EEXTERNAL,
            "mpirun started %d programs, but this MPI library sees %d: they are of "
            "different MPIs",
            emp_ranks_count(), count);
    }
    if (provided < MPI_THREAD_FUNNELED)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "%s takes no program with threads; build with Open MPI or MPICH",
                         emp_ranks_library());
    *out = &ranks;
    return EMP_OK;
}

/* Who has given up just ends: mpirun is about to end all others. */
void emp_ranks_leave(bool has_failed)
{
    if (ranks.count == 0 || has_given_up) return;
    if (!has_failed || is_ending_together)
        MPI_Finalize();
    else
        MPI_Abort(MPI_COMM_WORLD, 1);
    ranks.count = 0;
}

const char *emp_ranks_library(void)
{
    static char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int         length = 0;

    MPI_Get_library_version(text, &length);
    text[strcspn(text, ",\n")] = '\0';
    return text;
}
