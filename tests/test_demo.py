"""The demonstration: what it writes, and that its data show what it says."""

import os
import re
import subprocess
import sys

import pytest

from .docs.pages import ROOT


@pytest.mark.slow
def test_the_demonstration_shows_what_it_says(tmp_path):
    run = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", str(ROOT / "demo.py")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert run.returncode == 0, run.stderr
    assert sorted(os.listdir(tmp_path / "demo")) == ["demo.png", "digits.html", "samples.html"]
    scores = re.findall(r"(t-SNE(?:khorn)?) +\.+ .*silhouette of the classes (-?[\d.]+)", run.stdout)
    assert [name for name, _ in scores] == ["t-SNE", "t-SNEkhorn"] * 2
    digits_tsne, digits, samples_tsne, samples = (float(score) for _, score in scores)
    assert min(digits_tsne, digits) > 0.5
    assert samples_tsne < 0.3 < 0.8 < samples
    assert "symmetric entropic affinity 30.0 to 30" in run.stdout
