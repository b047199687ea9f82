"""Compile functions with the options that they share, and keep the compiled code on disk if a folder is writable."""

from functools import partial

from numba import config, njit

from ..runtime.user_warnings import warn

# Sums may be reordered and divisions replaced by multiplications; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "arcp", "nsz"}


def compiled(function=None, /, **options):
    """Compile a loop that Python calls, when it is first called.

    A function for which `fastmath` is not set inherits it from the one that makes Numba compile it, so it is always
    set. Numba's own helpers, such as the one of the operator ``**``, inherit it even so: do not use such operators.
    """
    if function is None:
        return partial(compiled, **options)
    # No other library calls the loops, so the wrapper for C would only take time to compile.
    options = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, "fastmath": False, **options}
    return njit(cache=CACHE_FOLDER is not None, **options)(function)


def inlined(function=None, /, **options):
    """Compile a function that loops call, as a part of each loop.

    Numba optimises a function that is not inlined once by itself and once more in every loop that calls it. Which of
    these copies a loop calls depends on what the process has compiled or loaded before. The process that compiles the
    code and the ones that load it from the cache would then return different last digits.
    """
    return compiled(function, forceinline=True, **options)


def _find_cache_folder() -> str | None:
    """Return the folder in which Numba keeps compiled code: next to this file, in the home, or NUMBA_CACHE_DIR."""
    try:
        return njit(cache=True)(_find_cache_folder).stats.cache_path
    except RuntimeError:  # none of them is writable, as in a container with a read-only file system
        return None


IS_COMPILED: bool = not config.DISABLE_JIT
CACHE_FOLDER: str | None = _find_cache_folder() if IS_COMPILED else None

if not IS_COMPILED:
    warn(
        "NUMBA_DISABLE_JIT is set, so the numerical code is not compiled and runs hundreds of times slower; "
        "unset it unless you are debugging."
    )
elif CACHE_FOLDER is None:
    warn(
        "compiled code cannot be kept, because no folder for it is writable, so each process compiles again, which "
        "takes ten seconds or more; set NUMBA_CACHE_DIR to a writable folder."
    )
