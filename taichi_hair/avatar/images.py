"""Images: the pictures of a file, found and bounded when it is read, decoded by Pillow when first used."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence

import numpy as np

from .document import Document
from .errors import AssetError
from .fields import Item

MAX_SIDE = 16384  # pixels
MAX_PIXELS = 2**26  # of one image: 8192 x 8192, 256 MiB as RGBA and three times that while it is decoded
MAX_PIXELS_ALL = 2**26 + 2**24  # of all images of a file together ...
PIXELS_PER_BYTE = 8  # ... plus so many for each byte of the file: painted textures hold 1 to 4

FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "GIF", "TGA")


class Images(Sequence):
    """Decoded images, (H, W, 4) uint8 sRGB each; None where the file names an image that is not there or not readable.

    Decoding waits for the first use: reading an avatar for its bones does not pay for its pictures. An image whose
    data turns out to be broken is None from then on, and `problems` says so.
    """

    def __init__(self, encoded: list[bytes | memoryview | None], names: list[str], file: str):
        self._encoded = encoded
        self._decoded: dict[int, np.ndarray | None] = {}
        self._file = file
        self.names = tuple(names)
        self.problems: list[str] = []

    def __len__(self) -> int:
        return len(self._encoded)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        index = range(len(self))[index]
        if index not in self._decoded:
            self._decoded[index] = self._decode(index)
        return self._decoded[index]

    def encoded(self, index: int) -> bytes | None:
        """The image's own bytes (PNG, JPEG, ...), None where it is not there."""
        data = self._encoded[index]
        return None if data is None else bytes(data)

    def size(self, index: int) -> tuple[int, int] | None:
        """Width and height in pixels without decoding, None where the image is not there."""
        data = self._encoded[index]
        return None if data is None else _header(data)

    def _decode(self, index: int) -> np.ndarray | None:
        data = self._encoded[index]
        if data is None:
            return None
        from PIL import Image

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with Image.open(io.BytesIO(data), formats=FORMATS) as picture:
                    pixels = np.asarray(picture.convert("RGBA"))
        except Exception as why:
            self.problems.append(f"images[{index}] {self.names[index]!r}: does not decode ({why}); left out")
            return None
        pixels.setflags(write=False)
        return pixels


def _header(data) -> tuple[int, int]:
    """Width and height that the image's header states; raises what Pillow raises."""
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Image.open(io.BytesIO(data), formats=FORMATS) as picture:
            return picture.size


def read_images(document: Document) -> Images:
    """Find every image of the document; one that is missing, unreadable or too large is left out with a warning."""
    encoded: list[bytes | memoryview | None] = []
    names: list[str] = []
    total = 0
    for item in document.items("images"):
        uri = item.text("uri")
        names.append(item.text("name") or ("" if uri[:5].lower() == "data:" else uri[:60]))
        data = _bytes(document, item)
        if data is not None:
            fault, pixels = _fault(data, total, MAX_PIXELS_ALL + PIXELS_PER_BYTE * document.size)
            if fault is not None:
                document.log.warn(item.where, f"{names[-1]!r} {fault}; left out")
                data = None
            else:
                total += pixels
        encoded.append(data)
    return Images(encoded, names, document.file)


def _fault(data, total: int, limit: int) -> tuple[str | None, int]:
    """What is wrong with an image by its header, None where nothing is, and its number of pixels.

    `total` pixels were counted before it, `limit` is for all together.
    """
    from PIL.Image import DecompressionBombError

    try:
        width, height = _header(data)
    except DecompressionBombError as why:
        return f"is too large ({why})", 0
    except Exception as why:
        reason = str(why).split(" <")[0] or type(why).__name__
        return f"is no picture that Pillow reads ({reason})", 0
    pixels = width * height
    if max(width, height) > MAX_SIDE or pixels > MAX_PIXELS:
        return f"has {width} x {height} pixels, more than {MAX_SIDE} a side or {MAX_PIXELS:,} in all", 0
    if total + pixels > limit:
        return f"would make {total + pixels:,} pixels with the images before it, more than {limit:,}", 0
    return None, pixels


def _bytes(document: Document, item: Item):
    view = item.integer("bufferView", None, below=len(document.items("bufferViews")))
    if view is not None:
        from .accessors import view_bytes

        return view_bytes(document, view)[0]
    uri = item.text("uri", None)
    if uri is None:
        document.log.warn(item.where, "has neither a URI nor a buffer view; left out")
        return None
    if document.path is None and not uri.lower().startswith("data:"):
        document.log.warn(item.where, f"{uri[:60]!r} lies outside this model, which has no folder; left out")
        return None
    try:
        return document.resource(uri, item.where + ".uri")
    except FileNotFoundError:
        document.log.warn(item.where, f"{uri[:60]!r} is not there; left out")
    except AssetError:
        raise
    except OSError as why:
        document.log.warn(item.where, f"{uri[:60]!r} cannot be read ({why.strerror or why}); left out")
    return None


def srgb_to_linear(values: np.ndarray) -> np.ndarray:
    """Linear light (0 to 1) of sRGB values (0 to 1), IEC 61966-2-1."""
    values = np.asarray(values, dtype=np.float64)
    return np.where(values <= 0.04045, values / 12.92, ((np.maximum(values, 0.0) + 0.055) / 1.055) ** 2.4)


def sample(image: np.ndarray, uvs: np.ndarray, wrap: tuple[str, str] = ("repeat", "repeat"), linear: bool = True):
    """(V, 4) bilinear samples of an image (H, W, 4) uint8 at uvs (V, 2); in linear light unless linear=False."""
    height, width = image.shape[:2]
    table = np.arange(256) / 255.0
    colors = srgb_to_linear(table) if linear else table
    x = uvs[:, 0] * width - 0.5
    y = uvs[:, 1] * height - 0.5
    x0, y0 = np.floor(x), np.floor(y)
    fx, fy = (x - x0)[:, None], (y - y0)[:, None]
    result = np.zeros((len(uvs), 4))
    for dx in (0, 1):
        for dy in (0, 1):
            column = _wrapped(x0 + dx, width, wrap[0])
            row = _wrapped(y0 + dy, height, wrap[1])
            texel = image[row, column]
            value = np.concatenate([colors[texel[:, :3]], table[texel[:, 3:]]], axis=1)
            result += (fx if dx else 1.0 - fx) * (fy if dy else 1.0 - fy) * value
    return result


def _wrapped(index: np.ndarray, size: int, mode: str) -> np.ndarray:
    """Texel numbers inside the image, (V,) int."""
    if mode == "clamp":
        return np.clip(index, 0, size - 1).astype(np.int64)
    if mode == "mirror":
        index = np.mod(index, 2 * size)
        return np.where(index < size, index, 2 * size - 1 - index).astype(np.int64)
    return np.mod(index, size).astype(np.int64)
