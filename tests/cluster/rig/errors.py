"""What goes wrong with the rig itself, told to a person."""


class RigError(Exception):
    """The rig can not do what it was asked for; the message says why and what to do."""
