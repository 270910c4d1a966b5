// SPDX-License-Identifier: GPL-3.0-or-later
/* Does rank 0 hand out every piece once, in order, and nothing after a stop or a failure? Do all
 * ranks end when one was stopped? Ranks are threads here, with a mailbox each. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "run/ranks/deal.h"
#include "tests/test.h"

enum { RANKS = 4, PIECES = 20, SLOTS = 64, BLOCK_BYTES = 32 };

typedef struct {
    int32_t from;
    size_t  bytes;
    char    block[BLOCK_BYTES];
} letter;

static pthread_mutex_t lock;
static pthread_cond_t  news;
static letter          box[RANKS][SLOTS];
static int32_t         first[RANKS], last[RANKS];
static pthread_key_t   own_rank;

static int32_t me(void) { return (int32_t)(intptr_t)pthread_getspecific(own_rank); }

static emp_status send(int32_t to, const void *block, size_t bytes, emp_error *err)
{
    (void)err;
    pthread_mutex_lock(&lock);
    letter *l = &box[to][last[to]++ % SLOTS];
    *l = (letter){.from = me(), .bytes = bytes};
    memcpy(l->block, block, bytes);
    pthread_cond_broadcast(&news);
    pthread_mutex_unlock(&lock);
    return EMP_OK;
}

/* Any letter is from the rank that is asked for: only rank 0 has several partners. */
static emp_status receive(int32_t *from, void *block, size_t bytes, emp_error *err)
{
    (void)err;
    pthread_mutex_lock(&lock);
    while (first[me()] == last[me()]) pthread_cond_wait(&news, &lock);
    const letter *l = &box[me()][first[me()]++ % SLOTS];
    *from = l->from;
    memcpy(block, l->block, bytes < l->bytes ? bytes : l->bytes);
    pthread_mutex_unlock(&lock);
    return EMP_OK;
}

static pthread_barrier_t all_here;
static emp_status        status_of[RANKS];
static int32_t           told;

static emp_status agree(emp_status st, emp_error *err)
{
    int32_t lowest = RANKS;

    (void)err;
    status_of[me()] = st;
    pthread_barrier_wait(&all_here);
    for (int32_t r = RANKS - 1; r >= 0; r--)
        if (status_of[r] != EMP_OK) lowest = r;
    pthread_barrier_wait(&all_here);
    return lowest == RANKS || lowest == me() ? st : EMP_EELSEWHERE;
}

static emp_status broadcast(int32_t owner, void *block, size_t bytes, emp_error *err)
{
    (void)err;
    cr_assert_eq(bytes, sizeof told);
    if (me() == owner) memcpy(&told, block, sizeof told);
    pthread_barrier_wait(&all_here);
    memcpy(block, &told, sizeof told);
    pthread_barrier_wait(&all_here);
    return EMP_OK;
}

static int32_t flag_of[RANKS];

static emp_status gather(const void *mine, void *all, size_t bytes, emp_error *err)
{
    (void)err;
    cr_assert_eq(bytes, sizeof *flag_of);
    memcpy(&flag_of[me()], mine, bytes);
    pthread_barrier_wait(&all_here);
    memcpy(all, flag_of, sizeof flag_of);
    pthread_barrier_wait(&all_here);
    return EMP_OK;
}

static struct {
    atomic_int stop;
    int32_t    stop_after, fail_at; /* pieces done; a piece's number; -1: never */
    emp_status end;                 /* of the piece at which it fails */
    bool       is_refused;          /* by rank 0 */
    bool       ends_early;          /* who has done stop_after pieces says so, and ends */
    int32_t    done_of[PIECES], order[PIECES], handed;
    int32_t    heard[PIECES], heard_count;
} world;

static emp_ranks table_of[RANKS];

