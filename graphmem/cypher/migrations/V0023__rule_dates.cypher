// When merges by rule held: earlier versions dated some of them by the order of writing. The worker works that out again
// from all facts of each owner (audit/undated.cypher). It has `$after`, so it runs in batches, by id.
MATCH (owner:Owner)
USING INDEX SEEK owner:Owner(id)
WHERE owner.id > $after
WITH owner ORDER BY owner.id LIMIT 2000
SET owner.undated = coalesce(owner.revision, 0), owner.refolding = true
RETURN max(owner.id) AS after, count(owner) AS done;
