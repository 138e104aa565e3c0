// receipt.told: how many receipts tell something of observations, for each of some changes in their order.
//
// params  told: LIST<LIST>
// returns counts: LIST<INTEGER>
// mode    read
// index   observation_id
// cost    light
// sealing told: clear
// A change is [the ids of the observations, the time before which they were told].
UNWIND range(0, size($told) - 1) AS number
CALL (number) {
  UNWIND $told[number][0] AS id
  MATCH (observation:Observation {id: id})<-[:told_of]-(receipt:Receipt)
  WHERE observation.owner = $owner
  // The time is compared here, so that no index of times is gone through for it.
  RETURN count(DISTINCT CASE WHEN receipt.at < $told[number][1] THEN receipt END) AS receipts
}
WITH number, receipts ORDER BY number
RETURN collect(receipts) AS counts
