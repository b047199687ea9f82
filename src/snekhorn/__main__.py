"""python -m snekhorn: the same as the program `snekhorn`."""

from .cli import main

if __name__ == "__main__":  # and not where a process that it starts looks here
    main()
