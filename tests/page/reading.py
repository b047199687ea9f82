"""Read a page without a browser: elements by their id, and the columns in them."""

import base64
import json
import zlib
from html.parser import HTMLParser

import numpy as np


class Page(HTMLParser):
    """Header, blocks and scripts of a page."""

    def __init__(self, data):
        super().__init__(convert_charrefs=True)
        self.blocks, self.scripts, self.tags, self.title = {}, [], [], ""
        self.open = []
        self.feed(data.decode())
        self.header = json.loads(self.blocks["header"])

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.open.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, text):
        tag, attributes = self.open[-1] if self.open else ("", {})
        if tag == "title":
            self.title += text
        elif tag == "script" and "type" in attributes:
            self.blocks[attributes["id"]] = self.blocks.get(attributes["id"], "") + text
        elif tag == "script":
            self.scripts.append(text)

    def bytes(self, key):
        return zlib.decompress(base64.b64decode(self.blocks[key], validate=True))

    def numbers(self, key, kind):
        dtype = np.dtype(f"<{kind}")
        planes = np.frombuffer(self.bytes(key), np.uint8).reshape(dtype.itemsize, -1)
        return np.ascontiguousarray(planes.T).view(dtype).ravel()

    def values(self, name):
        """Return the distinct values of a category."""
        index = [column["name"] for column in self.header["columns"]].index(name)
        return json.loads(self.bytes(f"values-{index}"))

    def column(self, name):
        """Return the description of a column and its values, None if missing."""
        index = [column["name"] for column in self.header["columns"]].index(name)
        column = self.header["columns"][index]
        if column["kind"] != "category":
            numbers = self.numbers(f"numbers-{index}", column["type"]).tolist()
            return column, [None if value != value else value for value in numbers]
        values = [*json.loads(self.bytes(f"values-{index}")), None]
        if column["type"] is None:
            return column, values[:-1]
        return column, [values[code] for code in self.numbers(f"codes-{index}", column["type"])]
