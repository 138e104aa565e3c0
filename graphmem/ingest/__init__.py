"""From bytes to what can be stored: one module per format. No database and no network here."""
