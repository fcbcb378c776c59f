"""What the gate's objects are called."""

from typing import Final

WEBHOOKS: Final = "fairgate-gate"
"""The ValidatingWebhookConfiguration."""
WEBHOOK: Final = "gate.fairgate.internal"
SERVICE: Final = "fairgate-gate"
SECRET: Final = "fairgate-gate-tls"
ACCOUNT: Final = "fairgate-gate"
SWEEPER: Final = "fairgate-gate-sweeper"
