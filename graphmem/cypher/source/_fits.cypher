// Whether a source has the mime type and the part of a name that are wanted. Takes `source`.
($mime_type IS NULL OR source.mime_type = $mime_type)
    AND ($search IS NULL OR EXISTS {
      MATCH (source)<-[stored:stored]-(:Transaction)
      WHERE toLower(stored.name) CONTAINS $search
    })
