// What a copy in memory holds of an entity; in Python: graphmem.search.owner_copy.CopiedEntity. Takes `entity` and
// `meaning`. `listed` is null if answers no longer list the entity.
// `thread` is the first value that says to which conversation a message belongs.
[entity.id, coalesce(entity.changed, 0), coalesce(meaning.changed, 0), entity.listed,
  coalesce(entity.last_observation_at, 0), coalesce(entity.text, entity.sealed_text), meaning.model, meaning.packed, entity.fields,
  CASE WHEN entity.listed IN ['message', 'chat_message', 'turn', 'utterance', 'post', 'comment'] THEN
    head([lists IN [[entity.fields, entity.values]] | head([i IN range(0, size(lists[0]) - 1) WHERE lists[0][i] IN
      ['conversation', 'conversation_id', 'thread', 'thread_id', 'chat', 'chat_id', 'session_id'] |
      CASE WHEN lists[1][i] STARTS WITH <fact._sealed> THEN lists[1][i] ELSE left(lists[1][i], 200) END])]) END]
