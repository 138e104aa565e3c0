// sandbox.erased: note that nothing of an earlier owner of the shared account is left.
//
// params  name: STRING, owner_id: STRING
// returns left: INTEGER
// mode    write
// index   account_name
// cost    light
// sealing name: clear
// tenancy global: the shared account belongs to the instance, and is no owner's data
MATCH (account:Account {name: $name})
SET account.retired = [each IN account.retired WHERE each <> $owner_id]
RETURN size(account.retired) AS left
