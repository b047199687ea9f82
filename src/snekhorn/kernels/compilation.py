"""Compile functions with the options that they share."""

from functools import partial

from numba import njit

# Sums may be reordered and divisions replaced by multiplications; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "arcp", "nsz"}


def compiled(function=None, /, **options):
    """Compile a loop that Python calls, when it is first called."""
    if function is None:
        return partial(compiled, **options)
    # No other library calls the loops, so the wrapper for C would only take time to compile.
    return njit(nogil=True, cache=True, error_model="numpy", no_cfunc_wrapper=True, **options)(function)


def inlined(function=None, /, **options):
    """Compile a function that loops call, as a part of each loop.

    Numba optimises a function that is not inlined once by itself and once more in every loop that calls it. Which of
    these copies a loop calls depends on what the process has compiled or loaded before. The process that compiles the
    code and the ones that load it from the cache would then return different last digits.
    """
    return compiled(function, forceinline=True, **options)
