"""Vectors: the text of an entity that is embedded, and the embedders."""

from graphmem.embedding.fastembed_model import FastEmbedder
from graphmem.embedding.local import LocalEmbedder
from graphmem.embedding.meaning import Embedder
from graphmem.embedding.model_service import RemoteEmbedder
from graphmem.observability.tracing import NO_TRACES, Tracer
from graphmem.settings import Settings


def new_embedder(settings: Settings, tracer: Tracer = NO_TRACES) -> Embedder:
    """Return the embedder of the settings. Raises ConfigurationInvalid: it lacks a package or its model."""
    if settings.embedder is not None:
        return FastEmbedder(settings)
    return LocalEmbedder() if settings.embedding_url is None else RemoteEmbedder(settings, tracer)
