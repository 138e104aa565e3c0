// passages.set: store the passages of a source in place of earlier ones, unless the owner is being erased.
//
// params  source_id: STRING, reader: STRING, title: STRING, key: STRING, texts: LIST<STRING>,
//         places: LIST<INTEGER>, packed: ANY, is_cut: BOOLEAN
// returns changed: INTEGER
// mode    write
// index   owner_id, source_id, passages_source
// cost    light
// sealing key: sealed at source_id, packed: sealed at source_id, reader: clear,
//         texts: sealed at source_id, title: sealed at source_id
// `places` has four numbers for each text: where it begins and ends in the text of the file, its page and its line; the
// page is 0 where the format has none. `packed` has a vector for each text. `is_cut`: the text goes on behind its
// passages. The first SET takes the lock of the owner. Copies in memory follow `passages_changed`: the number of the last change, and how many sources it
// changed.
MATCH (owner:Owner {id: $owner})
SET owner.locked = true
WITH owner WHERE owner.revision IS NOT NULL
MATCH (source:Source {id: $source_id})
WHERE source.owner = $owner
SET owner.passages_changed = [coalesce(owner.passages_changed[0], 0) + 1, 1], source.reader = $reader
MERGE (passages:Passages {source_id: $source_id})
SET passages.owner = $owner, passages.changed = owner.passages_changed[0], passages.reader = $reader,
  passages.title = $title, passages.key = $key, passages.texts = $texts, passages.places = $places,
  passages.packed = $packed, passages.is_cut = $is_cut
MERGE (passages)-[:of]->(source)
RETURN passages.changed AS changed
