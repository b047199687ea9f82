"""Cases that failed once, made small by Hypothesis; every run of the tests tries them again."""

FOUND = [
    # LAPACK could not find the eigenvectors of a covariance with repeated eigenvalues.
    (
        "preprocessing_is_finite_and_row_by_row",
        "(Points(shape='simplex', n=6, seed=6179, duplicates=0.5, constant_column=True, form='sparse'), True, 5)",
    ),
    # A far outlier hid that steps of the solver ascend.
    (
        "the_unit_of_the_points_does_not_matter",
        "(AffinityCase(kind='multiscale', points=Points(n=7, seed=807, outlier=1000000.0), "
        "parameters={'n_neighbors': 4}), 300)",
    ),
    (
        "the_unit_of_the_points_does_not_matter",
        "(AffinityCase(kind='multiscale', points=Points(shape='spreads', n=7, seed=424, outlier=1000000.0)), -100)",
    ),
    # Rounding decided the floor of a row.
    (
        "the_unit_of_the_points_does_not_matter",
        "(AffinityCase(kind='multiscale', points=Points(shape='heavy tails', n=4, p=2, seed=111, outlier=1000.0), "
        "parameters={'self_loops': False}), 460)",
    ),
    # An unsolvable problem converged in one unit only.
    (
        "the_unit_of_the_points_does_not_matter",
        "(AffinityCase(kind='symmetric-entropic', points=Points(n=3), parameters={'self_loops': False, "
        "'perplexity': 1.01}), -460)",
    ),
    # The entropies of rows with too few neighbours were reported as too high, although they are too low.
    (
        "an_affinity_is_what_it_reports",
        "AffinityCase(kind='symmetric-entropic', points=Points(n=5), parameters={'n_neighbors': 2, "
        "'self_loops': False, 'perplexity': 5.0})",
    ),
    # Advice that could not be followed.
    (
        "an_affinity_is_what_it_reports",
        "AffinityCase(kind='self-tuning', points=Points(), parameters={'self_loops': False, 'k': 2})",
    ),
    (
        "a_layout_is_what_it_reports",
        "LayoutCase(kind='tsnekhorn', points=Points(), init=Layout(width=1e-12, height=0.0), "
        "parameters={'perplexity': 1.01, 'self_loops': True, 'max_iter': 1})",
    ),
    # A lower limit of the field of the others hid that it vanishes.
    (
        "a_layout_is_what_it_reports",
        "LayoutCase(kind='symmetric-sne', points=Points(), init=Layout(width=1000.0, height=0.0), "
        "parameters={'perplexity': 1.01, 'max_iter': 1})",
    ),
    (
        "a_layout_is_what_it_reports",
        "LayoutCase(kind='snekhorn', points=Points(), init=Layout(width=1000.0, height=0.0), "
        "parameters={'perplexity': 1.01, 'latent_self_loops': False, 'max_iter': 1})",
    ),
    (
        "a_layout_is_what_it_reports",
        "LayoutCase(kind='sne', points=Points(n=8, seed=409), parameters={'perplexity': 1.01, 'max_iter': 60})",
    ),
    (
        "a_layout_is_what_it_reports",
        "LayoutCase(kind='symmetric-sne', points=Points(shape='spreads', n=13, seed=1), "
        "affinity=AffinityCase(kind='self-tuning', points=Points(shape='spreads', n=13, seed=1), "
        "parameters={'self_loops': False, 'k': 1}), "
        "parameters={'perplexity': 1.01, 'learning_rate': 100.0, 'max_iter': 10})",
    ),
    # A point far from all others made the grid too coarse, or too short.
    (
        "a_layout_is_what_it_reports",
        "LayoutCase(kind='tsne', points=Points(), init=Layout(width=1e-12, height=0.0, outlier=10000.0), "
        "parameters={'perplexity': 1.01, 'max_iter': 1, 'method': 'fft'})",
    ),
    (
        "a_layout_is_what_it_reports",
        "LayoutCase(kind='tsnekhorn', points=Points(n=3), init=Layout(width=1e-12, height=1.0, outlier=10000.0), "
        "parameters={'perplexity': 1.01, 'max_iter': 1, 'method': 'fft'})",
    ),
    (
        "a_saved_model_is_the_same_model",
        "LayoutCase(kind='snekhorn', points=Points(), init=Layout(width=1e-12, height=0.0, outlier=10000.0), "
        "parameters={'perplexity': 1.01, 'max_iter': 1, 'method': 'fft'})",
    ),
    # Costs near the limits of their type.
    (
        "a_new_point_does_not_depend_on_its_batch",
        "LayoutCase(kind='tsnekhorn', points=Points(offset=1e8, scale=1e15, dtype='float32', form='sparse'), "
        "parameters={'perplexity': 1.01, 'max_iter': 1})",
    ),
    (
        "a_saved_model_is_the_same_model",
        "LayoutCase(kind='tsnekhorn', points=Points(seed=1, outlier=1000.0, scale=1e+150), "
        "parameters={'perplexity': 1.01, 'max_iter': 1})",
    ),
    (
        "an_affinity_is_what_it_reports",
        "AffinityCase(kind='multiscale', points=Points(shape='spreads', n=4, p=2, seed=11, duplicates=0.9, "
        "outlier=1000000.0, scale=1000000000000000.0, dtype='float32'), parameters={'self_loops': False})",
    ),
    # Two points so far apart that the error of the grid was larger than their field.
    (
        "a_layout_is_what_it_reports",
        "LayoutCase(kind='tsne', points=Points(), init=Layout(width=1000.0, height=0.0), "
        "parameters={'perplexity': 1.01, 'n_neighbors': None, 'max_iter': 1, 'method': 'fft', 'random_state': 0})",
    ),
    # Comparing a metric that is an array with a name gives an array.
    (
        "nonsense_is_refused_or_works",
        "(AffinityCase(kind='symmetric-entropic', points=Points(), "
        "parameters={'self_loops': False, 'gamma_squared': False, 'perplexity': 1.01}), 93, array([1, 2]))",
    ),
    # The number of neighbours of an enormous perplexity is not an integer.
    (
        "nonsense_is_refused_or_works",
        "(LayoutCase(kind='tsnekhorn', points=Points(), "
        "parameters={'perplexity': 1.01, 'n_neighbors': None, 'max_iter': 1, 'random_state': 0}), 98, 1e+308)",
    ),
    # SciPy sorted the entries of the user's matrix.
    (
        "an_earlier_fit_leaves_no_trace",
        "(LayoutCase(kind='tsnekhorn', points=Points(n=3, seed=1), metric='precomputed graph'), "
        "LayoutCase(kind='tsnekhorn', points=Points(), parameters={'perplexity': 1.01, 'max_iter': 1}))",
    ),
    # The field of the other point was lost in the error of the point's own term on the grid.
    (
        "a_layout_is_what_it_reports",
        "LayoutCase(kind='tsnekhorn', points=Points(), init=Layout(width=1000.0, height=0.001), "
        "parameters={'perplexity': 1.01, 'latent_self_loops': False, 'max_iter': 1, 'method': 'fft'})",
    ),
    (
        "a_layout_is_what_it_reports",
        "LayoutCase(kind='tsnekhorn', points=Points(), affinity='precomputed', "
        "parameters={'latent_self_loops': False, 'max_iter': 60, 'method': 'fft'})",
    ),
    # Rounding made the inequality of equal points negative, so that the model could not be saved.
    (
        "a_saved_model_is_the_same_model",
        "LayoutCase(kind='tsnekhorn', points=Points(shape='simplex', n=7, p=1), parameters={'perplexity': 1.01, "
        "'n_neighbors': None, 'max_iter': 1, 'random_state': 0})",
    ),
    # Principal components of large float32 entries overflowed in their variances.
    (
        "training_points_are_placed_where_they_are",
        "LayoutCase(kind='tsnekhorn', points=Points(p=4, outlier=1000000.0, constant_column=True, "
        "scale=1000000000000000.0, dtype='float32'), metric='braycurtis', parameters={'perplexity': 1.01, "
        "'n_neighbors': None, 'max_iter': 1, 'random_state': 0})",
    ),
    # A bandwidth in float32 was compared with limits beyond float32.
    (
        "nonsense_is_refused_or_works",
        "(AffinityCase(kind='doubly-stochastic', points=Points(), parameters={'self_loops': False, "
        "'perplexity': 1.01}), 0, np.float32(2.5))",
    ),
    # The loss of a Gaussian kernel summed squared distances in float32.
    (
        "a_layout_is_what_it_reports",
        "LayoutCase(kind='symmetric-sne', points=Points(), init=Layout(width=1e-12, height=1000.0), "
        "parameters={'perplexity': 1.01, 'n_neighbors': None, 'max_iter': 1, 'method': 'fft', 'random_state': 0})",
    ),
    # Six points in a wide line had a grid of 16 million nodes, and took minutes.
    (
        "a_layout_is_what_it_reports",
        "LayoutCase(kind='tsnekhorn', points=Points(shape='groups', n=6, p=6, seed=1919, duplicates=0.1, outlier=10.0, "
        "constant_column=True, scale=0.1, dtype='float32', form='read-only'), metric='precomputed graph', "
        "init=Layout(shape='binary', seed=2629514, width=30.0, height=1000.0, outlier=1000000.0), "
        "parameters={'n_components': 1, 'perplexity': 4.0, 'balance': 0.0, 'exaggeration': 4.0, 'max_iter': 300, "
        "'method': 'fft', 'random_state': 7})",
    ),
    # A point far from the others decided the loss, in which P was rounded to float32.
    (
        "a_layout_is_what_it_reports",
        "LayoutCase(kind='sne', points=Points(n=4, seed=1), init=Layout(width=1e-12, height=0.0, outlier=10000.0), "
        "parameters={'perplexity': 1.01, 'n_neighbors': 2, 'optimizer': 'adam', 'max_iter': 1, 'method': 'fft', "
        "'random_state': 0})",
    ),
    # Advice to add edges to a graph that has them all.
    (
        "an_affinity_is_what_it_reports",
        "AffinityCase(kind='symmetric-entropic', points=Points(n=8), metric='precomputed matrix', "
        "parameters={'n_neighbors': 7, 'self_loops': False, 'gamma_squared': False, 'perplexity': 1.01})",
    ),
    # The energy of strong springs was added to the divergence, and subtracted again.
    (
        "an_extended_layout_is_finite_and_the_same_for_any_n_jobs",
        "(LayoutCase(kind='tsnekhorn', points=Points(), parameters={'perplexity': 1.01, 'n_neighbors': None, "
        "'learning_rate': 100.0, 'max_iter': 1, 'random_state': 0}), 10000.0)",
    ),
    # Comparing an optimiser that is an array with a name gives an array.
    (
        "nonsense_is_refused_or_works",
        "(LayoutCase(kind='tsnekhorn', points=Points(), parameters={'perplexity': 1.01, 'n_neighbors': None, "
        "'max_iter': 1, 'random_state': 0}), 55, array([1, 2]))",
    ),
    # Rounding decided whether rows with as many entries as the perplexity had to be uniform.
    (
        "the_unit_of_the_points_does_not_matter",
        "(AffinityCase(kind='symmetric-entropic', points=Points(shape='counts', n=10, p=12, seed=4), "
        "parameters={'n_neighbors': 6, 'self_loops': False, 'perplexity': 10.0}), -20)",
    ),
    # The same in the search for a bandwidth that all rows share.
    (
        "the_unit_of_the_points_does_not_matter",
        "(AffinityCase(kind='doubly-stochastic', points=Points(n=7, p=5, seed=661, duplicates=0.9, outlier=1000000.0), "
        "parameters={'n_neighbors': 5, 'self_loops': False, 'perplexity': 5.0}), -460)",
    ),
    # The constraints determine P only up to the root of the tolerance.
    (
        "the_unit_of_the_points_does_not_matter",
        "(AffinityCase(kind='multiscale', points=Points(shape='spiral', n=8, seed=4294967295, duplicates=0.5, "
        "outlier=1000.0), parameters={'n_neighbors': 1, 'self_loops': False, 'perplexities': [2.0]}), -300)",
    ),
    # Two points that have only each other were called out of reach when the targets of others had to be lowered.
    (
        "the_unit_of_the_points_does_not_matter",
        "(AffinityCase(kind='multiscale', points=Points(n=23, seed=1, outlier=1000.0), parameters={'n_neighbors': 1}), "
        "-460)",
    ),
]
