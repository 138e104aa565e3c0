// account.of_key: the account of an API key, and the key, by the key's digest.
//
// params  digest: STRING
// returns account: LIST, key: LIST
// mode    read
// index   api_key_digest
// cost    light
// tenancy global: accounts belong to the instance, and no account is an owner's data
MATCH (key:ApiKey {digest: $digest})
MATCH (account:Account)-[:has_key]->(key)
RETURN <account._row> AS account, <account._key> AS key
