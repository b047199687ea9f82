"""List where each data set is published, in which files, and how to read them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import readers
from .readers import LabeledPoints


@dataclass(frozen=True)
class Original:
    """Published file; downloaded only if its checksum is known."""

    name: str
    url: str | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class Source:
    """Source of a data set.

    Parameters
    ----------
    title : str
        Human-readable title.
    home : str
        Page where the data set is published.
    stem : str
        Name of its NPZ file (X, y, label_names), without the suffix.
    originals : tuple of Original
        Published files, or a single folder, that can be used instead of the NPZ file.
    read : callable or None
        Function that reads the originals, given their paths in this order.
    fetch : callable or None
        Function that obtains the data set in another way.
    bundled : bool
        Whether `fetch` works offline because the data come with a dependency.
    """

    title: str
    home: str
    stem: str
    originals: tuple[Original, ...] = ()
    read: Callable[..., LabeledPoints] | None = None
    fetch: Callable[[], LabeledPoints] | None = None
    bundled: bool = False

    @property
    def expected(self) -> str:
        """Names of the files that `load` accepts."""
        files = " and ".join(original.name for original in self.originals)
        return f"{self.stem}.npz" + (f" (or {files})" if files else "")


def _raw(repository: str, commit: str, path: str, sha256: str) -> Original:
    """Return a file from a public repository at a given commit."""
    url = f"https://raw.githubusercontent.com/{repository}/{commit}/{path}"
    return Original(Path(path).name, url, sha256)


def _cumida(name: str, title: str) -> Source:
    home = "https://sbcb.inf.ufrgs.br/cumida"
    return Source(title, home, name, (Original(f"{name}.csv"),), readers.read_cumida)


CUMIDA = {
    "liver_14520": _cumida("Liver_GSE14520_U133A", "Liver (14520)"),
    "breast_70947": _cumida("Breast_GSE70947", "Breast (70947)"),
    "leukemia_28497": _cumida("Leukemia_GSE28497", "Leukemia (28497)"),
    "colorectal_44076": _cumida("Colorectal_GSE44076", "Colorectal (44076)"),
    "liver_76427": _cumida("Liver_GSE76427", "Liver (76427)"),
    "breast_45827": _cumida("Breast_GSE45827", "Breast (45827)"),
    "colorectal_21510": _cumida("Colorectal_GSE21510", "Colorectal (21510)"),
    "renal_53757": _cumida("Renal_GSE53757", "Renal (53757)"),
    "prostate_6919": _cumida("Prostate_GSE6919_U95B", "Prostate (6919)"),
    "throat_42743": _cumida("Throat_GSE42743", "Throat (42743)"),
}
_MNIST = "https://storage.googleapis.com/cvdf-datasets/mnist/"
_MICROARRAYS = "https://github.com/ramhiser/datamicroarray"

SETS: dict[str, Source] = {
    "coil20": Source(
        "COIL-20",
        "https://cave.cs.columbia.edu/repository/COIL-20",
        "coil20",
        (Original("coil-20-proc"),),
        readers.read_coil20,
    ),
    "olivetti": Source(
        "Olivetti faces",
        "https://scikit-learn.org/stable/datasets/real_world.html#the-olivetti-faces-dataset",
        "olivetti",
        fetch=readers.fetch_olivetti,
    ),
    "umist": Source(
        "UMIST faces",
        "https://cs.nyu.edu/~roweis/data.html",
        "umist",
        (Original("umist_cropped.mat"),),
        readers.read_umist,
    ),
    "cifar": Source(
        "CIFAR-10 (the paper's features)", "https://github.com/huyvnphan/PyTorch_CIFAR10", "cifar10_features"
    ),
    "cifar_resnet56": Source(
        "CIFAR-10 (ResNet-56)",
        "https://github.com/chenyaofo/pytorch-cifar-models",
        "cifar10_resnet56_test10k",
    ),
    **CUMIDA,
    "scgem": Source(
        "scGEM",
        "https://github.com/rsinghlab/SCOT",
        "scgem_expression",
        (
            _raw(
                "rsinghlab/SCOT",
                "a5497a3963d8b7b2d858d4f988c64b326c9db85b",
                "data/scGEM_expression.csv",
                "f2c1063add312ea1c70885be4270fc6466e6573f0888f9a6e1dec0333dccaacc",
            ),
            _raw(
                "rsinghlab/SCOT",
                "5456142945f586274d5db5f196ea227d73c6cc2d",
                "data/scGEM/scGEM_typeExpression.txt",
                "8291a3fd5e3e3df389111b0f74c27eab8b12e24810f8e1fdb2cd706abe3ae071",
            ),
        ),
        readers.read_scgem,
    ),
    "snareseq": Source(
        "SNAREseq",
        "https://github.com/PythonOT/SNEkhorn",
        "snareseq_chromatin",
        (
            _raw(
                "PythonOT/SNEkhorn",
                "fb1a29f61e3e44a95263b21df90a7d5fcc178880",
                "data/SCOT/SNAREseq_1.txt",
                "4134281f39bdf9f6a06618e4661fc8aace0a2c21212d128f61816ee919fd81e3",
            ),
            _raw(
                "PythonOT/SNEkhorn",
                "fb1a29f61e3e44a95263b21df90a7d5fcc178880",
                "data/SCOT/SNAREseq_label.txt",
                "79410fa8f7c836b218276d6c2d9a45f46bc3360426b389fcc80d6b2adfc49253",
            ),
        ),
        readers.read_snareseq,
    ),
    "gordon": Source("lung (gordon)", _MICROARRAYS, "microarray_gordon"),
    "su": Source("tumours (su)", _MICROARRAYS, "microarray_su"),
    "khan": Source("blue cell (khan)", _MICROARRAYS, "microarray_khan"),
    "all": Source("leukaemia (ALL)", "https://bioconductor.org/packages/ALL", "microarray_ALL_chiaretti"),
    "mnist": Source(
        "MNIST",
        "http://yann.lecun.com/exdb/mnist",
        "mnist70k",
        tuple(
            Original(f"{name}-ubyte.gz", f"{_MNIST}{name}-ubyte.gz", sha256)
            for name, sha256 in {
                "train-images-idx3": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
                "train-labels-idx1": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
                "t10k-images-idx3": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
                "t10k-labels-idx1": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
            }.items()
        ),
        readers.read_mnist,
    ),
    "digits": Source(
        "digits",
        "https://scikit-learn.org/stable/datasets/toy_dataset.html",
        "digits",
        fetch=readers.fetch_digits,
        bundled=True,
    ),
}


def names() -> list[str]:
    """Return the names that `load` accepts."""
    return list(SETS)
