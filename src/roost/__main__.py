"""`python -m roost` is the `roost` command."""

from roost.cli.app import main

main()
