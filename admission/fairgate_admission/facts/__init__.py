"""What every rule starts from: the request, who is who, what the world must tell, and what a verdict looks like.

It must never hold a rule of its own.
"""