static emp_status work(void *context, emp_error *err)
{
    emp_piece piece = {.number = -1};

    (void)context;
    for (;;) {
        EMP_CHECK(emp_deal_take(&piece, &table_of[me()], piece.number,
                                piece.number % 2 == 1, err));
        if (piece.number < 0) return EMP_OK;
        cr_assert_eq(piece.identity, 1000 + (uint64_t)piece.number);
        if (piece.number == world.fail_at) return world.end;
        pthread_mutex_lock(&lock);
        world.done_of[piece.number]++;
        world.order[world.handed++] = (int32_t)piece.number;
        const bool is_last = world.handed == world.stop_after;
        if (is_last && !world.ends_early) world.stop = 1;
        pthread_mutex_unlock(&lock);
        if (is_last && world.ends_early)
            return emp_deal_end(&table_of[me()], piece.number, piece.number % 2 == 1,
                                err);
    }
}

static emp_status on_done(void *context, int64_t number, bool was_there, emp_error *err)
{
    (void)context;
    cr_expect_eq(was_there, number % 2 == 1);
    world.heard[number]++;
    world.heard_count++;
    return world.is_refused ? EMP_ERROR(EMP_EIO, "refused") : EMP_OK;
}

static emp_status ended[RANKS];

static void *run_rank(void *rank)
{
    emp_piece      piece[PIECES];
    const emp_deal deal = {.piece = piece,
                           .count = PIECES,
                           .on_done = on_done,
                           .work = work,
                           .stop = &world.stop};

    pthread_setspecific(own_rank, rank);
    for (int32_t i = 0; i < PIECES;
         i++) /* the last in the list is the first to be done */
        piece[i] = (emp_piece){PIECES - 1 - i, 1000 + (uint64_t)(PIECES - 1 - i)};
    ended[me()] = emp_deal_share(&table_of[me()], &deal, NULL);
    return NULL;
}

static void run_ranks(void *(*run)(void *rank))
{
    pthread_t thread[RANKS];

    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&news, NULL);
    pthread_barrier_init(&all_here, NULL, RANKS);
    pthread_key_create(&own_rank, NULL);
    for (intptr_t r = 0; r < RANKS; r++) {
        table_of[r] = (emp_ranks){.rank = (int32_t)r,
                                  .count = RANKS,
                                  .gather = gather,
                                  .broadcast = broadcast,
                                  .send = send,
                                  .receive = receive,
                                  .agree = agree};
        cr_assert_eq(pthread_create(&thread[r], NULL, run, (void *)r), 0);
    }
    for (int r = 0; r < RANKS; r++) pthread_join(thread[r], NULL);
}

static void share(void) { run_ranks(run_rank); }

static int32_t count_done(void)
{
    int32_t done = 0;

    for (int32_t i = 0; i < PIECES; i++) {
        cr_expect_leq(world.done_of[i], 1, "piece %d is done twice", i);
        done += world.done_of[i];
    }
    return done;
}

static void expect_all(emp_status st)
{
    for (int r = 0; r < RANKS; r++) cr_expect_eq(ended[r], st, "rank %d", r);
}

static void set_up(void)
{
    memset(&world, 0, sizeof world);
    world.stop_after = world.fail_at = -1;
}

TestSuite(deal, .init = set_up);

Test(deal, every_piece_is_done_once_and_heard_of)
{
    share();
    expect_all(EMP_OK);
    cr_expect_eq(count_done(), PIECES);
    for (int32_t i = 0; i < PIECES; i++) cr_expect_eq(world.heard[i], 1);
    cr_expect_geq(world.order[0], PIECES - (RANKS - 1), "the first is none of the first");
}

Test(deal, nothing_is_handed_out_after_a_stop)
{
    world.stop_after = 5;
    share();
    expect_all(EMP_EINTERRUPTED);
    cr_expect(count_done() >= 5 && count_done() <= 5 + RANKS);
    set_up();
    world.fail_at = PIECES / 2; /* a rank that was stopped stops all */
    world.end = EMP_EINTERRUPTED;
    share();
    expect_all(EMP_EINTERRUPTED);
    cr_expect_lt(count_done(), PIECES);
}

