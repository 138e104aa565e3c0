// secret.make: a secret of the instance; the proposed one if there is none yet.
//
// params  name: STRING, proposed: STRING, created_at: INTEGER
// returns secret: STRING
// mode    write
// index   instance_secret_name
// cost    light
// sealing name: clear, proposed: equal secret, secret: equal secret
// tenancy global: a secret belongs to the instance, and is no owner's data
MERGE (secret:InstanceSecret {name: $name})
ON CREATE SET secret.value = $proposed, secret.created_at = $created_at
RETURN secret.value AS secret
