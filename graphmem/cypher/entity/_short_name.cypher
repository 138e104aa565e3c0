// The name of an entity for a list, at most its first 1,000 characters; a sealed one is whole, as a part of it does not
// open. Takes `entity`.
CASE WHEN entity.canonical_name STARTS WITH <fact._sealed> THEN entity.canonical_name ELSE left(entity.canonical_name, 1000) END
