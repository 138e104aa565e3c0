// The live entities that one of `$pairs` names, each with `strength`, the index of its strongest kind in
// `$kinds`, and `names`, the pairs that name it. Takes `$types`; none means every type. It costs a seek for each pair.
// What named an entity formerly, or names what is merged into it and not itself, is weaker than any kind: its strength
// is 100 more. In Python: graphmem.search.questions.naming.kind_of.
UNWIND $pairs AS pair
MATCH (identifier:Identifier)
USING INDEX SEEK identifier:Identifier(owner, kind, value)
WHERE identifier.owner = $owner AND identifier.kind = pair[0] AND identifier.value = pair[1]
MATCH (identifier)-[naming:IDENTIFIES|identified]->(named:Entity)
WHERE named.owner = $owner
MATCH (named)-[:MERGED_INTO*0..]->(entity:Entity)
WHERE entity.merged_into IS NULL AND entity.listed IS NOT NULL AND (size($types) = 0 OR entity.type IN $types)
RETURN entity, min([i IN range(0, size($kinds) - 1) WHERE $kinds[i] = pair[0]][0]
    + CASE WHEN named <> entity OR type(naming) = 'identified' THEN 100 ELSE 0 END) AS strength,
  collect(DISTINCT pair) AS names
