-- What an export holds while it is written.
CREATE TABLE entity (id TEXT PRIMARY KEY, type TEXT, name TEXT, row TEXT);
CREATE TABLE merged (id TEXT PRIMARY KEY, into_id TEXT);
CREATE TABLE observation (id TEXT PRIMARY KEY, entity_id TEXT, observed_at TEXT, row TEXT);
CREATE TABLE relationship (id TEXT PRIMARY KEY, source TEXT, target TEXT, type TEXT, row TEXT);
CREATE TABLE source (id TEXT PRIMARY KEY, row TEXT);
CREATE TABLE identity (entity_id TEXT PRIMARY KEY, row TEXT);
