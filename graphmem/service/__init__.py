"""The local service: one detached process per data directory holds the database, and other processes call it.

``place`` says where its socket is. ``calling`` starts it, waits for it and calls it; it imports neither the
operations nor the database. ``process`` is the service itself: ``front`` answers while the database starts,
and ``serving`` opens the database. ``beside`` lets `graphmem serve` have the socket.
"""
