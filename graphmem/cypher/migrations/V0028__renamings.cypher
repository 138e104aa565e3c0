// Other names of an owner's own relationship types.
CREATE CONSTRAINT renaming_id IF NOT EXISTS FOR (n:Renaming) REQUIRE n.id IS UNIQUE;
CREATE INDEX renaming_by_name IF NOT EXISTS FOR (n:Renaming) ON (n.owner, n.name);
