"""The world as it is now: live objects from the API server, reservations from the store, both read and never written.

Nothing is remembered from one request to the next but what can not change. It must never wait longer than it was given,
or take what could not be read for what is not there: a failure is a ``LookupFailedError``.
"""
