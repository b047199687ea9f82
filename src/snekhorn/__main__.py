"""python -m snekhorn: the same as the program `snekhorn`."""

from .cli import main

main()
