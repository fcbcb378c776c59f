"""The fields of a RayJob and of all that is in it, as data: KubeRay ``ray.io/v1`` (1.5 to 1.7) and Kubernetes pods.

Each type is a line of ``name:kind``. ``!`` after a name: required. ``~1.7``: only since that version of KubeRay. Kinds:
``s`` text, ``i`` 32-bit integer, ``l`` integer, ``b`` boolean, ``n`` number, ``q`` quantity, ``p`` port (number or
name), ``sm`` map of texts, ``qm`` map of quantities, ``any``, ``[kind]`` list, ``A|B`` one of these words, else the
name of another type.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class FieldKind:
    """What a field may hold. ``since``: the first version of KubeRay that has it, if later than 1.5."""

    kind: str
    is_required: bool = False
    since: str = ""


_TABLE: Final = {
    "RayJob": "apiVersion!:s kind!:s metadata!:ObjectMeta spec!:RayJobSpec status:any",
    "ObjectMeta": (
        "name:s generateName:s namespace:s labels:sm annotations:sm finalizers:[s] uid:s resourceVersion:s generation:l"
        " creationTimestamp:any deletionTimestamp:any deletionGracePeriodSeconds:l managedFields:any"
        " ownerReferences:any selfLink:s"
    ),
    "RayJobSpec": (
        "activeDeadlineSeconds:i backoffLimit:i rayClusterSpec:RayClusterSpec submitterPodTemplate:PodTemplate"
        " metadata:sm clusterSelector:sm submitterConfig:SubmitterConfig managedBy:s deletionStrategy:DeletionStrategy"
        " entrypoint:s runtimeEnvYAML:s jobId:s submissionMode:s entrypointResources:s entrypointNumCpus:n"
        " entrypointNumGpus:n ttlSecondsAfterFinished:i shutdownAfterJobFinishes:b suspend:b"
        " preRunningDeadlineSeconds~1.6:i"
    ),
    "SubmitterConfig": "backoffLimit:i",
    "DeletionStrategy": "onSuccess:DeletionPolicy onFailure:DeletionPolicy deletionRules:[DeletionRule]",
    "DeletionPolicy": "policy:DeleteCluster|DeleteWorkers|DeleteSelf|DeleteNone",
    "DeletionRule": "policy!:DeleteCluster|DeleteWorkers|DeleteSelf|DeleteNone condition!:DeletionCondition",
    "DeletionCondition": "jobStatus:SUCCEEDED|FAILED ttlSeconds:i jobDeploymentStatus~1.6:Failed|Failed",
    "RayClusterSpec": (
        "authOptions~1.5.1:AuthOptions suspend:b managedBy:s autoscalerOptions:AutoscalerOptions"
        " headServiceAnnotations:sm enableInTreeAutoscaling:b gcsFaultToleranceOptions:GcsFaultTolerance"
        " headGroupSpec!:HeadGroupSpec rayVersion:s workerGroupSpecs:[WorkerGroupSpec] upgradeStrategy~1.6:any"
        " historyServerOptions~1.7:any networkPolicy~1.7:any tlsOptions~1.7:any"
    ),
    "AuthOptions": "mode:disabled|token enableK8sTokenAuth~1.6:b secretName~1.6:s",
    "AutoscalerOptions": (
        "resources:Resources image:s imagePullPolicy:s securityContext:SecurityContext idleTimeoutSeconds:i"
        " upscalingMode:Default|Aggressive|Conservative version:v1|v2 env:[EnvVar] envFrom:[EnvFrom]"
        " volumeMounts:[VolumeMount] command~1.7:[s] args~1.7:[s]"
    ),
    "GcsFaultTolerance": (
        "redisUsername:RedisCredential redisPassword:RedisCredential externalStorageNamespace:s redisAddress:s"
        " backend~1.7:redis|rocksdb storage~1.7:any"
    ),
    "RedisCredential": "value:s valueFrom:EnvVarSource",
    "HeadGroupSpec": (
        "template!:PodTemplate headService:any enableIngress:b resources:sm labels:sm rayStartParams:sm serviceType:s"
        " ingressOptions~1.7:any"
    ),
    "WorkerGroupSpec": (
        "suspend:b groupName!:s replicas:i minReplicas:i maxReplicas:i idleTimeoutSeconds:i resources:sm labels:sm"
        " rayStartParams:sm template!:PodTemplate scaleStrategy:ScaleStrategy numOfHosts:i priority~1.7:i"
    ),
    "ScaleStrategy": "workersToDelete:[s]",
    "PodTemplate": "metadata:ObjectMeta spec!:PodSpec",
    "PodSpec": (
        "volumes:[Volume] initContainers:[Container] containers!:[Container] ephemeralContainers:any restartPolicy:s"
        " terminationGracePeriodSeconds:l activeDeadlineSeconds:l dnsPolicy:s nodeSelector:sm serviceAccountName:s"
        " serviceAccount:s automountServiceAccountToken:b nodeName:s hostNetwork:b hostPID:b hostIPC:b hostUsers:b"
        " shareProcessNamespace:b securityContext:PodSecurityContext imagePullSecrets:[NameReference] hostname:s"
        " hostnameOverride:s subdomain:s affinity:Affinity schedulerName:s tolerations:[Toleration]"
        " hostAliases:[HostAlias] priorityClassName:s priority:i dnsConfig:any readinessGates:any runtimeClassName:s"
        " enableServiceLinks:b preemptionPolicy:s overhead:qm topologySpreadConstraints:[TopologySpread]"
        " setHostnameAsFQDN:b os:any schedulingGates:any resourceClaims:any resources:Resources"
    ),
    "Container": (
        "name!:s image:s command:[s] args:[s] workingDir:s ports:[ContainerPort] envFrom:[EnvFrom] env:[EnvVar]"
        " resources:Resources resizePolicy:any restartPolicy:s restartPolicyRules:any volumeMounts:[VolumeMount]"
        " volumeDevices:any livenessProbe:Probe readinessProbe:Probe startupProbe:Probe lifecycle:Lifecycle"
        " terminationMessagePath:s terminationMessagePolicy:s imagePullPolicy:s securityContext:SecurityContext stdin:b"
        " stdinOnce:b tty:b"
    ),
    "Resources": "requests:qm limits:qm claims:any",
    "ContainerPort": "name:s containerPort!:i hostPort:i protocol:s hostIP:s",
    "EnvVar": "name!:s value:s valueFrom:EnvVarSource",
    "EnvVarSource": "fieldRef:any resourceFieldRef:any configMapKeyRef:KeyRef secretKeyRef:KeyRef fileKeyRef:any",
    "KeyRef": "name:s key!:s optional:b",
    "EnvFrom": "prefix:s configMapRef:OptionalReference secretRef:OptionalReference",
    "OptionalReference": "name:s optional:b",
    "NameReference": "name:s",
    "VolumeMount": ("name!:s mountPath!:s subPath:s subPathExpr:s readOnly:b recursiveReadOnly:s mountPropagation:s"),
    "Probe": (
        "exec:Exec httpGet:HttpGet tcpSocket:TcpSocket grpc:any initialDelaySeconds:i timeoutSeconds:i periodSeconds:i"
        " successThreshold:i failureThreshold:i terminationGracePeriodSeconds:l"
    ),
    "Exec": "command:[s]",
    "HttpGet": "path:s port!:p host:s scheme:s httpHeaders:any",
    "TcpSocket": "port!:p host:s",
    "Lifecycle": "postStart:LifecycleHandler preStop:LifecycleHandler stopSignal:s",
    "LifecycleHandler": "exec:Exec httpGet:HttpGet tcpSocket:TcpSocket sleep:any",
    "SecurityContext": (
        "capabilities:any privileged:b seLinuxOptions:any windowsOptions:any runAsUser:l runAsGroup:l runAsNonRoot:b"
        " readOnlyRootFilesystem:b allowPrivilegeEscalation:b procMount:s seccompProfile:any appArmorProfile:any"
    ),
    "PodSecurityContext": (
        "seLinuxOptions:any windowsOptions:any runAsUser:l runAsGroup:l runAsNonRoot:b supplementalGroups:[l]"
        " supplementalGroupsPolicy:s fsGroup:l sysctls:any fsGroupChangePolicy:s seccompProfile:any appArmorProfile:any"
        " seLinuxChangePolicy:s"
    ),
    "Affinity": "nodeAffinity:any podAffinity:any podAntiAffinity:any",
    "Toleration": "key:s operator:s value:s effect:s tolerationSeconds:l",
    "HostAlias": "ip!:s hostnames:[s]",
    "TopologySpread": (
        "maxSkew!:i topologyKey!:s whenUnsatisfiable!:s labelSelector:any minDomains:i nodeAffinityPolicy:s"
        " nodeTaintsPolicy:s matchLabelKeys:[s]"
    ),
    "Volume": (
        "name!:s hostPath:HostPath emptyDir:EmptyDir persistentVolumeClaim:VolumeClaim configMap:ConfigMapVolume"
        " secret:SecretVolume nfs:NfsVolume csi:any projected:any downwardAPI:any ephemeral:any image:any"
        " gcePersistentDisk:any awsElasticBlockStore:any gitRepo:any iscsi:any glusterfs:any rbd:any flexVolume:any"
        " cinder:any cephfs:any flocker:any fc:any azureFile:any vsphereVolume:any quobyte:any azureDisk:any"
        " photonPersistentDisk:any portworxVolume:any scaleIO:any storageos:any"
    ),
    "HostPath": "path!:s type:s",
    "EmptyDir": "medium:s sizeLimit:q",
    "VolumeClaim": "claimName!:s readOnly:b",
    "ConfigMapVolume": "name:s items:[KeyToPath] defaultMode:i optional:b",
    "SecretVolume": "secretName:s items:[KeyToPath] defaultMode:i optional:b",
    "KeyToPath": "key!:s path!:s mode:i",
    "NfsVolume": "server!:s path!:s readOnly:b",
}

_FIELD: Final = re.compile(r"(\w+)(!?)(?:~([\d.]+))?:(\S+)")


def _parse(line: str) -> Mapping[str, FieldKind]:
    fields = {}
    for entry in line.split():
        match = _FIELD.fullmatch(entry)
        assert match is not None, entry
        fields[match[1]] = FieldKind(match[4], bool(match[2]), match[3] or "")
    return MappingProxyType(fields)


TYPES: Final[Mapping[str, Mapping[str, FieldKind]]] = MappingProxyType(
    {name: _parse(line) for name, line in _TABLE.items()}
)
"""Type → field → what it may hold."""

NEWER: Final[Mapping[str, str]] = MappingProxyType(
    {name: kind.since for fields in TYPES.values() for name, kind in fields.items() if kind.since}
)
"""Field that KubeRay 1.5.0 does not have → the first version that has it."""
