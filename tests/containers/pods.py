"""The pod of docker/kubernetes.yaml, run without a cluster beside what compose.yaml names."""

from __future__ import annotations

import os
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import httpx
import yaml

from tests.containers.team import Team
from tests.support.composition import BACK, DOCKER
from tests.support.containers import Container, Network, Specification
from tests.support.images import Image

SECRETS = {
    "token": "SERVICE_BEARER_TOKEN",
    "neo4j-password": "NEO4J_PASSWORD",
    "s3-access-key": "S3_ACCESS_KEY",
    "s3-secret-key": "S3_SECRET_KEY",
}
"""What stands in docker/.env under another name, by its key of the secret."""
RUN = {
    "name", "image", "ports", "envFrom", "env", "startupProbe", "readinessProbe", "livenessProbe",
    "resources", "securityContext", "volumeMounts",
}  # fmt: skip
"""What of a container is run here; of anything else, nobody would know."""
RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
UNITS = {"Mi": 2**20, "Gi": 2**30}


class Pod:
    """A pod of the deployment, in the networks of a team's instance.

    Attributes:
        limit: the memory that it may have.
        seconds_to_start: for how long its startup probe may fail.
    """

    def __init__(self, image: Image, team: Team, folder: Path) -> None:
        documents = yaml.safe_load_all((DOCKER / "kubernetes.yaml").read_text("utf-8"))
        self._found = {(each["kind"], each["metadata"]["name"]): each for each in documents}
        self._spec = self._found["Deployment", "graphmem"]["spec"]["template"]["spec"]
        (self._described,) = self._spec["containers"]
        assert {*self._described} <= RUN
        assert self._described["securityContext"] == RESTRICTED
        self._team, self.folder = team, folder
        limit = self._described["resources"]["limits"]["memory"]
        self.limit = int(limit[:-2]) * UNITS[limit[-2:]]
        self.grace: int = self._spec["terminationGracePeriodSeconds"]
        probe = self._described["startupProbe"]
        self.seconds_to_start: int = probe["periodSeconds"] * probe["failureThreshold"]
        (front,) = team.services.file["networks"]["front"]["ipam"]["config"]
        self.address = str([*IPv4Network(front["ip_range"]).hosts()][-1])
        prefix = IPv4Network(front["subnet"]).prefixlen
        networks = [
            Network("front", self.address, prefix, front["gateway"]),
            Network("back", str([*BACK.hosts()][-1]), BACK.prefixlen),
        ]
        security = self._spec["securityContext"]
        self.container = Container("pod", folder, Specification(
            below=image.root,
            command=image.command,
            environment=image.environment | self._environment(),
            user=f"{security['runAsUser']}:{security['runAsGroup']}",
            directory=image.configuration["WorkingDir"],
            volumes=[*self._volumes(security["fsGroup"])],
            networks=networks,
            # The name of an object store in another namespace, as the ConfigMap has it.
            hosts={
                "neo4j": team.services.addresses["neo4j"]["back"],
                "objects.storage.svc": team.services.addresses["objects"]["back"],
            },
            memory=self.limit,
        ))  # fmt: skip

    def _environment(self) -> dict[str, str]:
        environment: dict[str, str] = {}
        for source in self._described["envFrom"]:
            environment |= self._found["ConfigMap", source["configMapRef"]["name"]]["data"]
        for each in self._described["env"]:
            secret = each["valueFrom"]["secretKeyRef"]
            assert secret["name"] == "graphmem"
            environment[each["name"]] = self._team.variables[SECRETS[secret["key"]]]
        # Else Kubernetes would set variables for each service, which are settings of graphmem.
        assert self._spec["enableServiceLinks"] is False
        return environment

    def _volumes(self, group: int) -> Any:
        """Yield the volumes as a node makes them: of root, and writable for the group of the pod."""
        for mount in self._described["volumeMounts"]:
            (volume,) = (each for each in self._spec["volumes"] if each["name"] == mount["name"])
            assert {*volume} == {"name", "emptyDir"}
            place = self.volume(mount["name"])
            place.mkdir(parents=True)
            os.chown(place, 0, group)
            place.chmod(0o2777)
            yield place, mount["mountPath"], True

    def volume(self, name: str) -> Path:
        """Return the directory of a volume."""
        return self.folder / "volumes" / name

    def probe(self, name: str) -> bool:
        """Return whether a probe succeeds, sent as a node sends it."""
        described = self._described[f"{name}Probe"]
        request = described["httpGet"]
        (port,) = (
            each["containerPort"] for each in self._described["ports"] if each["name"] == request["port"]
        )
        headers = {each["name"]: each["value"] for each in request["httpHeaders"]}
        url = f"http://{self.address}:{port}{request['path']}"
        try:
            answer = httpx.get(url, headers=headers, timeout=described["timeoutSeconds"])
        except httpx.TransportError:
            return False
        return 200 <= answer.status_code < 400

    def client(self) -> httpx.Client:
        """Return a client with the token, which the caller closes."""
        headers = {"Authorization": f"Bearer {self._team.token}", "Host": "localhost"}
        return httpx.Client(base_url=f"http://{self.address}:3080", headers=headers, timeout=60.0)
