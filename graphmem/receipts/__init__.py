"""Receipts: what was told to whom. An answer notes what it shows while it is made, which asks the database
nothing (:mod:`.collected`); the process that answered writes its receipts soon after (:mod:`.recording`)."""
