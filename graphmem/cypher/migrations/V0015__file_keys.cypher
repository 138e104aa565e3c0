// The idempotency keys of files: which file an owner stored under each.
CREATE INDEX stored_by_file_key IF NOT EXISTS FOR ()-[n:stored]-() ON (n.owner, n.file_key);
