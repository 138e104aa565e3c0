// The newest name that a store gave a file; null if none did. Takes `source`.
COLLECT {
  MATCH (source)<-[stored:stored]-(transaction:Transaction)
  WHERE stored.name IS NOT NULL
  RETURN <source._stored_name> ORDER BY stored.recorded_at DESC, transaction.id DESC LIMIT 1
}[0]
