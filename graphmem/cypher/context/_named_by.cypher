// The first field that names `other`, and the observations that set it.
head([name IN ['canonical_name', 'name', 'full_name', 'title'] WHERE name IN other.fields |
  [name, head([i IN range(0, size(other.fields) - 1) WHERE other.fields[i] = name | other.winners[i]])]])
