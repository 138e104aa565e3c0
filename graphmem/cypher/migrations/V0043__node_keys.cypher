// The key of an owner's node, which cursors of changes name: the nodes of the first versions have none, so that no
// webhook was sent for them, and each check found the key damaged. It has `$after`, so it runs in batches, by id.
MATCH (owner:Owner)
USING INDEX SEEK owner:Owner(id)
WHERE owner.id > $after
WITH owner ORDER BY owner.id LIMIT 2000
SET owner.node_key = coalesce(owner.node_key, randomUUID())
RETURN max(owner.id) AS after, count(owner) AS done;