Test(deal, a_failure_is_reported_once)
{
    int reports = 0;

    world.fail_at = PIECES / 2;
    world.end = EMP_EIO;
    share();
    for (int r = 0; r < RANKS; r++) {
        reports += ended[r] == EMP_EIO;
        cr_expect(ended[r] == EMP_EIO || ended[r] == EMP_EELSEWHERE);
    }
    cr_expect_eq(reports, 1);
    cr_expect_neq(ended[0], EMP_EIO);
}

Test(deal, what_rank_0_refuses_ends_all)
{
    world.is_refused = true;
    share();
    cr_expect_eq(ended[0], EMP_EIO);
    for (int r = 1; r < RANKS; r++) cr_expect_eq(ended[r], EMP_EELSEWHERE);
    cr_expect_eq(world.heard_count, 1);
    cr_expect_lt(count_done(), PIECES);
}

Test(deal, what_a_rank_did_before_it_ended_is_heard_of)
{
    world.stop_after = PIECES / 2;
    world.ends_early = true;
    share();
    expect_all(EMP_EINTERRUPTED);
    cr_expect_lt(count_done(), PIECES);
    cr_expect_eq(world.heard_count, count_done());
    for (int32_t i = 0; i < PIECES; i++) cr_expect_eq(world.heard[i], world.done_of[i]);
}

static struct {
    atomic_int stop;
    emp_status st;
} of_rank[RANKS];

static void *go_on(void *rank)
{
    pthread_setspecific(own_rank, rank);
    ended[me()] =
        emp_ranks_go_on(&table_of[me()], &of_rank[me()].stop, of_rank[me()].st, NULL);
    return NULL;
}

static void ask_all(emp_status want)
{
    run_ranks(go_on);
    expect_all(want);
    memset(of_rank, 0, sizeof of_rank);
}

Test(deal, all_go_on_or_none)
{
    ask_all(EMP_OK);
    for (int r = 0; r < RANKS; r++) {
        of_rank[r].stop = SIGTERM;
        ask_all(EMP_EINTERRUPTED);
        of_rank[r].st = EMP_EINTERRUPTED;
        ask_all(EMP_EINTERRUPTED);
    }
}

Test(deal, who_does_not_go_on_for_a_failure_takes_all_along)
{
    of_rank[2].st = EMP_EIO;
    of_rank[3].stop = SIGTERM;
    run_ranks(go_on);
    for (int r = 0; r < RANKS; r++)
        cr_expect_eq(ended[r], r == 2 ? EMP_EIO : EMP_EELSEWHERE, "rank %d", r);
}

Test(deal, who_is_alone_goes_by_its_own_flag)
{
    atomic_int stop = 0;

    ASSERT_OK(emp_ranks_go_on(NULL, &stop, EMP_OK, NULL));
    cr_expect_eq(emp_ranks_go_on(NULL, NULL, EMP_EINTERRUPTED, NULL), EMP_EINTERRUPTED);
    cr_expect_eq(emp_ranks_go_on(NULL, &stop, EMP_EIO, NULL), EMP_EIO);
    stop = SIGINT;
    cr_expect_eq(emp_ranks_go_on(NULL, &stop, EMP_OK, NULL), EMP_EINTERRUPTED);
}

static emp_status receive_nothing(int32_t *from, void *block, size_t bytes,
                                  emp_error *err)
{
    (void)from, (void)block, (void)bytes;
    return EMP_ERROR(EMP_EEXTERNAL, "other ranks have gone");
}

static emp_status return_own(emp_status st, emp_error *err)
{
    (void)err;
    return st;
}

Test(deal, rank_0_ends_in_good_order_when_others_have_gone_after_a_stop)
{
    const emp_ranks ranks = {
        .count = RANKS, .receive = receive_nothing, .agree = return_own};
    const emp_deal deal = {.stop = &world.stop};
    emp_error      why = {0};

    EXPECT_REFUSED(emp_deal_share(&ranks, &deal, &err), EMP_EEXTERNAL,
                   "other ranks have gone");
    world.stop = SIGTERM;
    cr_expect_eq(emp_deal_share(&ranks, &deal, &why), EMP_EINTERRUPTED);
    cr_expect_str_empty(why.msg);
}
