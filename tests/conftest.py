"""Every run of the tests tries the same examples: what fails here fails everywhere, and again."""

from hypothesis import settings

settings.register_profile("same every time", derandomize=True, database=None)
settings.load_profile("same every time")
