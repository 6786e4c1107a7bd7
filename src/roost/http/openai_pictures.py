"""Pictures that come inside a request, as `data:` addresses."""

import asyncio
import base64
import re
from collections.abc import AsyncIterator

from roost.core.messages import ImagePart
from roost.http.downloads import HEAD, PICTURES, sniffed
from roost.http.openai_errors import wrong_value
from roost.runtime.keeping import Keeping

_DATA = re.compile(r"data:image/[\w.+-]{1,40};base64,", re.IGNORECASE)
_PARAM = "messages.content.image_url.url"


async def kept(files: Keeping, url: str) -> ImagePart:
    """Store a picture. What kind it is, is told by its bytes. An address is not fetched: who may
    talk to Roost may not, by that alone, look around in its network."""
    begin = _DATA.match(url)
    if begin is None:
        said = "Roost fetches no pictures. Send it as data:image/...;base64,..."
        raise wrong_value(_PARAM, said)
    data = await asyncio.to_thread(_decoded, url[begin.end() :])
    media_type = sniffed(data[:HEAD])
    if media_type not in PICTURES:
        raise wrong_value(_PARAM, "The picture is none that Roost knows: PNG, JPEG, GIF or WebP.")
    blob = await files.keep(_once(data), media_type)
    return ImagePart(blob.id, blob.media_type)


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise wrong_value(_PARAM, "The picture is not base64.") from None


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data
