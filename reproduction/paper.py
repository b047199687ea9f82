"""Numbers from the paper, to compare with ours.

Van Assel, Vayer, Flamary and Courty, SNEkhorn: Dimension Reduction with Symmetric Entropic Affinities, NeurIPS 2023.
"""

# Table 1: properties of the affinities.
PROPERTIES = {
    "entropic": {"symmetric": False, "doubly stochastic": False, "equal entropies": True},
    "symmetrised entropic": {"symmetric": True, "doubly stochastic": False, "equal entropies": False},
    "doubly stochastic": {"symmetric": True, "doubly stochastic": True, "equal entropies": False},
    "symmetric entropic": {"symmetric": True, "doubly stochastic": True, "equal entropies": True},
}

# Table 2: ARI x 100 of spectral clustering, for the row-stochastic (symmetrised), doubly stochastic, self-tuning,
# symmetrised entropic and symmetric entropic affinity.
CLUSTERING = {
    "liver_14520": (75.8, 75.8, 84.9, 80.8, 85.9),
    "breast_70947": (30.0, 30.0, 26.5, 23.5, 28.5),
    "leukemia_28497": (43.7, 44.1, 49.7, 42.5, 50.6),
    "colorectal_44076": (95.9, 95.9, 93.9, 95.9, 95.9),
    "liver_76427": (76.7, 76.7, 83.3, 81.1, 81.1),
    "breast_45827": (43.6, 53.8, 74.7, 71.5, 77.0),
    "colorectal_21510": (57.6, 57.6, 54.7, 94.0, 79.3),
    "renal_53757": (47.6, 47.6, 49.5, 49.5, 49.5),
    "prostate_6919": (12.0, 13.0, 13.2, 16.3, 17.4),
    "throat_42743": (9.29, 9.29, 11.4, 11.8, 44.2),
    "scgem": (57.3, 58.5, 74.8, 69.9, 71.6),
    "snareseq": (8.89, 9.95, 46.3, 55.4, 96.6),
}

# Table 3: silhouette x 100 and trustworthiness x 100, each for UMAP, t-SNE and t-SNEkhorn.
EMBEDDINGS = {
    "coil20": ((20.4, 30.7, 52.3), (99.6, 99.6, 99.9)),
    "olivetti": ((6.4, 4.5, 15.7), (96.5, 96.2, 98.0)),
    "umist": ((-1.4, -0.2, 25.4), (93.0, 99.6, 99.8)),
    "cifar": ((13.6, 18.3, 31.5), (90.2, 90.1, 92.4)),
    "liver_14520": ((49.7, 50.9, 61.1), (89.2, 90.4, 92.3)),
    "breast_70947": ((28.6, 29.0, 31.2), (90.9, 91.3, 93.2)),
    "leukemia_28497": ((22.3, 20.6, 26.2), (90.4, 92.3, 94.3)),
    "colorectal_44076": ((67.6, 69.5, 74.8), (93.2, 93.7, 94.3)),
    "liver_76427": ((39.4, 38.3, 51.2), (85.9, 89.4, 92.0)),
    "breast_45827": ((35.4, 39.5, 44.4), (93.2, 94.3, 94.7)),
    "colorectal_21510": ((38.0, 42.3, 35.1), (85.6, 88.3, 88.2)),
    "renal_53757": ((44.4, 45.9, 47.8), (93.9, 94.6, 94.0)),
    "prostate_6919": ((5.4, 8.1, 9.1), (77.6, 80.6, 73.1)),
    "throat_42743": ((26.7, 28.0, 32.3), (91.5, 88.6, 86.8)),
    "scgem": ((26.9, 33.0, 39.3), (95.0, 96.2, 96.8)),
    "snareseq": ((6.8, 35.8, 67.9), (93.1, 99.1, 99.2)),
}

# Table 3: standard deviations over seeds.
SPREADS = {
    "coil20": ((3.3, 6.9, 1.1), (0.1, 0.1, 0.1)),
    "olivetti": ((4.2, 3.1, 2.2), (1.3, 0.6, 0.4)),
    "umist": ((2.7, 1.5, 4.9), (0.4, 0.2, 0.1)),
    "cifar": ((2.4, 0.8, 1.3), (0.8, 0.4, 0.3)),
    "liver_14520": ((1.3, 0.7, 0.3), (0.7, 0.4, 0.3)),
    "breast_70947": ((0.8, 0.2, 0.2), (0.5, 0.3, 0.4)),
    "leukemia_28497": ((0.7, 0.7, 2.3), (1.1, 0.8, 0.5)),
    "colorectal_44076": ((2.2, 0.5, 0.4), (0.7, 0.5, 0.6)),
    "liver_76427": ((4.3, 0.9, 2.5), (0.4, 1.0, 1.0)),
    "breast_45827": ((3.3, 1.9, 0.5), (0.4, 0.2, 0.3)),
    "colorectal_21510": ((1.3, 0.6, 2.1), (0.7, 0.9, 0.7)),
    "renal_53757": ((1.5, 0.3, 0.1), (0.2, 0.2, 0.2)),
    "prostate_6919": ((2.7, 0.2, 0.1), (1.8, 0.2, 0.5)),
    "throat_42743": ((2.4, 0.3, 0.1), (1.3, 0.8, 1.0)),
    "scgem": ((3.7, 1.1, 0.7), (1.3, 0.6, 0.3)),
    "snareseq": ((6.0, 5.2, 1.2), (2.8, 0.1, 0.1)),
}
