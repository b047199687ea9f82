"""Table of all properties, which the modules named after their subjects fill."""

PROPERTIES = {}  # by name: the strategy for cases, and the check


def holds_for(cases):
    """Register a property, which takes a case and raises if it fails."""

    def register(check):
        PROPERTIES[check.__name__] = (cases, check)
        return check

    return register
