"""The certificate that the webhook serves: our own authority, kept in a Secret, or files that somebody else keeps.

It must never serve what the API server would not trust without saying that it is not ready, or write a private key to a
place that others can read.
"""
