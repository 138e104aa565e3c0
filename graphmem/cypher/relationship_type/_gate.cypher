// The one node that puts registrations in order. Its name is '', which no type has.
(gate:RelationshipType {name: ''})
