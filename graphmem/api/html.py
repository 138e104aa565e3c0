"""Pages for people: the templates of ``pages/``, and the headers of every page."""

from __future__ import annotations

import secrets
from functools import cache
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

if TYPE_CHECKING:
    import jinja2


def page(template: str, status: int, form_action: str = "'none'", **values: Any) -> Response:
    """Return a page. ``form_action`` is the source of its policy to which its form may lead."""
    nonce = secrets.token_urlsafe(16)
    policy = (
        f"default-src 'none'; style-src 'nonce-{nonce}'; form-action {form_action}; "
        "frame-ancestors 'none'; base-uri 'none'"
    )
    text = _template(template).render(nonce=nonce, **values)
    return Response(text, status, media_type="text/html", headers={
        "Content-Security-Policy": policy,
        # With no-referrer, browsers send the form with `Origin: null`.
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
    })  # fmt: skip


@cache
def _template(name: str) -> jinja2.Template:
    # Not above: few processes answer a page.
    import jinja2

    loader = jinja2.PackageLoader("graphmem.api", "pages")
    return jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined).get_template(
        name
    )
