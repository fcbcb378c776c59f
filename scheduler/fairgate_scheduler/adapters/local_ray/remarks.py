"""What of a configuration means nothing to processes on one machine: kept for Kubernetes, and said."""

from fairgate_scheduler.core.tenancy import Config

_OF_TENANTS = ("namespace", "service_accounts", "roles")
_OF_FLAVORS = ("node_labels", "tolerations", "kueue_flavor")


def remarks(config: Config) -> list[str]:
    """A sentence for each field that is set and has no effect with the local runner."""
    set_in = {
        name: [f"{kind} {owner}" for owner, each in sorted(owners.items()) if getattr(each, name)]
        for kind, owners, names in (("flavor", config.flavors, _OF_FLAVORS), ("tenant", config.tenants, _OF_TENANTS))
        for name in names
    }
    return [
        f"{name} ({', '.join(places)}): kept, but has no effect with the local runner"
        for name, places in set_in.items()
        if places
    ]
