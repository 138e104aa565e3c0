"""Actors of tests."""

from __future__ import annotations

from typing import Final

from graphmem.auth import ALL_SCOPES, Actor
from graphmem.auth.authenticator import Authenticate, Caller

DISABLED_ACCOUNT: Final = (
    "MERGE (account:Account {id: $id}) ON CREATE SET account.name = $id, account.owner = $id, "
    "account.scopes = ['read', 'write', 'admin'], account.created_at = 0, account.disabled = true"
)
"""Creates the account of ``full_actor``. Its keys turn authentication on for nobody: it is disabled."""

CONNECTION: Final = (
    "MATCH (account:Account {id: $account}) MERGE (account)-[:granted]->(grant:OAuthGrant {id: $id}) "
    "SET grant.account_id = $account, grant.client_id = 'client', grant.client_name = $name, "
    "grant.scopes = ['read'], grant.resource = 'http://localhost', grant.can_refresh = true, "
    "grant.created_at = 0, grant.redeemed_at = 0, grant.expires_at = 4000000000000000, "
    "grant.revoked_at = null"
)
"""Creates a connection of an account, or brings it back."""

SUBSCRIPTION: Final = (
    "MATCH (account:Account {id: $account}) MERGE (account)-[:subscribed]->(stored:Subscription {id: $id}) "
    "SET stored += {account: $account, owner: $account, credential: '', signer: '[\"\",null,null]', "
    "wanted: '{}', delivery: 'sse', node_key: '', sequence: 0, part: 0, failures: 0, max_failures: 1, "
    "status: 'active', created_at: 0}"
)
"""Creates a subscription of an account, or brings it back."""


def full_actor(owner: str, client: str = "unknown") -> Actor:
    """Return an actor of an owner with every scope."""
    return Actor(owner=owner, scopes=ALL_SCOPES, client=client, account=owner, account_name="test")


def always(actor: Actor) -> Authenticate:
    """Return an authenticator that takes every caller for one actor."""

    async def authenticate(caller: Caller) -> Actor:
        return actor

    return authenticate
