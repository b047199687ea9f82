"""A notebook shows the page in a frame."""

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import snekhorn
from snekhorn.errors import InputError

from .reading import Page

Z = np.random.default_rng(0).normal(size=(40, 2))


class Frame(HTMLParser):
    """The attributes of the frame; the parser decodes them as a browser does."""

    def handle_starttag(self, tag, attributes):
        assert tag == "iframe"
        self.attributes = dict(attributes)


def test_show_puts_the_page_into_a_frame(tmp_path):
    view = snekhorn.show({"a": Z, "b": -Z}, {"group": ["</iframe>", '"quoted"'] * 20}, title="x & y", height=300)
    frame = Frame()
    frame.feed(view._repr_html_())
    view.save(tmp_path / "page.html")
    assert frame.attributes["srcdoc"].encode() == (tmp_path / "page.html").read_bytes()
    assert "height: 300px" in frame.attributes["style"]
    page = Page((tmp_path / "page.html").read_bytes())
    assert page.title == "x & y"
    assert page.column("group")[1] == ["</iframe>", '"quoted"'] * 20
    assert repr(view) == repr(snekhorn.show(pd.DataFrame(Z))) == "PageView(40 points)"


def test_show_samples_many_points_and_takes_the_options_of_the_page():
    page = Page(snekhorn.show(Z, max_points=10, data=Z).page)
    assert (page.header["n"], page.header["total"], page.header["neighbors"]["k"]) == (10, 40, 9)
    with pytest.raises(InputError, match="height must be"):
        snekhorn.show(Z, height=0)
    with pytest.raises(InputError, match="color='kind' is not a column of metadata"):
        snekhorn.show(Z, color="kind")


@pytest.mark.parametrize("form", [np.asarray, list, pd.Series])
def test_an_array_of_colours_becomes_a_column(form):
    values = np.arange(40) % 3
    for metadata in (None, {"color": ["a", "b"] * 20}):
        page = Page(snekhorn.show(Z, metadata, color=form(values)).page)
        column = page.header["columns"][page.header["color"]]
        assert column["name"] == ("color" if metadata is None else "input_color")
        assert page.column(column["name"])[1] == values.tolist()
    page = Page(snekhorn.show(Z, color=pd.Series(values, name="age"), max_points=10).page)
    assert page.header["columns"][page.header["color"]]["name"] == "age"
