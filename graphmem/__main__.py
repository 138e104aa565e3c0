"""``python -m graphmem``."""

from graphmem.cli.entry import main

main()
