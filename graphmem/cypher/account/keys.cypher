// account.keys: the API keys of an account, newest first, revoked ones included.
//
// params  account_id: STRING
// returns key: LIST
// mode    read
// index   account_id
// cost    light
// tenancy global: accounts belong to the instance, and no account is an owner's data
MATCH (account:Account {id: $account_id})-[:has_key]->(key:ApiKey)
WITH key ORDER BY key.created_at DESC, key.id
RETURN <account._key> AS key
