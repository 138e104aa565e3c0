// Searches compare copies in memory (search/copy.cypher) and nothing else. To hold each entity in an index of words and in
// one of vectors was two fifths of what a store costs the database. The label and the properties that they read stay on
// nodes until these are written again: nothing reads them.
DROP INDEX entity_words IF EXISTS;
DROP INDEX meaning_vector IF EXISTS;
DROP INDEX meaning_fresh IF EXISTS;
