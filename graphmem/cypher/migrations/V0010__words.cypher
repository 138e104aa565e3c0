// Search by words, without a commit that waits for it: the index follows each commit by some milliseconds, and a
// search waits until it holds all that was committed before (search/_text.cypher). Half of a single store's time was
// the refresh of an index that each commit waited for.
DROP INDEX entity_text IF EXISTS;
CREATE FULLTEXT INDEX entity_words IF NOT EXISTS FOR (n:Entity) ON EACH [n.text, n.owner, n.listed]
  OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace', `fulltext.eventually_consistent`: true}};
