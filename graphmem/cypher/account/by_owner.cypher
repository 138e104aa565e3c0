// account.by_owner: the account of an owner, whether the owner has stored something, and whether that is being erased; no
// row if neither is there.
//
// params  owner_id: STRING
// returns account: LIST, has_data: BOOLEAN, is_erased: BOOLEAN
// mode    read
// index   account_owner, owner_id
// cost    light
// tenancy global: accounts belong to the instance, and no account is an owner's data
OPTIONAL MATCH (account:Account {owner: $owner_id})
OPTIONAL MATCH (owner:Owner {id: $owner_id})
WITH account, owner WHERE account IS NOT NULL OR owner IS NOT NULL
RETURN CASE WHEN account IS NOT NULL THEN <account._row> END AS account,
  coalesce(owner.sequence, 0) > 0 AS has_data, owner.erased_at IS NOT NULL AS is_erased
