// Whether a relationship is shown: it stands for itself, and lives unless said. Takes `relationship`.
relationship.shown_as IS NULL AND (relationship.live OR $include_deleted)
