// secret.get: a secret of the instance; no row if it was never made.
//
// params  name: STRING
// returns secret: STRING
// mode    read
// index   instance_secret_name
// cost    light
// sealing secret: equal secret
// tenancy global: a secret belongs to the instance, and is no owner's data
MATCH (secret:InstanceSecret {name: $name})
RETURN secret.value AS secret
