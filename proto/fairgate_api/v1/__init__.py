"""Version 1 of the wire contract. It never changes in a way that breaks a deployed client."""
