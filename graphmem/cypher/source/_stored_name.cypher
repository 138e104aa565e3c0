// The name that a transaction gave a file, to which a sealed one is bound. Takes `source`, `stored` and `transaction`.
head([placed IN [[source.id + ' ' + transaction.id, stored.name]] | <entity._placed>])
