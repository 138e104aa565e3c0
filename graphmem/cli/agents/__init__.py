"""What brings graphmem into the agents of this machine: configuration, instructions and hooks."""
