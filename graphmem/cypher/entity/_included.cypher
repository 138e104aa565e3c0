// Whether the request includes an unlisted entity, that is a deleted or a merged one. Takes `entity`.
CASE WHEN entity.merged_into IS NULL THEN $include_deleted
  ELSE $include_merged AND (entity.live OR $include_deleted) END
