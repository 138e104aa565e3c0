// As many of the transactions in `stretch` as fit into an answer, each with its parts as records of a dump, as `transactions`,
// and how many they are, as `fitting`.
WITH stretch, [transaction IN stretch | size(transaction.answer) + reduce(characters = 500, size IN COLLECT {
    MATCH (transaction)<-[:IN_TRANSACTION]-(observation:Observation)
    RETURN observation.size
  } | characters + size + 500)] AS sizes
WITH stretch, <entity._fitting> AS fitting
WITH stretch, fitting, [transaction IN stretch[..fitting] |
  [<dump._transaction>,
    COLLECT {
      MATCH (transaction)-[stored:stored]->(source:Source)
      WITH source, stored ORDER BY source.id
      RETURN <dump._source>
    },
    COLLECT {
      MATCH (transaction)-[:ended]->(interpretation:Interpretation)
      WITH interpretation ORDER BY interpretation.id
      RETURN <dump._interpretation>
    },
    COLLECT {
      MATCH (transaction)<-[:IN_TRANSACTION]-(exclusion:Exclusion)
      WITH exclusion ORDER BY exclusion.id
      RETURN <dump._exclusion>
    },
    COLLECT {
      MATCH (transaction)<-[:IN_TRANSACTION]-(dismissal:Dismissal)
      WITH dismissal ORDER BY dismissal.id
      RETURN <dump._dismissal>
    },
    COLLECT {
      MATCH (transaction)<-[:IN_TRANSACTION]-(observation:Observation)
      WITH observation ORDER BY observation.id
      RETURN <dump._observation>
    },
    COLLECT {
      MATCH (transaction)<-[:also_in]-(observation:Observation)
      WITH observation.id AS id ORDER BY id
      RETURN [id]
    },
    COLLECT {
      MATCH (transaction)<-[:IN_TRANSACTION]-(split:Split)
      WITH split ORDER BY split.id
      RETURN <dump._split>
    },
    COLLECT {
      MATCH (transaction)<-[:IN_TRANSACTION]-(renaming:Renaming)
      WITH renaming ORDER BY renaming.id
      RETURN <dump._renaming>
    }]] AS transactions
