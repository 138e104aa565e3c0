// Whether a value is answered: it has at most `$characters`, or is sealed, so that its length is not known. Takes `lists`
// (fields and values) and `i`.
(size(lists[1][i]) <= $characters OR lists[1][i] STARTS WITH <fact._sealed>)
