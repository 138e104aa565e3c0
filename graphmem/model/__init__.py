"""The stored formats and the rules over stored facts. Nothing here does input or output.

What these modules answer for data that is stored today never changes; only new kinds are added. Ids,
canonical JSON, ranks and hashes are stored, and golden vectors in ``tests/unit/golden.json`` pin them. What
may change any day lives in :mod:`graphmem.search`, :mod:`graphmem.duplicates` and :mod:`graphmem.text`.
"""
