// Whether a walk follows `edge`. The edge of an owner's own type carries the name of the type. No `$types` means every
// type.
($types IS NULL OR type(edge) <> 'related' OR edge.type IN $types)
