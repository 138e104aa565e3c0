// dump.file_bytes: the bytes of all files of an owner.
//
// params  none
// returns bytes: INTEGER
// mode    read
// index   source_by_recorded (owner, recorded_at, id)
// cost    heavy
MATCH (source:Source)
USING INDEX SEEK source:Source(owner, recorded_at, id)
WHERE source.owner = $owner AND source.recorded_at IS NOT NULL AND source.id IS NOT NULL
RETURN sum(source.size) AS bytes
