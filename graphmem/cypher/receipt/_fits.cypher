// Whether `receipt` is among those that are asked for: of one who asked, by any of some writers, since a time.
($asker IS NULL OR receipt.asker = $asker) AND receipt.at >= $since
  AND (size($writers) = 0 OR any(writer IN $writers WHERE writer IN receipt.writers))
