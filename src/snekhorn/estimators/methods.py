"""Define the five methods: each combines an affinity of the data with a latent kernel and its normalisation."""

from ..embedding.charge_sums import Kernel
from ..embedding.latent import Latent
from .neighbor_embedding import NeighborEmbedding


class TSNEkhorn(NeighborEmbedding):
    """t-SNEkhorn: symmetric entropic affinity, matched by a doubly stochastic Student kernel.

        minimise KL(P | Q) over Z
        where Q_ij = exp(f_i + f_j) / (1 + |z_i - z_j|^2), with f such that the rows of Q sum to 1.

    With a `balance` below 1, the rows of P do not sum to 1, and the layout and f together minimise
    KL(P | Q) - 2 sum_i f_i (1 - sum_j P_ij). The losses in `report_` then differ from `kl_divergence_`.

    Parameters and attributes are those of `snekhorn.estimators.NeighborEmbedding`.

    References
    ----------
    Van Assel, Vayer, Flamary and Courty, SNEkhorn: Dimension Reduction with Symmetric Entropic Affinities,
    NeurIPS 2023.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from snekhorn import TSNEkhorn
    >>> X = load_iris().data
    >>> model = TSNEkhorn().fit(X)
    >>> model.embedding_.shape
    (150, 2)
    >>> model.transform(X[:3] + 0.01).shape  # new points
    (3, 2)
    """

    latent = Latent(Kernel.STUDENT, "both")


class SNEkhorn(NeighborEmbedding):
    """SNEkhorn: like `TSNEkhorn`, but with the Gaussian kernel.

    Parameters and attributes are those of `snekhorn.estimators.NeighborEmbedding`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from snekhorn import SNEkhorn
    >>> SNEkhorn().fit_transform(load_iris().data).shape
    (150, 2)
    """

    latent = Latent(Kernel.GAUSSIAN, "both")


class TSNE(NeighborEmbedding):
    """t-SNE: symmetrised entropic affinity, matched by a Student kernel that is normalised by its total sum.

    Parameters and attributes are those of `snekhorn.estimators.NeighborEmbedding`.

    References
    ----------
    Van der Maaten and Hinton, Visualizing Data using t-SNE, JMLR 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from snekhorn import TSNE
    >>> TSNE().fit_transform(load_iris().data).shape
    (150, 2)
    """

    latent = Latent(Kernel.STUDENT, "total")


class SymmetricSNE(NeighborEmbedding):
    """Symmetric SNE: like `TSNE`, but with the Gaussian kernel.

    Parameters and attributes are those of `snekhorn.estimators.NeighborEmbedding`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from snekhorn import SymmetricSNE
    >>> SymmetricSNE().fit_transform(load_iris().data).shape
    (150, 2)
    """

    latent = Latent(Kernel.GAUSSIAN, "total")


class SNE(NeighborEmbedding):
    """SNE: entropic affinity, matched by a Gaussian kernel that is normalised by row.

    Parameters and attributes are those of `snekhorn.estimators.NeighborEmbedding`.

    References
    ----------
    Hinton and Roweis, Stochastic Neighbor Embedding, NIPS 2002.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from snekhorn import SNE
    >>> SNE().fit_transform(load_iris().data).shape
    (150, 2)
    """

    latent = Latent(Kernel.GAUSSIAN, "rows")
