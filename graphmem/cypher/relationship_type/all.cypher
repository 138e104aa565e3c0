// relationship_type.all: every registered relationship type, by name, and the revision of the vocabulary.
//
// params  none
// returns revision: INTEGER, types: LIST<LIST>
// mode    read
// index   relationship_type_name
// cost    light
// tenancy global: the vocabulary belongs to the database, and a type says nothing about the data of an owner
<relationship_type._registered>
RETURN revision, types
