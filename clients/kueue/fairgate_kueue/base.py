"""What the models have in common. Generated: do not edit it, run `make gen-kueue`."""

from typing import Any, Dict

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Model(BaseModel):
    """An object of Kueue's API, or a part of one. Fields that nobody has set are None, and the server's to fill in.

    Read one with ``model_validate``. A quantity may be given as a number and is a text from then on. Fields that are
    not known, such as those of a later Kueue, are kept as they came. Rules between fields are the API server's.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        coerce_numbers_to_str=True,
        defer_build=True,  # most runs of a program need few of the models
        extra="allow",
        frozen=True,
        populate_by_name=True,
    )

    def manifest(self) -> Dict[str, Any]:
        """The plain data that the API server takes, with nothing in it that was not set."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)
