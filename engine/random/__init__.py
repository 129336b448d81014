"""Random numbers: generators, their states, and the global seed."""

from engine.random.draws import words_of_integer as words_of_integer
from engine.random.generator import Generator as Generator
from engine.random.generator import RandomNumbers as RandomNumbers
from engine.random.generator import default_generator as default_generator
from engine.random.generator import drawing_from as drawing_from
from engine.random.generator import fork_rng as fork_rng
from engine.random.generator import get_rng_state as get_rng_state
from engine.random.generator import initial_seed as initial_seed
from engine.random.generator import manual_seed as manual_seed
from engine.random.generator import seed as seed
from engine.random.generator import set_rng_state as set_rng_state

__all__ = [
    "Generator",
    "default_generator",
    "drawing_from",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]
