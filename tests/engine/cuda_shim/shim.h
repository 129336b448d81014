// Runs CUDA C++ on a CPU, for tests: a block's threads are fibers that wait for each other where CUDA's do.
#pragma once
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <utility>

#define __device__
#define __global__
#define __forceinline__ inline
#define __shared__ static
#define __launch_bounds__(threads)

struct Place { unsigned x, y, z; };
static Place threadIdx, blockIdx, blockDim, gridDim;

static inline float __int_as_float(int x) { float y; memcpy(&y, &x, 4); return y; }
static inline int __float_as_int(float x) { int y; memcpy(&y, &x, 4); return y; }
static inline double __longlong_as_double(long long x) { double y; memcpy(&y, &x, 8); return y; }
static inline long long __double_as_longlong(double x) { long long y; memcpy(&y, &x, 8); return y; }

namespace shim {

enum State { RUNNING, AT_WARP, AT_BLOCK, DONE };
const int MOST = 1024, STACK = 1 << 16;
struct Fiber { ucontext_t context; State state; Place place; int turn; };
static Fiber fibers[MOST];
static char* stacks = nullptr;
static ucontext_t scheduler;
static int current, count;
static double slots[2][MOST];
static void (*body)(void*);
static void* given;

static void wait(State state) {
    fibers[current].state = state;
    swapcontext(&fibers[current].context, &scheduler);
}

static void enter() {
    body(given);
    fibers[current].state = DONE;
    swapcontext(&fibers[current].context, &scheduler);
}

// Lets those go on that have all come to a place where they wait for each other. Returns whether there were any.
static bool release(int first, int last, State state) {
    bool any = false;
    for (int i = first; i < last; ++i) {
        if (fibers[i].state != DONE && fibers[i].state != state) return false;
        any |= fibers[i].state == state;
    }
    for (int i = first; i < last; ++i) if (fibers[i].state == state) fibers[i].state = RUNNING;
    return any;
}

// Returns false where some threads wait for others that never come.
static bool run_block() {
    if (stacks == nullptr) stacks = (char*)malloc((size_t)MOST * STACK);
    for (int i = 0; i < count; ++i) {
        Fiber& fiber = fibers[i];
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = stacks + (size_t)i * STACK;
        fiber.context.uc_stack.ss_size = STACK;
        fiber.context.uc_link = &scheduler;
        fiber.state = RUNNING;
        fiber.turn = 0;
        fiber.place = {i % blockDim.x, i / blockDim.x % blockDim.y, i / (blockDim.x * blockDim.y)};
        makecontext(&fiber.context, enter, 0);
    }
    for (;;) {
        bool all_done = true;
        for (int i = 0; i < count; ++i) {
            if (fibers[i].state == RUNNING) {
                current = i;
                threadIdx = fibers[i].place;
                swapcontext(&scheduler, &fibers[i].context);
            }
            all_done &= fibers[i].state == DONE;
        }
        if (all_done) return true;
        bool any = false;
        for (int i = 0; i < count; i += 32) any |= release(i, i + 32 < count ? i + 32 : count, AT_WARP);
        if (!any && !release(0, count, AT_BLOCK)) return false;
    }
}

// Whether all blocks came to an end; one after the other.
static bool run(const unsigned* shape, bool waits) {
    gridDim = {shape[0], shape[1], shape[2]};
    blockDim = {shape[3], shape[4], shape[5]};
    count = blockDim.x * blockDim.y * blockDim.z;
    for (blockIdx.z = 0; blockIdx.z < gridDim.z; ++blockIdx.z)
        for (blockIdx.y = 0; blockIdx.y < gridDim.y; ++blockIdx.y)
            for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) {
                if (waits) {
                    if (!run_block()) return false;
                    continue;
                }
                for (threadIdx.z = 0; threadIdx.z < blockDim.z; ++threadIdx.z)
                    for (threadIdx.y = 0; threadIdx.y < blockDim.y; ++threadIdx.y)
                        for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x) body(given);
            }
    return true;
}

template <class... A, size_t... I> void apply(void (*function)(A...), void** arguments, std::index_sequence<I...>) {
    function(*(typename std::remove_const<A>::type*)arguments[I]...);
}

template <class... A> int launch(void (*function)(A...), const unsigned* shape, void** arguments, bool waits) {
    struct Call { void (*function)(A...); void** arguments; } call = {function, arguments};
    body = [](void* it) {
        Call* call = (Call*)it;
        apply(call->function, call->arguments, std::make_index_sequence<sizeof...(A)>());
    };
    given = &call;
    return run(shape, waits) ? 0 : 1;
}

}  // namespace shim

static inline void __syncthreads() { shim::wait(shim::AT_BLOCK); }
static inline void __syncwarp() { shim::wait(shim::AT_WARP); }

template <class T> T __shfl_xor_sync(unsigned, T x, int bit) {
    using namespace shim;
    double* mine = slots[fibers[current].turn++ % 2];
    memcpy(mine + current, &x, sizeof(T));
    int self = current;
    wait(AT_WARP);
    T found;
    memcpy(&found, mine + (self ^ bit), sizeof(T));
    return found;
}
