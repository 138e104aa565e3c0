// The moments at which what was so became otherwise, of `states`: pairs of a moment and whether something is excluded from
// then on, in order. Before the first it is included.
[i IN range(0, size(states) - 1)
    WHERE states[i][1] <> CASE i WHEN 0 THEN false ELSE states[i - 1][1] END | states[i][0]]
