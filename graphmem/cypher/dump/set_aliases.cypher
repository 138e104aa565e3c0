// dump.set_aliases: give other names of types another meaning, or none; how many changed.
//
// params  rows: LIST<MAP>
// returns changed: INTEGER
// mode    write
// index   owner_id, type_alias_name (owner, name)
// cost    light
// sealing rows: map aliases
// The first SET takes the lock of the owner, so that no turn decides on names between.
MATCH (owner:Owner {id: $owner})
SET owner.locked = true, owner.revision = owner.revision + 1
WITH owner
CALL () {
  UNWIND $rows AS row
  WITH row WHERE row.type IS NULL
  MATCH (alias:TypeAlias {owner: $owner, name: row.name})
  DELETE alias
}
CALL () {
  UNWIND $rows AS row
  WITH row WHERE row.type IS NOT NULL
  MERGE (alias:TypeAlias {owner: $owner, name: row.name})
  SET alias.type = row.type
}
RETURN size($rows) AS changed
