"""What helpers do, and who offers them parts of a kernel: one pool's words are what they tell each other."""

from numba import njit

from engine.compiler.kernels.machine_code import machine_code
from engine.compiler.kernels.parallel_calls import compute, more, offering, rest, seen, system, taken, told
from engine.compiler.kernels.thread_pool import CallWords, PoolWords

LINE = 64
"""Bytes before the memory of parts at which the number of threads stands that there is memory for."""
LEFT = 0xFFFFFFFF
"""The bits of `Pool.STATE` that say how many parts nobody has begun. Those above are the number of the offer."""
LOCK, STATE, DONE, ASLEEP = PoolWords.LOCK * 8, PoolWords.STATE * 8, PoolWords.DONE * 8, PoolWords.ASLEEP * 8
PART, ARGUMENTS, COUNT, STEP = PoolWords.PART * 8, PoolWords.ARGUMENTS * 8, PoolWords.COUNT * 8, PoolWords.STEP * 8
MEMBERS = PoolWords.MEMBERS * 8
HELPERS, SPINS, STOP, BELL = PoolWords.HELPERS * 8, PoolWords.SPINS * 8, PoolWords.STOP * 8, PoolWords.BELL * 8
RING, WAIT, YIELD = PoolWords.RING * 8, PoolWords.WAIT * 8, PoolWords.YIELD * 8


@njit(nogil=True, error_model="numpy")
def help_once(pool, who):
    """Computes a part that nobody has begun, or says that there is none."""
    state = seen(pool + STATE)
    left = state & LEFT
    if left == 0:
        return False
    # What is read here belongs to this offer if the state is still the same after it.
    part, arguments = seen(pool + PART), seen(pool + ARGUMENTS)
    count, step = seen(pool + COUNT), seen(pool + STEP)
    if who >= seen(pool + MEMBERS):
        return False
    if taken(pool + STATE, state, state - 1):
        first = ((count + step - 1) // step - left) * step
        compute(part, arguments, who, first, min(first + step, count))
        more(pool + DONE)
    return True


@njit(nogil=True, error_model="numpy")
def is_one_woken(pool):
    """Whether a helper was asleep that is no longer taken for it."""
    while True:
        asleep = seen(pool + ASLEEP)
        if asleep == 0:
            return False
        if taken(pool + ASLEEP, asleep, asleep - 1):
            return True


@njit(nogil=True, error_model="numpy")
def sleep(pool):
    """Returns once the bell has rung for this helper."""
    more(pool + ASLEEP)
    if (seen(pool + STATE) & LEFT != 0 or seen(pool + STOP) != 0) and is_one_woken(pool):
        return
    while system(seen(pool + WAIT), seen(pool + BELL), -1) != 0:  # a signal came
        pass


@njit(nogil=True, error_model="numpy")
def serve(pool, who):
    idle = 0
    while seen(pool + STOP) == 0:
        if help_once(pool, who):
            idle = 0
        elif idle < seen(pool + SPINS):
            idle += 1
            rest()
        else:
            sleep(pool)
            idle = 0


@njit(nogil=True, error_model="numpy")
def offer(pool, share, part, arguments):
    count, step = seen(share + CallWords.COUNT * 8), seen(share + CallWords.STEP * 8)
    if step >= count or seen(pool + HELPERS) == 0 or not taken(pool + LOCK, 0, 1):
        compute(part, arguments, 0, 0, count)
        return
    parts = (count + step - 1) // step
    told(pool + PART, part)
    told(pool + ARGUMENTS, arguments)
    told(pool + COUNT, count)
    told(pool + STEP, step)
    told(pool + MEMBERS, seen(seen(arguments) - LINE) if seen(share + CallWords.APART * 8) != 0 else LEFT)
    told(pool + DONE, 0)
    told(pool + STATE, ((seen(pool + STATE) & ~LEFT) + LEFT + 1) | parts)
    woken = seen(pool + HELPERS)
    for _ in range(min(parts - 1, woken)):
        if not is_one_woken(pool):
            break
        system(seen(pool + RING), seen(pool + BELL), 1)
    while help_once(pool, 0):
        pass
    idle = 0
    while seen(pool + DONE) < parts:
        rest()
        idle += 1
        if idle > seen(pool + SPINS):
            system(seen(pool + YIELD), 0, 0)
    told(pool + LOCK, 0)


@machine_code("void(int64, int64, int64, int64, int64)")
def kernel(pool, who, share, part, arguments):
    """Serves as helper number `who`; 0 offers a part, below 0 a pool is told how that is done, or the bell is rung."""
    if who > 0:
        serve(pool, who)
    elif who == 0:
        offer(pool, share, part, arguments)
    elif who == -1:
        offering(pool)
    elif who == -2:
        for _ in range(share):
            rest()
    else:
        while is_one_woken(pool):
            system(seen(pool + RING), seen(pool + BELL), 1)
