"""Actors of tests."""

from __future__ import annotations

from graphmem.auth import ALL_SCOPES, Actor
from graphmem.auth.authenticator import Authenticate, Caller


def full_actor(owner: str, client: str = "unknown") -> Actor:
    """Return an actor of an owner with every scope."""
    return Actor(owner=owner, scopes=ALL_SCOPES, client=client, account=owner, account_name="test")


def always(actor: Actor) -> Authenticate:
    """Return an authenticator that takes every caller for one actor."""

    async def authenticate(caller: Caller) -> Actor:
        return actor

    return authenticate
