"""What `graphmem export` writes: a copy of the facts on the disk, and the formats that are made of it."""
