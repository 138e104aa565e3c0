"""``python -m graphmem``."""

from graphmem.cli.main import main

main()
