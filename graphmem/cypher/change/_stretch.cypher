// As many of the transactions in `stretch` as fit into an answer, as `transactions`, and whether some were left out, as
// `cut`. Changes take far more memory than observations: about 2,000 of these fit.
WITH stretch, [transaction IN stretch | reduce(characters = 4000, size IN COLLECT {
    MATCH (transaction)<-[:IN_TRANSACTION]-(observation:Observation)
    RETURN observation.size
  } | characters + size + 4000)] AS sizes
WITH stretch, <entity._fitting> AS fitting
RETURN [transaction IN stretch[..fitting] | <change._recorded>] AS transactions, fitting < size(stretch) AS cut
