// The one node that puts registrations in order. No type has the name '', so the node is no type itself.
(gate:RelationshipType {name: ''})
