// Search by words and by meaning.
//
// `text` is what a listed entity says, in words; the owner stands inside the index, so that no limit meets the
// entities of others. It is taken as the words that it is made of, folded already: the other analyzers drop English
// words such as "an" and letters that they do not know. Not eventually consistent: what is acknowledged is found.
CREATE FULLTEXT INDEX entity_text IF NOT EXISTS FOR (n:Entity) ON EACH [n.text, n.owner, n.listed]
  OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace', `fulltext.eventually_consistent`: false}};
CREATE CONSTRAINT meaning_entity IF NOT EXISTS FOR (n:Meaning) REQUIRE n.entity_id IS UNIQUE;
// What is compared of an owner and a type, and what of it waits for a vector of the model in use.
CREATE INDEX meaning_by_type IF NOT EXISTS FOR (n:Meaning) ON (n.owner, n.type, n.model);
CREATE INDEX meaning_by_model IF NOT EXISTS FOR (n:Meaning) ON (n.model);
// `fresh` is the type while the vector is in no vector index yet: the worker puts many in at once.
CREATE INDEX meaning_fresh IF NOT EXISTS FOR (n:Meaning) ON (n.fresh, n.owner);
CREATE VECTOR INDEX meaning_vector IF NOT EXISTS FOR (n:Vector) ON (n.vector)
  OPTIONS {indexConfig: {`vector.dimensions`: 256, `vector.similarity_function`: 'cosine', `vector.quantization.enabled`: false}};
// The model in use: the service that was started last says which. Others leave vectors alone.
CREATE CONSTRAINT model_use IF NOT EXISTS FOR (n:Model) REQUIRE n.use IS UNIQUE;
