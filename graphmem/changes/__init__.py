"""What changed: the changes that an owner's transactions made, in the owner's order, for lists and watchers.

A change is worked out from the facts of its transaction whenever it is read. It is stored nowhere: what a
snapshot was before and after the transaction says what changed.
"""
