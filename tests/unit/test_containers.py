"""What can be checked of docker/ without an engine: its files agree with each other and with the product."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import threading
from fnmatch import fnmatch
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

import pytest
import yaml

from graphmem.neo4j_local.config import neo4j_conf
from graphmem.settings import Settings, variable
from tests.support.database import IMAGE, URI_VARIABLE
from tests.support.scheduling import OF_IMAGE

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "docker"
VARIABLES = {variable(name) for name in Settings.model_fields}
FILES = ("compose.yaml", "compose.test.yaml")


def compose(name: str) -> dict[str, Any]:
    return yaml.safe_load((DOCKER / name).read_text("utf-8"))


def instructions(word: str) -> list[str]:
    """Return the arguments of every instruction of a kind, its lines joined."""
    text = re.sub(r"\\\n\s*", " ", (DOCKER / "Dockerfile").read_text("utf-8"))
    return [line.partition(" ")[2].strip() for line in text.splitlines() if line.startswith(f"{word} ")]


def environment() -> dict[str, str]:
    """Return what the image sets."""
    return dict(pair.split("=", 1) for line in instructions("ENV") for pair in shlex.split(line))


def interpolated_variables(text: str) -> set[str]:
    """Return the variables that a file of compose takes from whoever runs it."""
    return set(re.findall(r"(?<!\$)\$\{(\w+)", text))


def interpolated(value: str) -> str:
    """Return a value of a file of compose with the defaults that it names; something long where none is."""
    while match := re.search(r"\$\{\w+(?::([-?])([^${}]*))?\}", value):
        default = match[2] if match[1] == "-" else "x" * 40
        value = value[: match.start()] + default + value[match.end() :]
    return value


def test_what_the_image_and_the_service_set_are_settings() -> None:
    variables = environment() | compose("compose.yaml")["services"]["graphmem"]["environment"]
    product_variables = {name for name in variables if name.startswith(("GRAPHMEM_", "SERVICE_", "NEO4J_"))}
    assert product_variables
    assert product_variables - VARIABLES == set()
    values = {name: interpolated(value) for name, value in variables.items() if name in product_variables}
    # An empty variable is like one that is not set.
    fields: dict[str, Any] = {
        name: values[variable(name)] for name in Settings.model_fields if values.get(variable(name))
    }
    settings = Settings(**fields)
    settings.check_bind()
    assert settings.neo4j_uri == "bolt://neo4j:7687"
    assert settings.advertised_url() == "http://127.0.0.1:3080"


def test_one_process_of_a_run_has_all_that_runs_the_image() -> None:
    files = {
        path for path in (ROOT / "tests" / "containers").glob("test_*.py") if "Image" in path.read_text()
    }
    assert {str(path.relative_to(ROOT)) for path in files} == OF_IMAGE


def test_what_is_copied_is_there_and_reaches_the_builder() -> None:
    copied = [
        word for line in instructions("COPY") if "--from" not in line for word in shlex.split(line)[:-1]
    ]
    assert set(copied) >= {"graphmem", "pyproject.toml", "locks/requirements.lock"}
    passed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for name in copied:
        assert (ROOT / name).exists(), name
        assert name in passed, name
    assert not [name for name in passed if not (ROOT / name).exists()]
    assert not any(fnmatch("docker/.env", pattern) for pattern in passed)


def test_what_the_build_installs_is_pinned_by_hash() -> None:
    first, second = (line for line in instructions("RUN") if "pip install" in line)
    assert "--require-hashes -r locks/requirements.lock" in first
    assert "--no-deps --no-build-isolation ." in second
    lock = (ROOT / "locks" / "requirements.lock").read_text()
    for tool in ("hatchling", "editables"):
        assert re.search(rf"^{tool}==.* \\\n    --hash=", lock, re.MULTILINE)


def test_the_image_is_of_a_python_that_is_supported_and_both_stages_are_of_one() -> None:
    (base,) = instructions("ARG")
    assert [line.split()[0] for line in instructions("FROM")] == ["${BASE}", "${BASE}"]
    wanted = re.search(r'requires-python = ">=3\.(\d+)"', (ROOT / "pyproject.toml").read_text())
    match = re.fullmatch(r"BASE=docker\.io/library/python:3\.(\d+)-slim-bookworm", base)
    assert wanted
    assert match
    assert int(match[1]) >= int(wanted[1])


def test_the_service_is_not_root_and_gets_its_signals() -> None:
    assert instructions("USER") == ["10001:10001"]
    assert instructions("ENTRYPOINT") == ['["graphmem"]']
    assert instructions("CMD")[-1] == '["serve"]'
    # Requests under way are given their time before the container is killed.
    service = compose("compose.yaml")["services"]["graphmem"]
    assert int(service["stop_grace_period"].rstrip("s")) > Settings().shutdown_seconds
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]


def test_ports_and_volumes_agree() -> None:
    port, folder = environment()["GRAPHMEM_PORT"], environment()["GRAPHMEM_DATA_DIR"]
    service = compose("compose.yaml")["services"]["graphmem"]
    assert instructions("EXPOSE") == [port]
    assert instructions("VOLUME") == [folder]
    assert service["environment"]["GRAPHMEM_PORT"] == port
    assert service["volumes"] == [f"graphmem:{folder}"]
    (published,) = service["ports"]
    assert published.startswith("127.0.0.1:")
    assert published.endswith(f":{port}")


def test_the_health_check_is_one_command_everywhere_and_kubernetes_asks_the_same_route() -> None:
    options, command = re.fullmatch(r"(.*) CMD (\[.*\])", instructions("HEALTHCHECK")[0]).groups()  # pyright: ignore[reportOptionalMemberAccess]
    check = compose("compose.yaml")["services"]["graphmem"]["healthcheck"]
    assert check.pop("test") == ["CMD", *yaml.safe_load(command)]
    assert {f"--{name.replace('_', '-')}={value}" for name, value in check.items()} == {*options.split()}
    (script,) = (word for line in instructions("COPY") for word in line.split() if word.endswith("-ready"))
    assert "/opt/graphmem/bin" in environment()["PATH"]
    (container,) = kubernetes()["Deployment", "graphmem"]["spec"]["template"]["spec"]["containers"]
    for probe in ("startupProbe", "readinessProbe"):
        assert f'"{container[probe]["httpGet"]["path"]}"' in (ROOT / script).read_text()


@pytest.mark.parametrize(("status", "code"), [(200, 0), (503, 1), (None, 1)])
def test_the_health_check_ends_as_the_service_answers(status: int | None, code: int) -> None:
    class Ready(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if status and self.path == "/health/ready" else 404)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Stay silent."""

    with HTTPServer(("127.0.0.1", 0), Ready) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_port
        if status is None:
            server.shutdown()
            server.server_close()
        # A proxy of the environment is none of this machine's business.
        proxies = {"http_proxy": "http://127.0.0.1:9"}
        command = [sys.executable, DOCKER / "graphmem-ready"]
        done = subprocess.run(command, env={"GRAPHMEM_PORT": str(port)} | proxies, stderr=subprocess.PIPE)
        server.shutdown()
    assert done.returncode == code, done.stderr


