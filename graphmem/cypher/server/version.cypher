// server.version: name and version of the database.
//
// params  none
// returns name: STRING, version: STRING
// mode    read
// index   none
// cost    light
// tenancy global: it reads nothing that is anybody's
CALL dbms.components() YIELD name, versions
RETURN name, versions[0] AS version LIMIT 1
