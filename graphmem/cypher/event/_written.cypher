// In the form `written`: keep `event` only if the wanted writers set it. Takes `event`.
  // only written
  AND <event._by_writers>
  // end
