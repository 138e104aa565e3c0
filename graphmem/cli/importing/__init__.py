"""What `graphmem import` reads beside single files: folders of notes, and other services."""