@pytest.mark.parametrize("name", FILES)
def test_neo4j_is_the_one_that_is_tested_with_the_limits_of_the_embedded_one(name: str) -> None:
    neo4j = compose(name)["services"]["neo4j"]
    assert neo4j["image"] == IMAGE
    # The image writes NEO4J_a_b__c as a.b_c.
    configuration = {
        key.removeprefix("NEO4J_").replace("__", "\0").replace("_", ".").replace("\0", "_"): value
        for key, value in neo4j["environment"].items()
        if key != "NEO4J_AUTH"
    }
    conf = neo4j_conf(Settings(), 1, 2)
    known = dict(line.split("=", 1) for line in conf.splitlines() if "=" in line)
    for key in ("db.memory.transaction.max", "db.transaction.timeout", "db.lock.acquisition.timeout"):
        assert configuration[key] == known[key], key
    for key, value in configuration.items():
        if key in known and not key.startswith("server.memory"):
            assert value == known[key], key


@pytest.mark.parametrize("name", FILES)
def test_no_password_has_a_default_and_what_is_asked_for_is_explained(name: str) -> None:
    text = (DOCKER / name).read_text()
    explained = (DOCKER / ("env.example" if name == "compose.yaml" else "test.env")).read_text()
    for secret in re.findall(r"\$\{(\w*(?:PASSWORD|TOKEN|KEY)\w*)(:\W)", text):
        assert secret[1] == ":?" or secret[0].startswith("S3_"), secret
    assert {
        variable_name
        for variable_name in interpolated_variables(text)
        if not re.search(rf"^(# )?{variable_name}=", explained, re.MULTILINE)
    } == set()
    if name == "compose.yaml":
        assert not re.findall(r"^(\w*(?:PASSWORD|TOKEN|KEY))=.+", explained, re.MULTILINE)


def test_what_nothing_uses_yet_is_not_started() -> None:
    services = compose("compose.yaml")["services"]
    assert {name for name, service in services.items() if "profiles" not in service} == {"graphmem", "neo4j"}
    assert "objects" not in services["graphmem"]["depends_on"]


def test_the_service_trusts_the_proxy_and_the_gateway_of_its_network() -> None:
    file = compose("compose.yaml")
    (network,) = file["networks"]["front"]["ipam"]["config"]
    subnet, dynamic = (IPv4Network(interpolated(network[key])) for key in ("subnet", "ip_range"))
    proxy = interpolated(file["services"]["caddy"]["networks"]["front"]["ipv4_address"])
    trusted = interpolated(file["services"]["graphmem"]["environment"]["GRAPHMEM_TRUSTED_PROXIES"])
    assert set(trusted.split(",")) == {proxy, interpolated(network["gateway"])}
    # No other container gets one of these addresses.
    assert all(IPv4Address(address) in subnet for address in trusted.split(","))
    assert not any(IPv4Address(address) in dynamic for address in trusted.split(","))
    assert subnet.supernet_of(dynamic)


