// Whether a relationship is listed: it is no member of a merged relationship, and it is live or deleted ones are
// included. Takes `relationship`.
relationship.shown_as IS NULL AND (relationship.live OR $include_deleted)
  <relationship._written>
