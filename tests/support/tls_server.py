"""A TLS server at loopback with certificates of an authority of its own."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from graphmem.auth import guarded_fetch

Reply = Callable[[asyncio.StreamWriter], Awaitable[None]]


def answer(body: bytes, *headers: str, status: str = "200 OK", media_type: str = "application/json") -> Reply:
    """Return a reply with a body of a known length."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers]
    if media_type:
        lines.append(f"Content-Type: {media_type}")

    async def write(writer: asyncio.StreamWriter) -> None:
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)

    return write


class Authority:
    """A certificate authority, and the certificates that it makes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority of a test")])
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        builder = self._builder(self._name, self._key.public_key())
        certificate = builder.add_extension(constraints, critical=True).sign(self._key, hashes.SHA256())
        self.file = folder / "authority.pem"
        self.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def _builder(self, name: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(hours=1))
        )

    def server_context(self, host: str) -> ssl.SSLContext:
        """Return the TLS context of a server with a certificate for one host name."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        names = x509.SubjectAlternativeName([x509.DNSName(host)])
        certificate = self._builder(name, key.public_key()).add_extension(names, critical=False)
        file = self._folder / f"{host}.pem"
        secret = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        signed = certificate.sign(self._key, hashes.SHA256())
        file.write_bytes(secret + signed.public_bytes(serialization.Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def client_context(self) -> ssl.SSLContext:
        """Return the TLS context of a client that trusts this authority alone."""
        return ssl.create_default_context(cafile=str(self.file))


@dataclass
class TlsServer:
    """What a server saw: host names of TLS handshakes, heads of requests, addresses that clients wanted."""

    port: int = 0
    server_names: list[str | None] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    addresses: list[tuple[str, int | None]] = field(default_factory=list)

    def connections(self, trusted: ssl.SSLContext) -> Callable[[], httpx.AsyncBaseTransport]:
        """Return what makes the transport of a fetch that ends at this server, whatever its address is."""
        return lambda: _Redirected(self, guarded_fetch.connections(trusted))


class _Redirected(httpx.AsyncBaseTransport):
    """A transport that leads every address to a server at loopback, and changes nothing else."""

    def __init__(self, server: TlsServer, transport: httpx.AsyncBaseTransport) -> None:
        self._server = server
        self._transport = transport

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self._server.addresses.append((request.url.host, request.url.port))
        request.url = request.url.copy_with(host="127.0.0.1", port=self._server.port)
        return await self._transport.handle_async_request(request)

    async def aclose(self) -> None:
        await self._transport.aclose()


@asynccontextmanager
async def tls_server(context: ssl.SSLContext, reply: Reply) -> AsyncIterator[TlsServer]:
    """Serve one reply to every request until the block ends."""
    server = TlsServer()

    def note_server_name(_: ssl.SSLObject, name: str | None, __: ssl.SSLContext) -> None:
        server.server_names.append(name)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            server.requests.append((await reader.readuntil(b"\r\n\r\n")).decode())
            await reply(writer)
            await writer.drain()
        except (OSError, EOFError):
            pass
        finally:
            writer.close()

    context.sni_callback = note_server_name
    listener = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
