"""One normaliser each for words, identifiers, phones and URLs, for search and look-up.

Any of it may change any day. Indexes hold these normal forms, so a change needs ``graphmem rebuild``; facts
do not. The pinned normal form of identities is in :mod:`graphmem.model.identity`.
"""
