"""Encryption at rest: the keys of an instance, and what seals files and dumps with them.

A *root key* of 32 bytes, which a person can write down as 24 words, wraps a *data key* for each owner. The
wrapped data keys are in the key file of the instance, never in the database and never in a dump. An instance
with a key file is *sealed*: it does not start without its root key. ``docs/encryption.md`` says what is
sealed.
"""

from graphmem.sealing.instance_keys import InstanceKeys, keys_in, keys_of
from graphmem.sealing.root_key import RootKey

__all__ = ["InstanceKeys", "RootKey", "keys_in", "keys_of"]
