// Passages: the text of a source in pieces, each with its place. `reader` of a source names the parser, its version and
// the model of the vectors that they were made with; it is `?` while they are to be made. The statement for the sources of
// an older database has `$after`, so it runs in batches, by id.
CREATE CONSTRAINT passages_source IF NOT EXISTS FOR (n:Passages) REQUIRE n.source_id IS UNIQUE;
CREATE INDEX passages_changed IF NOT EXISTS FOR (n:Passages) ON (n.owner, n.changed, n.source_id);
CREATE INDEX source_by_reader IF NOT EXISTS FOR (n:Source) ON (n.reader);
MATCH (source:Source)
WHERE source.id > $after
WITH source ORDER BY source.id LIMIT 5000
SET source.reader = coalesce(source.reader, '?')
RETURN max(source.id) AS after, count(source) AS done;
