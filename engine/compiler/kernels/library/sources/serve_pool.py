"""The thread pool's machine code: workers that take parts, and callers that offer them, by words in shared memory."""

from numba import njit

from engine.compiler.kernels.machine_code import machine_code
from engine.compiler.kernels.parallel_calls import (
    atomic_increment,
    atomic_load,
    atomic_store,
    call_part,
    call_system,
    compare_exchange,
    cpu_pause,
    register_offer,
)
from engine.compiler.kernels.thread_pool import CallWords, PoolWords

CACHE_LINE = 64
"""Bytes before a work space at which its number of threads is stored."""
REMAINING_MASK = 0xFFFFFFFF
"""The bits of `PoolWords.STATE` with the number of parts that have not started; the bits above count offers."""
LOCK, STATE, DONE, SLEEPING = PoolWords.LOCK * 8, PoolWords.STATE * 8, PoolWords.DONE * 8, PoolWords.SLEEPING * 8
PART, ARGUMENTS, COUNT, STEP = PoolWords.PART * 8, PoolWords.ARGUMENTS * 8, PoolWords.COUNT * 8, PoolWords.STEP * 8
WORKSPACES = PoolWords.WORKSPACES * 8
WORKERS, SPINS, STOP, SEMAPHORE = (
    PoolWords.WORKERS * 8,
    PoolWords.SPINS * 8,
    PoolWords.STOP * 8,
    PoolWords.SEMAPHORE * 8,
)
SIGNAL, WAIT, YIELD = PoolWords.SIGNAL_FUNCTION * 8, PoolWords.WAIT_FUNCTION * 8, PoolWords.YIELD_FUNCTION * 8


@njit(nogil=True, error_model="numpy")
def take_part(pool, thread_number):
    """Computes a part that has not started; returns False if there is none."""
    state = atomic_load(pool + STATE)
    remaining = state & REMAINING_MASK
    if remaining == 0:
        return False
    # These words belong to this offer if the state is unchanged afterwards.
    part, arguments = atomic_load(pool + PART), atomic_load(pool + ARGUMENTS)
    count, step = atomic_load(pool + COUNT), atomic_load(pool + STEP)
    if thread_number >= atomic_load(pool + WORKSPACES):
        return False
    if compare_exchange(pool + STATE, state, state - 1):
        first = ((count + step - 1) // step - remaining) * step
        call_part(part, arguments, thread_number, first, min(first + step, count))
        atomic_increment(pool + DONE)
    return True


@njit(nogil=True, error_model="numpy")
def wake_one(pool):
    """Removes one worker from the count of sleeping ones; returns False if there is none."""
    while True:
        asleep = atomic_load(pool + SLEEPING)
        if asleep == 0:
            return False
        if compare_exchange(pool + SLEEPING, asleep, asleep - 1):
            return True


@njit(nogil=True, error_model="numpy")
def sleep(pool):
    """Sleeps until the semaphore is signaled."""
    atomic_increment(pool + SLEEPING)
    if (atomic_load(pool + STATE) & REMAINING_MASK != 0 or atomic_load(pool + STOP) != 0) and wake_one(pool):
        return
    while call_system(atomic_load(pool + WAIT), atomic_load(pool + SEMAPHORE), -1) != 0:  # interrupted by a signal
        pass


@njit(nogil=True, error_model="numpy")
def serve(pool, thread_number):
    idle = 0
    while atomic_load(pool + STOP) == 0:
        if take_part(pool, thread_number):
            idle = 0
        elif idle < atomic_load(pool + SPINS):
            idle += 1
            cpu_pause()
        else:
            sleep(pool)
            idle = 0


@njit(nogil=True, error_model="numpy")
def offer(pool, call_address, part, arguments):
    count, step = atomic_load(call_address + CallWords.COUNT * 8), atomic_load(call_address + CallWords.STEP * 8)
    if step >= count or atomic_load(pool + WORKERS) == 0 or not compare_exchange(pool + LOCK, 0, 1):
        call_part(part, arguments, 0, 0, count)
        return
    parts = (count + step - 1) // step
    atomic_store(pool + PART, part)
    atomic_store(pool + ARGUMENTS, arguments)
    atomic_store(pool + COUNT, count)
    atomic_store(pool + STEP, step)
    atomic_store(
        pool + WORKSPACES,
        atomic_load(atomic_load(arguments) - CACHE_LINE)
        if atomic_load(call_address + CallWords.WORKSPACE_STRIDE * 8) != 0
        else REMAINING_MASK,
    )
    atomic_store(pool + DONE, 0)
    atomic_store(pool + STATE, ((atomic_load(pool + STATE) & ~REMAINING_MASK) + REMAINING_MASK + 1) | parts)
    woken = atomic_load(pool + WORKERS)
    for _ in range(min(parts - 1, woken)):
        if not wake_one(pool):
            break
        call_system(atomic_load(pool + SIGNAL), atomic_load(pool + SEMAPHORE), 1)
    while take_part(pool, 0):
        pass
    idle = 0
    while atomic_load(pool + DONE) < parts:
        cpu_pause()
        idle += 1
        if idle > atomic_load(pool + SPINS):
            call_system(atomic_load(pool + YIELD), 0, 0)
    atomic_store(pool + LOCK, 0)


@machine_code("void(int64, int64, int64, int64, int64)")
def kernel(pool, thread_number, call_address, part, arguments):
    """Serves as worker `who`; 0 offers parts, -1 registers the offer function, -2 measures spinning, below wakes all
    workers.
    """
    if thread_number > 0:
        serve(pool, thread_number)
    elif thread_number == 0:
        offer(pool, call_address, part, arguments)
    elif thread_number == -1:
        register_offer(pool)
    elif thread_number == -2:
        for _ in range(call_address):
            cpu_pause()
    else:
        while wake_one(pool):
            call_system(atomic_load(pool + SIGNAL), atomic_load(pool + SEMAPHORE), 1)
