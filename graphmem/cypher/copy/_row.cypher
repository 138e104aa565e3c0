// One other copy; in Python: graphmem.copies.stored_copies.Copy. Takes `copy`.
[copy.id, copy.owner, copy.account, copy.url, copy.copy_key, copy.peer, copy.peer_name, copy.status, copy.cursor, copy.pushed,
  copy.node_key, copy.files, copy.failures, copy.last_error, copy.exchanged_at, copy.due_at, copy.created_at, copy.sent,
  copy.taken, coalesce(copy.refused, []), coalesce(copy.unsent, []), coalesce(copy.joins, false)]
