// The one node that registrations are ordered by; '' is nobody's name, so it is no type itself.
(gate:RelationshipType {name: ''})
