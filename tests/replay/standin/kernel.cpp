// SPDX-License-Identifier: GPL-3.0-or-later
/* Runs grids: block after block, thread after thread. The threads of a block are coroutines where
 * they wait for each other; whether those of a kernel do is seen on its first block. */
#include "tests/replay/standin/kernel.hpp"

#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#undef gridDim
#undef blockDim
#undef blockIdx
#undef threadIdx

thread_local standin_place standin_here;

namespace {

enum { WARP = 32, STACK_BYTES = 64 << 10 };

struct coroutine {
    ucontext_t              context;
    std::unique_ptr<char[]> stack;
    bool                    is_over;
};

/* The block that this thread of the host runs. */
struct block_state {
    std::vector<coroutine>       coroutines;
    std::vector<float>           exchanged; /* [thread] */
    ucontext_t                   home;
    const std::function<void()> *thread;
    unsigned                     now;
    bool                         is_cooperative, has_waited;
};
thread_local block_state state;

void begin_coroutine()
{
    (*state.thread)();
    state.coroutines[state.now].is_over = true;
    for (;;) swapcontext(&state.coroutines[state.now].context, &state.home);
}

void set_thread(unsigned number)
{
    const dim3 &b = standin_here.blockDim;

    state.now = number;
    standin_here.threadIdx = dim3(number % b.x, number / b.x % b.y, number / (b.x * b.y));
}

/* All threads up to where they wait next, again and again. Whoever ends while another waits has
 * missed a barrier, which on a GPU is an error, too. */
void run_cooperatively(unsigned threads)
{
    unsigned over = 0;

    state.coroutines.resize(threads);
    state.exchanged.resize(threads);
    for (unsigned i = 0; i < threads; i++) {
        coroutine &c = state.coroutines[i];
        if (!c.stack) c.stack.reset(new char[STACK_BYTES]);
        c.is_over = false;
        getcontext(&c.context);
        c.context.uc_stack.ss_sp = c.stack.get();
        c.context.uc_stack.ss_size = STACK_BYTES;
        c.context.uc_link = nullptr;
        makecontext(&c.context, begin_coroutine, 0);
    }
    while (over < threads) {
        if (over > 0) {
            fputs("stand-in: some threads of a block have missed a barrier\n", stderr);
            abort();
        }
        for (unsigned i = 0; i < threads; i++) {
            set_thread(i);
            swapcontext(&state.home, &state.coroutines[i].context);
            over += state.coroutines[i].is_over;
        }
    }
}

void run_plainly(unsigned threads)
{
    for (unsigned i = 0; i < threads; i++) {
        set_thread(i);
        (*state.thread)();
    }
}

struct grid {
    dim3                  blocks, block;
    standin_kernel_id     kernel;
    std::function<void()> thread;
};

/* Kernels whose threads do not wait for each other: coroutines take long to switch. */
std::mutex                  plain_lock;
std::set<standin_kernel_id> plain;

bool is_plain(standin_kernel_id kernel)
{
    std::lock_guard<std::mutex> hold(plain_lock);
    return plain.count(kernel) > 0;
}

void add_plain(standin_kernel_id kernel)
{
    std::lock_guard<std::mutex> hold(plain_lock);
    plain.insert(kernel);
}

void run_block(const grid &g, unsigned number, bool is_known_plain)
{
    const unsigned threads = g.block.x * g.block.y * g.block.z;

    standin_here.blockIdx = dim3(number % g.blocks.x, number / g.blocks.x % g.blocks.y,
                                 number / (g.blocks.x * g.blocks.y));
    state.is_cooperative = !is_known_plain && (number == 0 || state.has_waited);
    if (state.is_cooperative)
        run_cooperatively(threads);
    else
        run_plainly(threads);
}

void run(void *data)
{
    std::unique_ptr<grid> g(static_cast<grid *>(data));

    standin_here.gridDim = g->blocks;
    standin_here.blockDim = g->block;
    state.thread = &g->thread;
    state.has_waited = false;
    const bool is_known_plain = is_plain(g->kernel);
    for (unsigned i = 0; i < g->blocks.x * g->blocks.y * g->blocks.z; i++)
        run_block(*g, i, is_known_plain);
    if (!is_known_plain && !state.has_waited) add_plain(g->kernel);
}

void drop(void *data) { delete static_cast<grid *>(data); }

} // namespace

void standin_launch_grid(cudaStream_t stream, dim3 blocks, dim3 block,
                         standin_kernel_id kernel, std::function<void()> thread)
{
    standin_launch(stream, run, drop, new grid{blocks, block, kernel, std::move(thread)});
}

void __syncthreads()
{
    const unsigned me = state.now;

    state.has_waited = true;
    if (!state.is_cooperative) {
        fputs("stand-in: a barrier that the kernel's first block had not\n", stderr);
        abort();
    }
    swapcontext(&state.coroutines[me].context, &state.home);
}

/* All threads of the block take part, as the mask says of each warp. */
float __shfl_down_sync(unsigned, float x, int offset)
{
    const unsigned me = state.now;

    state.has_waited = true;
    state.exchanged[me] = x;
    __syncthreads();
    const bool  is_inside = static_cast<int>(me % WARP) + offset < WARP;
    const float there = is_inside ? state.exchanged[me + static_cast<unsigned>(offset)] : x;
    __syncthreads();
    return there;
}

float atomicAdd(float *to, float x)
{
    uint32_t *word = reinterpret_cast<uint32_t *>(to);
    uint32_t  before = __atomic_load_n(word, __ATOMIC_RELAXED), after;
    float     old, sum;

    do {
        memcpy(&old, &before, sizeof old);
        sum = old + x;
        memcpy(&after, &sum, sizeof sum);
    } while (!__atomic_compare_exchange_n(word, &before, after, false, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return old;
}
