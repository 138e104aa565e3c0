// Whether an observation counts as of a time of recording: the number of times at which it stopped or began again to
// count is even; see graphmem.model.membership. Takes its edge `seen` and `known`.
(seen.excluded IS NULL AND seen.excluded_learned IS NULL
  OR size([moment IN <observation._turned> WHERE moment <= known]) % 2 = 0)
