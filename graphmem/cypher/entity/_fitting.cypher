// How many of `found` fit into one answer, in their order; at least one. Takes `sizes`, the characters of their
// values. A page of 500 values of 1 MB would not fit into the server's memory.
CASE WHEN reduce(characters = 0, one IN sizes | characters + one) <= 8000000 THEN size(sizes)
  ELSE size([i IN range(1, size(sizes) - 1)
    WHERE reduce(characters = 0, one IN sizes[..i + 1] | characters + one) <= 8000000]) + 1 END
