// How many items of a list fit into one answer, in their order; at least one. Takes `sizes`, the characters of each
// item's values. A page of 500 values of 1 MB would not fit into the server's memory. A damaged size counts for none.
CASE WHEN reduce(characters = 0, size IN sizes | characters + CASE WHEN size >= 0 THEN size ELSE 0 END) <= 8000000
  THEN size(sizes)
  ELSE size([i IN range(1, size(sizes) - 1) WHERE reduce(characters = 0, size IN sizes[..i + 1] |
    characters + CASE WHEN size >= 0 THEN size ELSE 0 END) <= 8000000]) + 1 END
