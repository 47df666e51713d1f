"""Pictures in files: whole or not there, sheets with captions, films at the right speed."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from taichi_hair.view.picture import captioned, save_film, save_picture, sheet
from taichi_hair.view.preview import main

GRADIENT = np.stack(np.meshgrid(np.arange(64), np.arange(48)), axis=-1).astype(np.uint8)
PIXELS = np.concatenate([GRADIENT * 3, np.full((48, 64, 1), 90, np.uint8)], axis=-1)


def test_png_keeps_every_byte_and_webp_nearly(tmp_path):
    assert np.array_equal(np.asarray(Image.open(save_picture(tmp_path / "a.png", PIXELS))), PIXELS)
    seen = np.asarray(Image.open(save_picture(tmp_path / "a.webp", PIXELS)).convert("RGB")).astype(int)
    assert seen.shape == PIXELS.shape and np.abs(seen - PIXELS).mean() < 4
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.png", "a.webp"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = save_picture(tmp_path / "a.png", PIXELS)
    before = path.read_bytes()

    def broken(self, file, *args, **kwargs):
        file.write(b"half a picture")
        raise OSError("disk full")

    monkeypatch.setattr(Image.Image, "save", broken)
    with pytest.raises(OSError, match="disk full"):
        save_picture(path, PIXELS)
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["a.png"]


@pytest.mark.parametrize(
    ("name", "pixels", "message"),
    [
        ("a.gif", PIXELS, r"a\.gif: a picture ends in \.png or \.webp, found '\.gif'"),
        ("a.png", PIXELS / 255.0, r"pixels are float64 of shape \(48, 64, 3\), wanted uint8"),
        ("a.png", PIXELS[..., 0], r"pixels are uint8 of shape \(48, 64\)"),
    ],
)
def test_wrong_pictures_are_refused(tmp_path, name, pixels, message):
    with pytest.raises(ValueError, match=message):
        save_picture(tmp_path / name, pixels)
    assert not list(tmp_path.iterdir())


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere does not exist"):
        save_picture(tmp_path / "nowhere" / "a.png", PIXELS)


def test_films_have_their_frames_and_their_speed(tmp_path):
    frames = [np.roll(PIXELS, 5 * k, axis=1) for k in range(12)]
    film = Image.open(save_film(tmp_path / "a.webp", iter(frames), fps=24))
    assert film.n_frames == 12 and film.info["loop"] == 0
    total = 0
    for k in range(12):
        film.seek(k)
        film.load()
        total += film.info["duration"]
    assert total == 500  # 12 frames at 24 a second, in milliseconds
    film.seek(7)
    assert np.abs(np.asarray(film.convert("RGB")).astype(int) - frames[7]).mean() < 8


def test_films_refuse_what_they_cannot_hold(tmp_path):
    with pytest.raises(ValueError, match="at least one frame"):
        save_film(tmp_path / "a.webp", [])
    with pytest.raises(ValueError, match="different sizes"):
        save_film(tmp_path / "a.webp", [PIXELS, PIXELS[:40]])
    with pytest.raises(ValueError, match=r"ends in \.webp"):
        save_film(tmp_path / "a.mp4", [PIXELS])
    with pytest.raises(ValueError, match="0 frames a second"):
        save_film(tmp_path / "a.webp", [PIXELS], fps=0)


def test_sheets_place_cells_row_by_row_with_captions_below():
    cells = [np.full((40, 60, 3), 40 * k, np.uint8) for k in range(5)]
    page = sheet(cells, columns=3, captions=["a", "b", "c", "a rather long caption", "e"], gap=4)
    assert page.shape == (4 + 2 * (40 + 18 + 4), 4 + 3 * (60 + 4), 3)
    for k in range(5):
        y, x = 4 + (k // 3) * 62, 4 + (k % 3) * 64
        assert (page[y : y + 40, x : x + 60] == 40 * k).all()
        below = page[y + 41 : y + 57, x : x + 60]
        assert below.min() < 150  # ink
    # The long caption is made to fit: no ink in the gap between cells.
    assert page[67 + 40 : 67 + 57, 64:68].min() > 200
    titled = sheet(cells, title="A title")
    assert titled.shape[0] > 48 and titled[:28].min() < 150


def test_sheets_refuse_unequal_cells_and_captions():
    with pytest.raises(ValueError, match="different shapes"):
        sheet([PIXELS, PIXELS[:10]])
    with pytest.raises(ValueError, match="1 cells and 2 captions"):
        sheet([PIXELS], captions=["a", "b"])
    with pytest.raises(ValueError, match="at least one cell"):
        sheet([])


def test_captions_draw_on_a_copy():
    before = PIXELS.copy()
    marked = captioned(PIXELS, "rod", 14)
    assert np.array_equal(PIXELS, before) and (marked != PIXELS).any() and np.array_equal(marked[30:], PIXELS[30:])


def test_the_preview_command_draws_an_avatar(tmp_path, assets):
    out = tmp_path / "out.png"
    source = str(assets / "seed-san" / "seed-san.vrm")
    assert main([source, "-o", str(out), "--views", "front,face", "--size", "80x120", "--chains"]) == 0
    page = np.asarray(Image.open(out))
    assert page.shape[1] == 6 + 2 * 86 and len(np.unique(page.reshape(-1, 3), axis=0)) > 200


def test_the_preview_command_says_what_is_wrong(tmp_path, capsys):
    assert main([str(tmp_path / "no.vrm"), "-o", str(tmp_path / "out.png")]) == 2
    assert "no.vrm" in capsys.readouterr().err
    with pytest.raises(SystemExit) as end:
        main(["a.vrm", "-o", "out.png", "--views", "inside"])
    assert end.value.code == 2 and "inside" in capsys.readouterr().err
