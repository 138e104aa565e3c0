"""The database: the driver, its errors, admission, migrations, and two small caches of it."""
