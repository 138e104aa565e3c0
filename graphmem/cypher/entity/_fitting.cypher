// How many of `found` (entities in their order) fit into one answer by the characters of their values; one at
// least. Takes `found`; a page of 500 values of 1 MB would not fit into the server's memory.
size([i IN range(1, size(found) - 1)
  WHERE reduce(characters = 0, one IN found[..i + 1] | characters + one.size) <= 8000000]) + 1
