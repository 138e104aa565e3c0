// How many items of a list one statement erases, in their order: at least one. Takes `weights`: the edges of each item,
// or 1, and one more for every 4,000 characters of its values. Large values fill a transaction as many nodes do.
reduce(batch = [0, 0], weight IN weights | CASE WHEN batch[0] = 0 OR batch[1] + weight <= $limit
  THEN [batch[0] + 1, batch[1] + weight] ELSE [batch[0], $limit + 1] END)[0]
