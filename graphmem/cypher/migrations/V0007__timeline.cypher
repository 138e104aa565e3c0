// Timeline events. `listed_at` is their time while their entity shows them, and absent once they are superseded or
// their entity is deleted or merged: pages and counts meet listed ones only.
CREATE CONSTRAINT event_id IF NOT EXISTS FOR (n:TimelineEvent) REQUIRE n.id IS UNIQUE;
CREATE INDEX event_by_time IF NOT EXISTS FOR (n:TimelineEvent) ON (n.owner, n.listed_at, n.id);
CREATE INDEX event_by_type IF NOT EXISTS FOR (n:TimelineEvent) ON (n.owner, n.event_type, n.listed_at, n.id);
CREATE INDEX event_by_entity_type IF NOT EXISTS FOR (n:TimelineEvent) ON (n.owner, n.entity_type, n.listed_at, n.id);
// What of an owner waits to be folded under the rules of today: until then the timeline is not complete.
CREATE INDEX schema_waiting IF NOT EXISTS FOR (n:Schema) ON (n.owner, n.pending);
