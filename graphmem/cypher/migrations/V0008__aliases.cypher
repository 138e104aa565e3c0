// Other names of an owner's entity types, as their registered schemas declare them.
CREATE CONSTRAINT type_alias_name IF NOT EXISTS FOR (n:TypeAlias) REQUIRE (n.owner, n.name) IS UNIQUE;
