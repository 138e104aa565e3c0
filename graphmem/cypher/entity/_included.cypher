// Whether the request includes an unlisted entity, that is a deleted or a merged one, or one whose observations are
// excluded: it is merged into nothing, or it is `unmade`. Takes `entity`.
CASE WHEN entity.merged_into = '' OR (entity.unmade AND entity.merged_into IS NOT NULL) THEN $include_absent
  WHEN entity.merged_into IS NULL THEN $include_deleted
  ELSE $include_merged AND (entity.live OR $include_deleted) END
