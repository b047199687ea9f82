"""Models that cannot be opened."""

import pytest

import snekhorn
from snekhorn.errors import InputError


def test_a_model_that_cannot_be_opened(tmp_path, monkeypatch):
    """The message gives the path and the remedy, without an error number."""
    remedy = "pass a file that an estimator's `save` or 'snekhorn embed --save-model' wrote."
    with pytest.raises(InputError) as missing:
        snekhorn.load(str(tmp_path / "nope"))
    assert isinstance(missing.value, FileNotFoundError)
    assert str(missing.value) == f"{tmp_path / 'nope'} does not exist; {remedy}"
    with pytest.raises(InputError) as folder:
        snekhorn.load(tmp_path)
    assert str(folder.value) == f"{tmp_path} is a folder; {remedy}"

    def refuse(path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("snekhorn.estimators.saved_models.open_bounded", refuse)  # root may read any file
    with pytest.raises(InputError) as secret:
        snekhorn.load("m.npz")
    assert str(secret.value) == "m.npz cannot be read (Permission denied); change its permissions, or copy it."
