"""The examples in ``examples/deploy``, held against schemas and against what they speak of; no container is started."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

from hookrouter.cli.application import Application
from hookrouter.serving.readiness import ENGINE_REQUIRED, LIVE, READY
from hookrouter.storage.home import Home
from hookrouter.util.program import script_argv
from hookrouter_monitor.settings import MonitorSettings
from hookrouter_page.security.logins import Logins
from hookrouter_page.settings import PageSettings
from support.memory_storage import MemoryStore
from support.tls import made_pair, needed_program

REPOSITORY = Path(__file__).parent.parent.parent
DEPLOY = REPOSITORY / "examples" / "deploy"
COMPOSE = DEPLOY / "compose"
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
PROBES = {LIVE, READY, f"{READY}?{ENGINE_REQUIRED}"}
KUBERNETES = "1.34"


def manifests() -> list[dict[str, Any]]:
    return [document for path in MANIFESTS for document in yaml.safe_load_all(path.read_text())]


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    for document in manifests():
        if document["kind"] in ("StatefulSet", "Job"):
            yield document["metadata"]["name"], document["spec"]["template"]["spec"]


def containers() -> list[dict[str, Any]]:
    return [one for _, pod in pods() for one in (*pod.get("initContainers", ()), *pod["containers"])]


def services() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load((COMPOSE / "compose.yaml").read_text())["services"]
    return found


def configs() -> dict[str, str]:
    """Return every config.toml of the examples, by where it stands."""
    found = {path.name: path.read_text() for path in COMPOSE.glob("*.toml")}
    for document in manifests():
        if document["kind"] == "ConfigMap":
            found[document["metadata"]["name"]] = document["data"]["config.toml"]
    return found


def commands() -> list[list[str]]:
    said = [one["command"] for one in (*services().values(), *containers()) if "command" in one]
    shell = (DEPLOY / "README.md").read_text()
    said += [words.split() for words in re.findall(r"^(?:docker|kubectl) .*? (hookrouter .*)$", shell, re.MULTILINE)]
    said += [json.loads(line) for line in re.findall(r"^CMD (.*)$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)]
    return [words for words in said if words[0] == "hookrouter"]


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_manifests_fit_the_schemas_of_kubernetes(path: Path) -> None:
    for document in yaml.safe_load_all(path.read_text()):
        assert kubernetes_validate.validate(document, KUBERNETES, strict=True) == KUBERNETES


def test_the_compose_file_fits_its_schema() -> None:
    schema = files("check_jsonschema").joinpath("builtin_schemas/vendor/compose-spec.json").read_text()
    document = yaml.safe_load((COMPOSE / "compose.yaml").read_text())
    jsonschema.validate(document, json.loads(schema))
    for name, service in document["services"].items():
        assert set(service.get("secrets", ())) <= set(document["secrets"]), name
        assert set(service.get("depends_on", ())) <= set(document["services"]), name
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            there = (COMPOSE / source).is_file() if source.startswith("./") else source in document["volumes"]
            assert there, volume


@pytest.mark.parametrize("where", sorted(configs()))
def test_each_config_is_accepted(tmp_path: Path, where: str) -> None:
    (tmp_path / "config.toml").write_text(configs()[where])
    done = subprocess.run(
        [*script_argv(), "config", "check"],
        env={"HOOKROUTER_HOME": str(tmp_path), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_each_command_is_one_of_the_program(words: list[str]) -> None:
    done = subprocess.run([*script_argv(), *words[1:], "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"Usage: hookrouter {words[1]}" in done.stdout


def test_probes_ask_what_is_served_where_it_is_served(tmp_path: Path) -> None:
    for name, pod in pods():
        (container,) = pod["containers"]
        probes = [probe["httpGet"] for key, probe in container.items() if key.endswith("Probe")]
        assert bool(probes) is not name.endswith("init")
        if not probes:
            continue
        (config,) = [volume["configMap"]["name"] for volume in pod["volumes"] if "configMap" in volume]
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        assert ports == served(tmp_path, configs()[config])
        assert {probe["path"] for probe in probes} <= PROBES
        assert {probe["port"] for probe in probes} <= set(ports)
    for port, path in re.findall(r"127\.0\.0\.1:(\d+)(/\w+)", (COMPOSE / "compose.yaml").read_text()):
        assert (int(port), path) == (served(tmp_path, configs()["sessions.toml"])["monitor"], READY)


def served(folder: Path, text: str) -> dict[str, int]:
    """Return the ports at which a config.toml has something served, by the names that the examples give them."""
    (folder / "config.toml").write_text(text)
    app = Application.from_environ({"HOOKROUTER_HOME": str(folder), "HOME": str(folder)}, share=False)
    found = {"monitor": int(app.settings(MonitorSettings).address.rpartition(":")[2])}
    page = app.settings(PageSettings)
    if page.enabled:
        found["page"] = int(page.address.rpartition(":")[2])
    return found


def test_names_of_the_manifests_fit_each_other() -> None:
    by_kind: dict[str, dict[str, Any]] = {}
    for document in manifests():
        by_kind.setdefault(document["kind"], {})[document["metadata"]["name"]] = document
    secret = set(by_kind["Secret"]["hookrouter"]["stringData"])
    for one in containers():
        variables = {entry["name"]: entry["valueFrom"]["secretKeyRef"] for entry in one.get("env", ())}
        assert all(entry["name"] == "hookrouter" and entry["key"] in secret for entry in variables.values())
    for name, pod in pods():
        mounted = {volume["name"] for volume in pod["volumes"]} | {"data"}
        for one in (*pod.get("initContainers", ()), *pod["containers"]):
            assert {mount["name"] for mount in one["volumeMounts"]} <= mounted, name
        for config in (volume["configMap"]["name"] for volume in pod["volumes"] if "configMap" in volume):
            needed = re.findall(r'_env = "(\w+)"', by_kind["ConfigMap"][config]["data"]["config.toml"])
            given = {entry["name"] for entry in pod["containers"][0]["env"]}
            assert set(needed) <= given | {"HOOKROUTER_METRICS_TOKEN"}
    labels = [one["spec"]["template"]["metadata"]["labels"] for one in by_kind["StatefulSet"].values()]
    for service in by_kind["Service"].values():
        assert any(fits(service["spec"]["selector"], label) for label in labels)
    for one in by_kind["StatefulSet"].values():
        assert one["spec"]["serviceName"] in by_kind["Service"]
        assert one["spec"]["selector"]["matchLabels"] == one["spec"]["template"]["metadata"]["labels"]


def fits(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    return selector.items() <= labels.items()


def test_haproxy_takes_its_configuration(tmp_path: Path) -> None:
    program = needed_program("haproxy", "haproxy")
    pair = made_pair(tmp_path, "proxy")
    certificate = tmp_path / "both.pem"
    certificate.write_text(Path(pair.certificate).read_text() + Path(pair.key).read_text())
    text = (COMPOSE / "haproxy.cfg").read_text()
    assert f"GET {READY}?{ENGINE_REQUIRED}" in text
    for page in ("page-1", "page-2"):
        assert f"{page}:{served(tmp_path, configs()[f'{page}.toml'])['page']}" in text
    config = tmp_path / "haproxy.cfg"
    config.write_text(text.replace("/run/secrets/certificate", str(certificate)))
    done = subprocess.run([program, "-c", "-f", str(config)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_image_has_extras_that_there_are() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    (extras,) = re.findall(r"hookrouter\[([\w,]+)\]", (DEPLOY / "Dockerfile").read_text())
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    (least,) = re.findall(r"python:(\d\.\d+)", (DEPLOY / "Dockerfile").read_text())
    assert f"Programming Language :: Python :: {least}" in project["classifiers"]


def test_a_login_at_one_page_holds_at_the_other(tmp_path: Path) -> None:
    """All pages name one secret, where their containers have it."""
    named = [tomllib.loads((DEPLOY / "compose" / f"page-{number}.toml").read_text())["page"] for number in (1, 2)]
    assert {page["secret_file"] for page in named} == {"/run/secrets/page-secret"}
    assert all("page-secret" in services()[f"page-{number}"]["secrets"] for number in (1, 2))
    (pod,) = [one for one in containers() if any(mount["name"] == "secret" for mount in one["volumeMounts"])]
    (mount,) = [one for one in pod["volumeMounts"] if one["name"] == "secret"]
    manifest = (DEPLOY / "kubernetes" / "config.yaml").read_text()
    assert f'secret_file = "{mount["mountPath"]}/page-secret"' in manifest
    secret = tmp_path / "page-secret"
    secret.write_text("5" * 64 + "\n")
    secret.chmod(0o440)
    page = PageSettings(secret_file=str(secret))
    logins = [Logins(Home.in_folder(str(tmp_path / name)), page, MemoryStore()) for name in ("one", "two")]
    logins[1].records.is_shared = True
    assert logins[0].root == logins[1].root
    _login, cookie = logins[0].enter(logins[0].link_token("full"), "anna", "")
    found = logins[1].login(cookie)
    assert found is not None
    assert found.role == "full"
