"""Pictures in files: stills, contact sheets with captions and films, each file written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

import numpy as np

STILLS = {".png": "PNG", ".webp": "WEBP"}
CAPTION_HEIGHT = 0.055  # times a cell's height, but at least 18 pixels; chosen for looks
PAPER = (250, 250, 252)
INK = (40, 42, 54)


def save_picture(path, pixels: np.ndarray, quality: int = 90) -> Path:
    """Writes (H, W, 3) uint8 sRGB pixels as PNG or WebP, as the file's ending says. Returns the path."""
    path = Path(path)
    kind = STILLS.get(path.suffix.lower())
    if kind is None:
        raise ValueError(f"{path}: a picture ends in {' or '.join(STILLS)}, found {path.suffix or 'no ending'!r}")
    image = _image(pixels, path)
    options = {"quality": quality, "method": 4} if kind == "WEBP" else {"compress_level": 6}
    return _write(path, lambda file: image.save(file, kind, **options))


def save_film(path, frames, fps: float = 30.0, quality: int = 75) -> Path:
    """Writes frames (an iterable of equal (H, W, 3) uint8 arrays) as an endless animated WebP. Returns the path."""
    path = Path(path)
    if path.suffix.lower() != ".webp":
        raise ValueError(f"{path}: a film ends in .webp, found {path.suffix or 'no ending'!r}")
    if not 1.0 <= fps <= 120.0:
        raise ValueError(f"{path}: {fps} frames a second, wanted 1 to 120")
    images = [_image(frame, path) for frame in frames]
    if not images:
        raise ValueError(f"{path}: a film needs at least one frame")
    sizes = {image.size for image in images}
    if len(sizes) > 1:
        raise ValueError(f"{path}: frames have different sizes, {sorted(sizes)}")
    # WebP counts whole milliseconds: rounding the times of the frames, not their lengths, keeps the speed right.
    times = np.round(np.arange(len(images) + 1) * 1000.0 / fps).astype(int)
    options = {"duration": np.diff(times).tolist(), "loop": 0, "quality": quality, "method": 2}
    return _write(path, lambda file: images[0].save(file, "WEBP", save_all=True, append_images=images[1:], **options))


def sheet(cells, columns: int | None = None, captions=None, title: str = "", gap: int = 6) -> np.ndarray:
    """Contact sheet (H, W, 3) uint8 of equal cells (K arrays (h, w, 3) uint8), row by row, captions under the cells."""
    from PIL import Image, ImageDraw, ImageFont

    cells = [np.asarray(c) for c in cells]
    if not cells:
        raise ValueError("a contact sheet needs at least one cell")
    if len({c.shape for c in cells}) > 1:
        raise ValueError(f"cells of a contact sheet have different shapes, {sorted({c.shape for c in cells})}")
    if captions is not None and len(captions) != len(cells):
        raise ValueError(f"a contact sheet has {len(cells)} cells and {len(captions)} captions")
    columns = len(cells) if columns is None else max(1, min(int(columns), len(cells)))
    rows = -(-len(cells) // columns)
    height, width = cells[0].shape[:2]
    line = max(18, round(CAPTION_HEIGHT * height))
    below = line if captions is not None else 0
    above = int(1.6 * line) if title else 0
    size = (gap + columns * (width + gap), above + gap + rows * (height + below + gap))
    page = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(page)
    if title:
        draw.text(
            (size[0] // 2, (above + gap) // 2), title, INK, _fitting(ImageFont, draw, title, line, size[0]), anchor="mm"
        )
    for i, cell in enumerate(cells):
        x = gap + (i % columns) * (width + gap)
        y = above + gap + (i // columns) * (height + below + gap)
        page.paste(_image(cell, "contact sheet"), (x, y))
        if captions is not None:
            font = _fitting(ImageFont, draw, captions[i], 0.68 * line, width)
            draw.text((x + width // 2, y + height + below // 2), captions[i], INK, font, anchor="mm")
    return np.asarray(page)


def captioned(pixels: np.ndarray, text: str, size: int = 18) -> np.ndarray:
    """A copy of (H, W, 3) uint8 pixels with a line of text in the upper left corner; `size` in pixels."""
    from PIL import ImageDraw, ImageFont

    image = _image(pixels, "caption").copy()
    draw = ImageDraw.Draw(image)
    draw.text((0.6 * size, 0.45 * size), text, INK, ImageFont.load_default(size))
    return np.asarray(image)


def _fitting(fonts, draw, text: str, size: float, width: int):
    """The default font at that size, or smaller where the text would be wider than the cell."""
    font = fonts.load_default(size)
    wide = draw.textlength(text, font)
    return font if wide <= 0.96 * width else fonts.load_default(max(5.0, size * 0.96 * width / wide))


def _image(pixels: np.ndarray, where):
    """A Pillow image of (H, W, 3) uint8 pixels."""
    from PIL import Image

    pixels = np.asarray(pixels)
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3 or not pixels.size:
        raise ValueError(f"{where}: pixels are {pixels.dtype} of shape {pixels.shape}, wanted uint8 (height, width, 3)")
    return Image.fromarray(np.ascontiguousarray(pixels))


def _write(path: Path, save) -> Path:
    """Writes into a neighbour of the file and moves it into place, so that no half file is ever seen."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: the folder {path.parent} does not exist")
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as problem:
        raise OSError(problem.errno, problem.strerror, str(path)) from None  # not the neighbour's made-up name
    try:
        with os.fdopen(handle, "wb") as file:
            save(file)
        os.chmod(name, 0o666 & ~_umask())  # mkstemp makes private files
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise
    return path


def _umask() -> int:
    """The process's file mode mask."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
