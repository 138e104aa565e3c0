// A number of its own identifies a thing, such as an invoice, an order or a book: things of the types that have one are
// folded again, by the path of withdrawn observations; when merges held is then worked out again. It has `$after`, so it
// runs in batches, by id.
MATCH (entity:Entity)
USING INDEX SEEK entity:Entity(id)
WHERE entity.id > $after
WITH entity ORDER BY entity.id LIMIT 2000
CALL (entity) {
  WITH entity WHERE entity.type IN [
    'account', 'accounts', 'agreement', 'agreements', 'angebot', 'angebote', 'animal', 'animals', 'appliance',
    'appliances', 'article', 'articles', 'artikel', 'asset', 'assets', 'auftraege', 'auftrag', 'auto', 'autos',
    'bank_account', 'bank_accounts', 'bankkonten', 'bankkonto', 'bestelling', 'bestellung', 'bestellungen', 'bill',
    'bills', 'book', 'booking', 'bookings', 'books', 'buch', 'buchung', 'buchungen', 'buecher', 'camera', 'cameras',
    'car', 'cars', 'case', 'cases', 'cat', 'cats', 'claim', 'claims', 'commande', 'commandes', 'company', 'compte',
    'comptes', 'computer', 'computers', 'contract', 'contracts', 'contrat', 'contrato', 'contrats', 'contratto',
    'credit_note', 'credit_notes', 'delivery_note', 'delivery_notes', 'device', 'devices', 'devis', 'dog', 'dogs',
    'ebook', 'ebooks', 'equipment', 'factura', 'facture', 'factures', 'factuur', 'fahrzeug', 'fahrzeuge', 'faktura',
    'fattura', 'firma', 'firmen', 'geraet', 'geraete', 'horse', 'horses', 'hund', 'hunde', 'instrument', 'instruments',
    'insurance_policies', 'insurance_policy', 'invoice', 'item', 'items', 'katze', 'katzen', 'konten', 'konto',
    'laptop', 'laptops', 'libro', 'libros', 'livre', 'livres', 'machine', 'machines', 'maschine', 'maschinen',
    'motorcycle', 'motorcycles', 'offer', 'offers', 'order', 'orders', 'ordine', 'ordini', 'organisation',
    'organisations', 'organization', 'organizations', 'parcel', 'parcels', 'pedido', 'pedidos', 'pet', 'pets', 'pferd',
    'pferde', 'police', 'policen', 'policies', 'policy', 'printer', 'printers', 'product', 'producto', 'products',
    'produit', 'produits', 'produkt', 'produkte', 'purchase_order', 'purchase_orders', 'quotation', 'quotations',
    'quote', 'quotes', 'receipt', 'receipts', 'rechnung', 'rechnungen', 'reservation', 'reservations', 'sales_order',
    'sales_orders', 'shipment', 'shipments', 'subscription', 'subscriptions', 'supplier', 'suppliers', 'ticket',
    'tickets', 'tier', 'tiere', 'truck', 'trucks', 'van', 'vans', 'variant', 'variants', 'vehicle', 'vehicles',
    'vendor', 'vendors', 'vertraege', 'vertrag', 'voiture'
  ]
  MATCH (owner:Owner {id: entity.owner})
  SET entity.refold = coalesce(entity.refold, 0) + 1, owner.refolding = true,
    owner.undated = coalesce(owner.revision, 0)
}
RETURN max(entity.id) AS after, count(entity) AS done;
