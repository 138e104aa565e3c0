// As many of the transactions in `stretch` as fit into an answer, as `transactions`, and whether some were left out, as
// `cut`. Values alone are large.
WITH stretch, [transaction IN stretch | reduce(characters = 500, size IN COLLECT {
    MATCH (transaction)<-[:IN_TRANSACTION]-(observation:Observation)
    RETURN observation.size
  } | characters + size + 500)] AS sizes
WITH stretch, <entity._fitting> AS fitting
RETURN [transaction IN stretch[..fitting] | <change._recorded>] AS transactions, fitting < size(stretch) AS cut
