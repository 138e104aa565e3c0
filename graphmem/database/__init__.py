"""The database: the driver, its errors, admission, migrations, failpoints, and two small caches of it."""
