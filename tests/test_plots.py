"""Pictures: one style, three formats, the same bytes, nothing half-written, no pyplot."""

import subprocess
import sys

import pytest

from pairsift.report import plots
from pairsift.report.plots import COLOURS, DASHES, MARKERS, check_picture, label_axes, line_style, picture

BEGINS = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}


def draw(path):
    with picture(path, panels=2) as (left, right):
        left.plot([0, 1], [0, 1], **line_style(0), label="first")
        right.plot([0, 1], [1, 0], **line_style(1, marks=True))
        label_axes(left, "Time (s)", "Height (m)", "A panel")
        label_axes(right, "Time (s)", "Width (m)")
        left.legend()


@pytest.mark.parametrize("kind", plots.FORMATS)
def test_the_ending_says_the_format_and_the_bytes_repeat(tmp_path, kind):
    draw(tmp_path / f"a.{kind}")
    draw(tmp_path / f"b.{kind.upper()}")
    content = (tmp_path / f"a.{kind}").read_bytes()
    assert content.startswith(BEGINS[kind])
    assert content == (tmp_path / f"b.{kind.upper()}").read_bytes()
    assert len(list(tmp_path.iterdir())) == 2


def test_an_svg_has_its_labels_as_text(tmp_path):
    draw(tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text()
    for label in ("Time (s)", "Height (m)", "Width (m)", "A panel", "first"):
        assert f">{label}<" in text


@pytest.mark.parametrize("name", ["a.gif", "a", "a.svg.gz"])
def test_other_endings_are_refused(tmp_path, name):
    with pytest.raises(ValueError, match=r"\.svg, \.png or \.pdf"):
        check_picture(tmp_path / name)


def test_a_missing_folder_is_found_before_the_work(tmp_path):
    with pytest.raises(OSError, match="is not there"):
        check_picture(tmp_path / "no" / "a.svg")


def test_a_fault_leaves_the_old_picture(tmp_path):
    (tmp_path / "a.svg").write_text("old")

    def fail():
        with picture(tmp_path / "a.svg"):
            raise RuntimeError("a fault")

    with pytest.raises(RuntimeError, match="a fault"):
        fail()
    assert (tmp_path / "a.svg").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_without_matplotlib_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ValueError, match=r"pip install \"pairsift\[plot\]\""):
        check_picture(tmp_path / "a.svg")


def _luminance(colour):
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_every_line_differs_in_colour_dash_and_mark_and_is_seen_on_white():
    styles = [line_style(k, marks=True) for k in range(len(COLOURS))]
    for key in ("color", "linestyle", "marker"):
        assert len({str(style[key]) for style in styles}) == len(COLOURS) == len(DASHES) == len(MARKERS)
    for colour in COLOURS:
        assert 1.05 / (_luminance(colour) + 0.05) > 2, f"{colour} is too light on white"
    assert 1.05 / (_luminance(plots.GREY) + 0.05) > 4.5


def test_pyplot_is_not_imported_and_the_users_settings_stay(tmp_path):
    code = (
        "import sys, matplotlib\nmatplotlib.rcParams['font.size'] = 7\n"
        "from pairsift.report.plots import picture\n"
        f"with picture({str(tmp_path / 'a.png')!r}) as (axes,): axes.plot([0, 1])\n"
        "assert 'matplotlib.pyplot' not in sys.modules\nassert matplotlib.rcParams['font.size'] == 7\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
