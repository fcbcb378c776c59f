"""Looking at what is there: live pods with devices that no reservation covers.

What came in while the gate was off is found here. It must never end a pod that it could not judge, or in a namespace
that admins have not named.
"""
