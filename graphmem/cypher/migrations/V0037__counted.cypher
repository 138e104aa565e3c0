// The numbers of an owner's listed events, sources and interpretations, which a turn keeps from now on. It has `$after`, so
// it runs in batches, by id.
MATCH (owner:Owner)
USING INDEX SEEK owner:Owner(id)
WHERE owner.id > $after
WITH owner ORDER BY owner.id LIMIT 100
SET owner.events = COUNT {
    MATCH (event:TimelineEvent) WHERE event.owner = owner.id AND event.listed_at IS NOT NULL AND event.id IS NOT NULL
  },
  owner.sources = COUNT {
    MATCH (source:Source) WHERE source.owner = owner.id AND source.recorded_at IS NOT NULL AND source.id IS NOT NULL
  },
  owner.interpretations = COUNT {
    MATCH (interpretation:Interpretation)
    WHERE interpretation.owner = owner.id AND interpretation.created_at IS NOT NULL AND interpretation.id IS NOT NULL
  }
RETURN max(owner.id) AS after, count(owner) AS done;
