// account.present: the accounts that have the name, the id or the owner of an account of a dump, and whether one of them
// has a password, a key or a grant.
//
// params  name: STRING, id: STRING, owner_id: STRING
// returns accounts: LIST<LIST>, have_credential: BOOLEAN
// mode    read
// index   account_name, account_id, account_owner
// cost    light
// tenancy global: accounts belong to the instance, and no account is an owner's data
OPTIONAL MATCH (named:Account {name: $name})
OPTIONAL MATCH (identified:Account {id: $id})
OPTIONAL MATCH (owning:Account {owner: $owner_id})
UNWIND [named, identified, owning] AS account
WITH DISTINCT account WHERE account IS NOT NULL
WITH collect(account) AS present
RETURN [account IN present | <account._record>] AS accounts,
  any(account IN present
    WHERE account.password IS NOT NULL OR EXISTS { (account)-[:has_key|granted]->() }) AS have_credential
