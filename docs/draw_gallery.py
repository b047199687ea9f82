"""Draw the gallery: run `snekhorn embed` on a dozen data sets, keep small pictures, and write the page `gallery.md`.

Run ``python docs/draw_gallery.py`` with the data sets in the folder of SNEKHORN_DATA.
"""

import io
import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from PIL import Image
from sklearn import datasets as sklearn_sets

from snekhorn import __version__, datasets

DOCS = Path(__file__).parent
WIDTH = 420  # pixels of a picture; the pages show three side by side
N_COLORS = 128  # of a picture, to keep its file small
COLUMNS = 3
# Title and options by the name of the data set.
SETS = {
    "digits": ("1,797 handwritten digits", "--label label"),
    "mnist": ("70,000 handwritten digits (MNIST)", "--label label --exaggeration 1.5"),
    "cifar_resnet56": ("10,000 photographs (CIFAR-10, ResNet-56)", "--label label"),
    "coil20": ("1,440 photographs of objects (COIL-20)", "--label label --perplexity 10"),
    "umist": ("575 photographs of heads (UMIST)", "--label label --perplexity 10"),
    "samples": ("1,000 samples of two kinds, unequal noise", "--label label"),
    "snareseq": ("1,047 cells, chromatin (SNAREseq)", "--label label --metric cosine"),
    "scgem": ("177 cells, gene expression (scGEM)", "--label label"),
    "su": ("102 tumours, gene expression", "--label label --perplexity 10"),
    "wine": ("178 wines, 13 measurements", "--label label --standardize"),
    "breast_cancer": ("569 breast tumours, 30 measurements", "--label label --standardize"),
    "swiss_roll": ("3,000 points on a rolled-up sheet", "--color position --perplexity 100"),
}
TEXT = f"""# Gallery

Each picture is the result of the command below it, with snekhorn {__version__}. The files hold the points in an array
`X` and the classes in an array `label`. [Write a file of your own](#files), or use any
[other format](command-line.md#formats). A picture is not evidence on its own: the command also prints
[scores](reference/metrics.md), and [several perplexities](perplexity.md) show what depends on that choice.

"""
FILES = """
## Files

The following code writes such a file, here with a data set of scikit-learn. `snekhorn.datasets.load` reads the
[data sets of the paper](reference/datasets.md).

```python
import numpy as np
from sklearn.datasets import load_wine

wine = load_wine()
np.savez("wine.npz", X=wine.data, label=wine.target_names[wine.target])
```

```console
$ snekhorn embed wine.npz --label label --standardize
wine.npz: 178 points, 13 columns
```

`python docs/draw_gallery.py` draws the pictures and writes this page; do not edit the page by hand.
"""


def points(name: str) -> dict[str, Any]:
    """Return the arrays of a data set."""
    if name == "swiss_roll":
        X, position = sklearn_sets.make_swiss_roll(3000, noise=0.3, random_state=0)
        return {"X": X, "position": position}
    if name == "samples":
        X, y, less_noise = datasets.make_heteroscedastic_multinomial(1000, random_state=1)
        return {"X": X, "label": np.array(["A", "B", "B, less noise"])[y + less_noise]}
    if name in ("wine", "breast_cancer"):
        found = getattr(sklearn_sets, f"load_{name}")()
        return {"X": found.data, "label": found.target_names[found.target]}
    found = datasets.load(name)
    return {"X": found.X, "label": np.asarray(found.label_names)[found.y]}


def draw(name: str) -> str:
    """Run the command, keep its picture, and return the command."""
    command = f"snekhorn embed {name}.npz {SETS[name][1]}"
    with TemporaryDirectory() as folder:
        np.savez(f"{folder}/{name}.npz", **points(name))
        arguments = [*shlex.split(command)[1:], "--plot", "picture.png", "--title", SETS[name][0], "--no-scores"]
        subprocess.run([sys.executable, "-m", "snekhorn", *arguments], cwd=folder, check=True)
        shrink(Path(folder, "picture.png"), DOCS / "images" / "gallery" / f"{name}.png")
    return command


def shrink(source: Path, target: Path) -> None:
    """Write a picture with fewer pixels and colours."""
    with Image.open(source) as picture:
        small = picture.convert("RGB")
    small = small.resize((WIDTH, round(WIDTH * small.height / small.width)), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    small.quantize(N_COLORS, dither=Image.Dither.NONE).save(buffer, "PNG", optimize=True)
    target.write_bytes(buffer.getvalue())


def page(commands: dict[str, str]) -> str:
    """Return the page: a table of pictures with their commands."""
    entries = [f"![{SETS[name][0]}](images/gallery/{name}.png) `{command}`" for name, command in commands.items()]
    rows = [entries[start : start + COLUMNS] for start in range(0, len(entries), COLUMNS)]
    head = ["|   " * COLUMNS + "|", "|---" * COLUMNS + "|"]
    return TEXT + "\n".join([*head, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n" + FILES


if __name__ == "__main__":
    (DOCS / "images" / "gallery").mkdir(exist_ok=True)
    wanted = sys.argv[1:] or list(SETS)
    commands = {name: draw(name) if name in wanted else f"snekhorn embed {name}.npz {SETS[name][1]}" for name in SETS}
    (DOCS / "gallery.md").write_text(page(commands), encoding="utf-8")
