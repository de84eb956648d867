"""Only the receivers of the shipped example are replaced, each by a webhook of its own."""

import subprocess

import yaml

from deploy.demo.alertmanager import write_routing
from deploy.demo.monitoring import ROUTING


def test_routes_times_and_inhibition_stay_as_shipped_and_every_team_gets_its_webhook(tmp_path):
    shipped = yaml.safe_load(ROUTING.read_text())
    written = yaml.safe_load(write_routing(ROUTING, "127.0.0.1:19099", tmp_path / "am.yml").read_text())
    assert {**written, "receivers": []} == {**shipped, "receivers": []}
    told = {one["name"]: one.get("webhook_configs") for one in written["receivers"]}
    assert told.keys() == {one["name"] for one in shipped["receivers"]}
    assert told["network-page"] == [{"url": "http://127.0.0.1:19099/network/page"}]
    assert [name for name, hooks in told.items() if hooks is None] == ["others", "nobody"]


def test_whatever_a_team_uses_is_replaced(tmp_path):
    template = tmp_path / "own.yaml"
    template.write_text("receivers: [{name: gpu-page, pagerduty_configs: [{routing_key: k}]}]\n")
    written = yaml.safe_load(write_routing(template, "127.0.0.1:1", tmp_path / "am.yml").read_text())
    assert written["receivers"] == [
        {"name": "gpu-page", "webhook_configs": [{"url": "http://127.0.0.1:1/gpu/page"}]},
    ]


def test_amtool_accepts_what_is_written(tmp_path, program):
    amtool = program("amtool")
    config = write_routing(ROUTING, "127.0.0.1:19099", tmp_path / "am.yml")
    done = subprocess.run([amtool, "check-config", config], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
