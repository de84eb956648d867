"""What a build is told of where this machine gets its packages from, and what it is not."""

import stat
from pathlib import Path

import pytest

from deploy.image.packages_from import apt_settings, certificates_of, pip_settings, secrets_of_this_machine

LISTED = """\
:env:.cert='/etc/ssl/other.crt'
:env:.find-links='/opt/wheels'
global.cert='/etc/ssl/site.crt'
global.index-url='https://user:word@index.example/simple'
install.trusted-host='index.example'
global.no-color='true'
"""
DUMPED = """\
APT::Architecture "amd64";
Acquire "";
Acquire::http "";
Acquire::http::Proxy "http://proxy.example:3142";
Acquire::https::CAInfo "/etc/ssl/site.crt";
Acquire::Check-Valid-Until "false";
Dir::Cache "var/cache/apt";
"""


def test_pip_keeps_its_index_and_the_environment_wins() -> None:
    assert list(pip_settings(LISTED)) == [
        "cert = /run/secrets/ca",
        "index-url = https://user:word@index.example/simple",
        "trusted-host = index.example",
    ]


def test_the_certificates_are_handed_over_only_where_the_file_is_there(tmp_path: Path) -> None:
    file = tmp_path / "site.crt"
    assert certificates_of(f"global.cert='{file}'") is None
    file.touch()
    assert certificates_of(f"global.cert='{file}'") == file
    assert certificates_of("") is None


def test_apt_keeps_how_it_fetches_and_nothing_else() -> None:
    assert apt_settings(DUMPED) == (
        'Acquire::http::Proxy "http://proxy.example:3142";\nAcquire::Check-Valid-Until "false";\n'
    )


def test_a_machine_without_settings_hands_over_empty_ones_that_nobody_else_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.delenv("PIP_CERT", raising=False)

    secrets = secrets_of_this_machine(tmp_path)

    assert secrets == {"pip": tmp_path / "pip", "apt": tmp_path / "apt"}
    assert secrets["apt"].read_text() == ""
    assert secrets["pip"].read_text().startswith("[global]\n")
    assert [stat.S_IMODE(secrets[name].stat().st_mode) for name in ("pip", "apt")] == [0o600, 0o600]
