"""Images: size, format, EXIF, texts of a PNG, comments. The text is empty; the pixels are never decoded."""

from __future__ import annotations

import io
import warnings
from typing import Any

from PIL import ExifTags, Image, UnidentifiedImageError

from graphmem.ingest.building import Builder
from graphmem.ingest.document import FileSpan, ParseFailed, PartField

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP")
VALUE_CHARACTERS_LIMIT = 1_000
DIRECTORIES = (ExifTags.IFD.Exif, ExifTags.IFD.GPSInfo)


def parse(builder: Builder, data: bytes, name: str) -> None:
    try:
        with warnings.catch_warnings():
            # The library warns of many pixels; they are not decoded.
            warnings.simplefilter("ignore")
            Image.MAX_IMAGE_PIXELS = None
            with Image.open(io.BytesIO(data), formats=FORMATS) as image:
                kind = image.format or ""
                builder.metadata = {
                    "image_format": kind,
                    "width": image.width,
                    "height": image.height,
                    "mode": image.mode,
                    "frames": getattr(image, "n_frames", 1),
                }
                exif = _exif(image, builder) | _texts(image)
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, EOFError) as exc:
        raise ParseFailed(f"The image is damaged: {exc}."[:300], "damaged") from None
    if exif:
        builder.metadata["exif"], builder.title = exif, exif.get("Title")
    members = {key: value for key, value in builder.metadata.items() if key != "exif"} | exif
    builder.part("property", FileSpan(), [PartField(key, value) for key, value in members.items()])
    builder.media_type = f"image/{kind.lower()}"


def _exif(image: Image.Image, builder: Builder) -> dict[str, Any]:
    try:
        exif = image.getexif()
        values = {ExifTags.TAGS.get(tag, f"tag_{tag}"): value for tag, value in exif.items()}
        for directory in DIRECTORIES:
            names = ExifTags.GPSTAGS if directory == ExifTags.IFD.GPSInfo else ExifTags.TAGS
            values |= {names.get(tag, f"tag_{tag}"): value for tag, value in exif.get_ifd(directory).items()}
    except (ValueError, KeyError, TypeError, SyntaxError, OSError, EOFError) as exc:
        builder.warn(f"The EXIF data are damaged: {exc}.")
        return {}
    texts = {name: _value(value) for name, value in values.items()}
    return {name: value for name, value in sorted(texts.items()) if value is not None}


def _texts(image: Image.Image) -> dict[str, Any]:
    """Return what a PNG says of itself, and the comments of other images; packets of XML are none."""
    entries = {str(key): value for key, value in image.info.items()}
    names = (key for key, value in entries.items() if isinstance(value, str) or key == "comment")
    return {key: text for key in names if not key.startswith("XML:") and (text := _value(entries[key]))}


def _value(value: Any) -> Any:
    """Return the JSON value of an EXIF value; long bytes and offsets of directories have none."""
    if isinstance(value, bytes):
        text = value.rstrip(b"\0").decode("ascii", "replace")
        return text if text.isprintable() and 0 < len(text) <= VALUE_CHARACTERS_LIMIT else None
    if isinstance(value, str):
        return value.rstrip("\0")[:VALUE_CHARACTERS_LIMIT]
    if isinstance(value, tuple | list):
        return [_value(member) for member in value][:VALUE_CHARACTERS_LIMIT]
    if isinstance(value, dict):
        return None
    if isinstance(value, int):
        return value
    try:
        return round(float(value), 6)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return None
