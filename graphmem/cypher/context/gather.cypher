// context.gather: what a context needs of some live entities, in the given order: the snapshot, the observation of
// each value, the other values that its fields had, and the relationships.
//
// params  entity_ids: LIST<STRING>, newest: INTEGER, relationships: INTEGER, earliest: INTEGER, characters: INTEGER,
//         day: INTEGER, words: LIST<STRING>, origins: INTEGER, before: INTEGER, every: BOOLEAN
// returns entities: LIST<LIST>
// mode    read
// index   entity_id, schema_head, observation_id, observed_in_time (home, at), relationship_by_source and
//         relationship_by_target (owner, end, last_observation_at, id)
// cost    heavy
// A row of `history` is an observation of a field that did not win. With `every`, all fields have them, else those that
// had another value. Only the `newest` observations of an entity before a time are read, and those after it. Its last parts
// tell whether it contradicts the current value: it is not older; and whether it says that the value before it was wrong. Beside a correction, a time without its hour may be any of its day
// (microseconds). An older value of more than `characters` is null. The last 18 digits of a rank are its time, counted
// from `earliest`. The rank of a union of values has no time, so nothing contradicts a union.
// A relationship has its metadata but values of more than `characters`. Of the first `origins` entities it has also the
// number of `words` that the text of the entity at its other end has.
UNWIND $entity_ids AS id
MATCH (entity:Entity {id: id})
WHERE entity.owner = $owner AND entity.listed IS NOT NULL
WITH collect(entity) AS matches
WITH matches, [entity IN matches | entity.size] AS sizes
WITH matches, <entity._fitting> AS fitting
CALL (matches, fitting) {
  UNWIND matches[..fitting] AS entity
  CALL (entity) {
    UNWIND entity.winners AS joined_ids
    UNWIND split(joined_ids, ',') AS winner
    WITH DISTINCT winner
    MATCH (observation:Observation {id: winner})
    RETURN collect([observation.id, observation.observed_at, <observation._mends>]) AS winners
  }
  CALL (entity) {
    // A list that is read by its property is read anew for each of its elements.
    WITH entity, entity.fields AS fields, entity.values AS values, entity.winners AS winner_ids, entity.ranks AS ranks
    MATCH (entity)<-[:MERGED_INTO*0..]-(member:Entity)
    WITH fields, values, winner_ids, ranks, member.id AS subject_id
    CALL (subject_id) {
      MATCH ()-[seen:OBSERVED]->(observation:Observation)
      USING INDEX SEEK seen:OBSERVED(home, at)
      WHERE seen.home = subject_id AND seen.at < $before AND <observation._seen_now>
      RETURN observation
      ORDER BY seen.home DESC, seen.at DESC LIMIT $newest
      UNION ALL
      MATCH ()-[seen:OBSERVED]->(observation:Observation)
      USING INDEX SEEK seen:OBSERVED(home, at)
      WHERE seen.home = subject_id AND seen.at >= $before AND <observation._seen_now>
      RETURN observation
      ORDER BY seen.home DESC, seen.at DESC LIMIT $newest
    }
    WITH fields, values, winner_ids, ranks, observation
    WHERE observation.kind IN <fact._value_kinds>
    UNWIND range(0, size(observation.fields) - 1) AS i
    WITH fields, values, winner_ids, ranks, observation, observation.fields[i] AS field, observation.values[i] AS value
    WITH values, winner_ids, ranks, observation, field, value,
      [j IN range(0, size(fields) - 1) WHERE fields[j] = field][0] AS j
    WHERE j IS NOT NULL AND winner_ids[j] <> observation.id
    WITH j, collect([field, value, observation.observed_at, observation.id, observation.observation_source,
      coalesce(toInteger(right(ranks[j], 18)) + $earliest <= observation.observed_at
        + CASE WHEN ranks[j] STARTS WITH '1.' AND observation.observed_at % $day = 0 THEN $day - 1 ELSE 0 END, false),
      <observation._mends>, value <> values[j]]) AS rows
    WHERE $every OR any(row IN rows WHERE row[7])
    UNWIND rows AS row
    RETURN collect([row[0], head([placed IN [[row[3], CASE WHEN row[5] OR size(row[1]) <= $characters
      OR row[1] STARTS WITH <fact._sealed> THEN row[1] END]] | <entity._placed>]), row[2], row[3], row[4],
      row[5], row[6]]) AS history
  }
  CALL (entity) {
    CALL (entity) {
      MATCH (relationship:Relationship)
      USING INDEX SEEK relationship:Relationship(owner, source, last_observation_at, id)
      WHERE relationship.owner = $owner AND relationship.source = entity.id
        AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
        AND relationship.shown_as IS NULL AND relationship.live
      MATCH (other:Entity {id: relationship.target})
      WHERE other.listed IS NOT NULL
      RETURN relationship, other, 'outgoing' AS direction
      ORDER BY relationship.owner DESC, relationship.source DESC, relationship.last_observation_at DESC,
        relationship.id DESC LIMIT $relationships
      UNION ALL
      MATCH (relationship:Relationship)
      USING INDEX SEEK relationship:Relationship(owner, target, last_observation_at, id)
      WHERE relationship.owner = $owner AND relationship.target = entity.id
        AND relationship.last_observation_at IS NOT NULL AND relationship.id IS NOT NULL
        AND relationship.shown_as IS NULL AND relationship.live
      MATCH (other:Entity {id: relationship.source})
      WHERE other.listed IS NOT NULL
      RETURN relationship, other, 'incoming' AS direction
      ORDER BY relationship.owner DESC, relationship.target DESC, relationship.last_observation_at DESC,
        relationship.id DESC LIMIT $relationships
    }
    RETURN collect([relationship.key, relationship.type, direction, other.id, other.type,
      head([placed IN [[other.id, other.canonical_name]] | <entity._placed>]),
      relationship.last_observation_at, relationship.turn[1],
      head([lists IN [[relationship.fields, relationship.values]] |
        [i IN range(0, size(lists[0]) - 1) WHERE <entity._short>
        | [lists[0][i], head([placed IN [[relationship.key, lists[1][i]]] | <entity._placed>])]]]),
      CASE WHEN entity.id IN $entity_ids[..$origins]
        THEN size([word IN $words WHERE ' ' + other.text CONTAINS ' ' + word]) ELSE 0 END, relationship.refold,
      CASE WHEN entity.id IN $entity_ids[..$origins] THEN head([placed IN [[other.id, other.sealed_text]] | <entity._placed>]) END, relationship.winners, <context._named_by>]) AS related
  }
  RETURN collect([<entity._row>, entity.ranks, winners, history, related]) AS entities
}
RETURN entities
