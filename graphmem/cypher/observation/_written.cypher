// In the form `written`: keep `observation` only if the wanted writers wrote it. Takes `observation`.
  // only written
  AND <observation._by_writers>
  // end
