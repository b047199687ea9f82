"""Run the program `snekhorn` with `python -m snekhorn`."""

from .cli import main

main()
