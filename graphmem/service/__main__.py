"""``python -m graphmem.service``: the detached service, with the settings of its environment."""

from graphmem.service.process import main

main()
