"""All objects of a configuration, in the order in which they are to be made."""

from collections.abc import Iterator, Sequence

from fairgate_scheduler.adapters.kube.mapping.flavors import priority_classes, resource_flavors
from fairgate_scheduler.adapters.kube.mapping.namespaces import accelerator_quota, namespace, tenant_wall
from fairgate_scheduler.adapters.kube.mapping.objects import Wanted
from fairgate_scheduler.adapters.kube.mapping.policies import Site
from fairgate_scheduler.adapters.kube.mapping.queues import cluster_queues, cohorts, local_queues
from fairgate_scheduler.adapters.kube.mapping.rows import Numbers, Overruns
from fairgate_scheduler.core.tenancy import Config

_NOTHING: Overruns = {}


def wanted_objects(config: Config, site: Site, overruns: Overruns = _NOTHING) -> Sequence[Wanted]:
    """What each object needs comes before it. The configuration has no faults of ``check_mapping``."""
    return tuple(_all(Numbers(config, overruns), site))


class Wishes:
    """All objects of the configuration in force, made once and kept while it and what a cut left stay the same."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._of: tuple[Config, Overruns] | None = None
        self._wanted: Sequence[Wanted] = ()

    def of(self, config: Config, overruns: Overruns) -> Sequence[Wanted]:
        """As ``wanted_objects``; the same objects as long as nothing has changed."""
        if self._of is None or self._of[0] is not config or self._of[1] != overruns:
            self._of, self._wanted = (config, overruns), wanted_objects(config, self._site, overruns)
        return self._wanted


def _all(numbers: Numbers, site: Site) -> Iterator[Wanted]:
    config = numbers.config
    yield from resource_flavors(config)
    yield from priority_classes(config)
    yield from cohorts(numbers)
    yield from cluster_queues(numbers)
    for tenant in config.tenants.values():
        if config.is_leaf(tenant.id):
            yield namespace(tenant)
            yield from accelerator_quota(numbers, tenant)
            yield tenant_wall(tenant, site.system_namespaces)
            yield from local_queues(tenant)