def test_the_proxy_has_what_its_configuration_names() -> None:
    proxy = compose("compose.yaml")["services"]["caddy"]
    named = set(re.findall(r"\{\$(\w+)", (DOCKER / "Caddyfile").read_text("utf-8")))
    assert named == set(proxy["environment"])
    assert interpolated(proxy["environment"]["UPSTREAM"]) == f"graphmem:{environment()['GRAPHMEM_PORT']}"


def test_two_services_share_all_but_their_volumes_and_the_proxy_knows_both() -> None:
    services = compose("compose.yaml")["services"]
    first, second = services["graphmem"], services["second"]
    differing = {name for name in {*first, *second} if first.get(name) != second.get(name)}
    assert differing == {"profiles", "ports", "volumes"}
    assert second["profiles"] == ["two"]
    assert "two" in services["objects"]["profiles"]
    port = environment()["GRAPHMEM_PORT"]
    explained = (DOCKER / "env.example").read_text()
    assert f"UPSTREAMS=graphmem:{port} second:{port}" in explained
    # The directory of the bucket is there before the store starts.
    bucket = re.findall(r"OBJECTS_BUCKET=(\w+)", explained)[-1]
    assert services["objects"]["volumes"] == [f"objects:/data/{bucket}"]


def kubernetes() -> dict[tuple[str, str], Any]:
    """Return what docker/kubernetes.yaml has, by kind and name."""
    documents = yaml.safe_load_all((DOCKER / "kubernetes.yaml").read_text("utf-8"))
    return {(document["kind"], document["metadata"]["name"]): document for document in documents}


def test_kubernetes_runs_the_image_and_the_database_of_compose() -> None:
    found, image = kubernetes(), environment()
    pods = {kind: found[kind, name]["spec"] for kind, name in found if kind in ("Deployment", "StatefulSet")}
    (service,) = pods["Deployment"]["template"]["spec"]["containers"]
    given = {each["name"] for each in service["env"]} | {*found["ConfigMap", "graphmem"]["data"]}
    composed = compose("compose.yaml")["services"]
    by_image_or_ingress = {*image, "GRAPHMEM_TRUSTED_PROXIES"}
    assert {*composed["graphmem"]["environment"]} - by_image_or_ingress == given
    assert pods["Deployment"]["replicas"] == 2
    assert [port["containerPort"] for port in service["ports"]] == [int(image["GRAPHMEM_PORT"])]
    assert {mount["mountPath"] for mount in service["volumeMounts"]} == {image["GRAPHMEM_DATA_DIR"], "/tmp"}
    user = pods["Deployment"]["template"]["spec"]["securityContext"]
    assert instructions("USER") == [f"{user['runAsUser']}:{user['runAsGroup']}"]
    (neo4j,) = pods["StatefulSet"]["template"]["spec"]["containers"]
    assert neo4j["image"] == IMAGE
    values = {each["name"]: each.get("value") for each in neo4j["env"] if each["name"].startswith("NEO4J_")}
    wanted = {name: interpolated(value) for name, value in composed["neo4j"]["environment"].items()}
    assert values | {"NEO4J_AUTH": ""} == wanted | {"NEO4J_AUTH": ""}


def test_pods_of_kubernetes_are_restricted_and_get_no_variables_of_services() -> None:
    for (kind, name), document in kubernetes().items():
        if kind not in ("Deployment", "StatefulSet"):
            continue
        pod = document["spec"]["template"]["spec"]
        assert pod["enableServiceLinks"] is False
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        for container in pod["containers"]:
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}, name
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            for each in container["env"]:
                assert "KEY" not in each["name"] or "valueFrom" in each
        selected = document["spec"]["selector"]["matchLabels"]
        assert selected == document["spec"]["template"]["metadata"]["labels"]


def test_services_name_networks_and_volumes_that_are_there() -> None:
    for name in FILES:
        file = compose(name)
        for service in file["services"].values():
            assert set(service.get("networks", ())) <= set(file.get("networks", {}))
            sources = {volume.split(":")[0] for volume in service.get("volumes", ())}
            files = {source for source in sources if source.startswith("./")}
            assert sources - files <= set(file.get("volumes", {}))
            assert all((DOCKER / source).is_file() for source in files)
    assert compose("compose.yaml")["networks"]["back"] == {"internal": True}


def test_the_tests_are_told_where_their_database_is() -> None:
    variables = dict(line.split("=", 1) for line in (DOCKER / "test.env").read_text().splitlines())
    (published,) = compose("compose.test.yaml")["services"]["neo4j"]["ports"]
    address, _, inner = published.rpartition(":")
    assert variables[URI_VARIABLE] == f"bolt://{address}"
    assert inner == "7687"
    assert set(variables) == {URI_VARIABLE, "GRAPHMEM_TEST_NEO4J_PASSWORD"}
