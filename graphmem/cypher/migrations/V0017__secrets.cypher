// Secrets of the instance: what its processes share and nobody else knows.
CREATE CONSTRAINT instance_secret_name IF NOT EXISTS FOR (n:InstanceSecret) REQUIRE n.name IS UNIQUE;
