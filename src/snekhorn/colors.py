"""Colours that readers can tell apart, colour-blind ones too."""

import colorsys

MISSING = "#c8c8c8"

# Okabe and Ito, "Color Universal Design", 2008; black last, because it outshouts the others.
OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
MOST = 40
LEVELS = ((0.42, 0.75), (0.62, 0.65), (0.30, 0.60), (0.76, 0.55))  # lightness and saturation, hue after hue


def categorical(n: int) -> list[str]:
    """n colours, at most 40, as hexadecimal strings."""
    if not 0 <= n <= MOST:
        raise ValueError(f"n must be from 0 to {MOST}, got {n}; merge the smallest categories.")
    if n <= len(OKABE_ITO):
        return list(OKABE_ITO[:n])
    hues = MOST // len(LEVELS)
    colours = []
    for i in range(n):
        lightness, saturation = LEVELS[i // hues]
        red, green, blue = colorsys.hls_to_rgb((i % hues) / hues, lightness, saturation)
        colours.append(f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}")
    return colours
