// Whether the request includes an unlisted entity: a deleted one, or one that is merged into another.
CASE WHEN entity.merged_into IS NULL THEN $include_deleted
  ELSE $include_merged AND (entity.live OR $include_deleted) END
