"""How names of a log become names of a configuration: ids and flavors are DNS labels there."""

import re
from typing import Final

LABEL_MAX: Final = 63
_OTHER: Final = re.compile(r"[^a-z0-9]+")


def label(name: str) -> str:
    """Lower case, and a hyphen for every run of other signs than letters and digits: ``NLP_Group`` is ``nlp-group``."""
    return _OTHER.sub("-", name.lower()).strip("-")[:LABEL_MAX].rstrip("-") or "unnamed"
