// Whether a source has the mime type, the part of a name or a text that says it (`$said` are ids of such sources), and an
// interpretation, as they are wanted. Sealed names are not compared: `$said` has the sources of such names too. Takes `source`.
($mime_type IS NULL OR source.mime_type = $mime_type)
    AND ($search IS NULL OR source.id IN $said OR EXISTS {
      MATCH (source)<-[stored:stored]-(:Transaction)
      WHERE toLower(stored.name) CONTAINS $search AND NOT stored.name STARTS WITH <fact._sealed>
    })
    AND ($interpreted IS NULL OR $interpreted = EXISTS { (source)<-[:of]-(:Interpretation) })
    // only written
    AND EXISTS {
      MATCH (source)<-[:stored]-(:Transaction)-[:BY_AGENT]->(agent:Agent)
      WHERE all(writer IN $writers WHERE writer IN agent.writers)
    }
    // end
