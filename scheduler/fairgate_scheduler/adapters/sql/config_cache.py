"""What is asked for in almost every transaction and hardly ever changes, so that it is not read each time."""

from fairgate_scheduler.ports import ConfigVersion


class ConfigCache:
    """The configuration read last: it is asked for all the time, is large, and no version ever changes."""

    def __init__(self) -> None:
        self._last: tuple[int, ConfigVersion] | None = None

    def get(self, config_id: int) -> ConfigVersion | None:
        """The version of this row, if it is the one read last."""
        last = self._last
        return last[1] if last is not None and last[0] == config_id else None

    def keep(self, config_id: int, version: ConfigVersion) -> None:
        """Remember a version that is committed."""
        self._last = (config_id, version)
