"""Actors of tests."""

from __future__ import annotations

from graphmem.auth import ALL_SCOPES, Actor


def full_actor(owner: str, client: str = "unknown") -> Actor:
    """Return an actor of an owner with every scope."""
    return Actor(owner=owner, scopes=ALL_SCOPES, client=client)
