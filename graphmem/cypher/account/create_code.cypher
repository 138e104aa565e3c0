// account.create_code: store a one-time code of an account by its digest, in place of its earlier ones; no row if there
// is no such account.
//
// params  account_id: STRING, digest: STRING, expires_at: INTEGER
// returns expires_at: INTEGER
// mode    write
// index   account_id
// cost    light
// tenancy global: accounts belong to the instance, and no account is an owner's data
// The first SET takes the lock of the account, so that of two codes made at once the later one is left.
MATCH (account:Account {id: $account_id})
SET account.locked = true
WITH account
CALL (account) {
  MATCH (account)-[:has_code]->(earlier:OneTimeCode)
  DETACH DELETE earlier
}
CREATE (account)-[:has_code]->(code:OneTimeCode {digest: $digest, expires_at: $expires_at})
RETURN code.expires_at AS expires_at
