"""Changes to OAuth in a service that a test starts: other lifetimes, and documents of a local server."""

from __future__ import annotations

import ssl
from functools import partial


def install(*, access_seconds: int, document_port: int, authority: str) -> None:
    """Change OAuth in this process.

    The guarded fetch stays as it is: it resolves every host to a public address, and what connects to that
    address is led to a server of the test, whose certificate must be that of the host.

    Args:
        access_seconds: how long access tokens are valid.
        document_port: where the server of metadata documents listens.
        authority: the file with the certificate of the authority that the fetch trusts.
    """
    from graphmem.api import oauth_routes
    from graphmem.auth import grants
    from graphmem.auth.guarded_fetch import DocumentCache, Fetcher
    from tests.support.fetches import Resolver
    from tests.support.tls_server import TlsServer

    trusted = ssl.create_default_context(cafile=authority)
    fetcher = Fetcher(
        resolve=Resolver(["93.184.216.34"]), connections=TlsServer(document_port).connections(trusted)
    )
    cache = partial(DocumentCache, fetcher=fetcher)
    oauth_routes.DocumentCache = cache
    grants.ACCESS_SECONDS = access_seconds
