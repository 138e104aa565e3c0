// The numbers of an owner's listed events, sources and interpretations, counted one by one.
CALL () {
  MATCH (event:TimelineEvent)
  USING INDEX SEEK event:TimelineEvent(owner, listed_at, id)
  WHERE event.owner = $owner AND event.listed_at IS NOT NULL AND event.id IS NOT NULL
  RETURN count(event) AS events
}
CALL () {
  MATCH (source:Source)
  USING INDEX SEEK source:Source(owner, recorded_at, id)
  WHERE source.owner = $owner AND source.recorded_at IS NOT NULL AND source.id IS NOT NULL
  RETURN count(source) AS sources
}
CALL () {
  MATCH (interpretation:Interpretation)
  USING INDEX SEEK interpretation:Interpretation(owner, created_at, id)
  WHERE interpretation.owner = $owner AND interpretation.created_at IS NOT NULL AND interpretation.id IS NOT NULL
  RETURN count(interpretation) AS interpretations
}
