// The live entities near each of `$probes`: those that share an exact identifier with the probe, and those whose
// names are next to its name in the order of names. `near` pairs each probe's id with the ids near it; `profiles`
// holds each of these entities once. A probe has an id, types, `exact` and `beside` (pairs of kind and value), and
// `reach` (the number of names to read on each side). `$reach` is the greatest reach, because a LIMIT cannot differ
// by probe. The query excludes the probe itself without comparing ids: otherwise the planner may read all ids. At
// most 200 entities with one identifier are read, deleted ones and those of other types included, because this runs
// under the owner's lock.
CALL () {
  UNWIND $probes AS probe
  CALL (probe) {
    UNWIND probe.exact AS pair
    MATCH (identifier:Identifier {owner: $owner, kind: pair[0], value: pair[1]})
    CALL (probe, identifier) {
      MATCH (identifier)-[:IDENTIFIES]->(entity:Entity)
      WITH probe, entity LIMIT 200
      WHERE entity.listed IN probe.types AND CASE entity.id WHEN probe.id THEN false ELSE true END
      RETURN entity LIMIT 20
    }
    RETURN entity
    UNION
    UNWIND probe.beside AS pair
    CALL (probe, pair) {
      MATCH (identifier:Identifier)
      USING INDEX SEEK identifier:Identifier(owner, kind, value)
      WHERE identifier.owner = $owner AND identifier.kind = pair[0] AND identifier.value > pair[1]
      WITH probe, identifier ORDER BY identifier.owner, identifier.kind, identifier.value LIMIT $reach
      WITH probe, collect(identifier) AS beside
      UNWIND beside[..probe.reach] AS identifier
      RETURN identifier
      UNION ALL
      MATCH (identifier:Identifier)
      USING INDEX SEEK identifier:Identifier(owner, kind, value)
      WHERE identifier.owner = $owner AND identifier.kind = pair[0] AND identifier.value < pair[1]
      WITH probe, identifier
      ORDER BY identifier.owner DESC, identifier.kind DESC, identifier.value DESC LIMIT $reach
      WITH probe, collect(identifier) AS beside
      UNWIND beside[..probe.reach] AS identifier
      RETURN identifier
    }
    CALL (probe, identifier) {
      MATCH (identifier)-[:IDENTIFIES]->(entity:Entity)
      WITH probe, entity LIMIT 200
      WHERE entity.listed IN probe.types AND CASE entity.id WHEN probe.id THEN false ELSE true END
      RETURN entity LIMIT 5
    }
    RETURN entity
  }
  RETURN probe.id AS id, collect(DISTINCT entity) AS entities
}
WITH collect([id, [entity IN entities | entity.id]]) AS near, collect(entities) AS groups
CALL (groups) {
  UNWIND groups AS group
  UNWIND group AS entity
  WITH DISTINCT entity
  RETURN collect(<duplicate._row>) AS profiles
}
RETURN near, profiles
