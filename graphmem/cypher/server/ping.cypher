// server.ping: whether the database answers.
//
// params  none
// returns answer: INTEGER
// mode    read
// index   none
// cost    light
// tenancy global: it reads no data
RETURN 1 AS answer
