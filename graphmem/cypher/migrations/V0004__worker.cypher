// What waits for the worker: heads of schemas whose entities are to be folded again say `pending`, others do not.
CREATE INDEX schema_pending IF NOT EXISTS FOR (n:Schema) ON (n.pending);
