"""Pure values and rules: identity, canonical forms, ranks and reduction. No input or output happens here.

What these modules produce (ids, canonical JSON, ranks) is stored for good, so it is pinned by golden
vectors in ``tests/unit/golden.json``: a change there is a change of the data format.
"""
