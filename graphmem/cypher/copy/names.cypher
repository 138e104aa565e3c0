// copy.names: what the other copies of an account's data are called, for who erases it.
//
// params  account_id: STRING
// returns copies: LIST<LIST>
// mode    read
// index   account_id
// cost    light
// tenancy global: copies belong to the instance, and each is of one account
MATCH (account:Account {id: $account_id})
WITH account, [(account)-[:has_copy]->(copy:Copy) | [copy.id, copy.peer_name]] AS copies
RETURN copies
