"""Files and names that someone put there to run script, or to see what is not theirs."""

import os
from pathlib import Path

import pytest

from roost.core.ids import SessionId
from tests.security.house import SECRET, Answer, House

SCRIPT = "<script>alert(document.cookie)</script>"
SAFE_TYPES = {
    "application/octet-stream",
    "application/pdf",
    "image/gif",
    "image/jpeg",
    "image/png",
    "image/webp",
    "text/plain; charset=utf-8",
}


def check_runs_nothing(answer: Answer) -> None:
    assert answer.status == 200
    kind = answer.headers["content-type"]
    assert kind in SAFE_TYPES
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    if kind in ("application/octet-stream", "application/pdf"):
        assert answer.headers["content-disposition"].startswith("attachment")


UPLOADS = {
    "html": b"<!doctype html><html><body>" + SCRIPT.encode(),
    "html after spaces": b" \n\t" * 500 + SCRIPT.encode(),
    "svg": b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
    "xml": b'<?xml version="1.0"?><?xml-stylesheet href="x.xsl"?><a/>',
    "xhtml": b'<html xmlns="http://www.w3.org/1999/xhtml"><script>alert(1)</script></html>',
    "javascript": b"alert(document.cookie)",
    "utf-16 html": SCRIPT.encode("utf-16"),
    "utf-7 html": b"+ADw-script+AD4-alert(1)+ADw-/script+AD4-",
    "gif and html": b"GIF89a/*" + SCRIPT.encode() + b"*/=1;",
    "png and html": b"\x89PNG\r\n\x1a\n" + SCRIPT.encode(),
    "jpeg and html": b"\xff\xd8\xff\xe0" + SCRIPT.encode(),
    "pdf and html": b"%PDF-1.7\n" + SCRIPT.encode(),
    "webp and html": b"RIFF\0\0\0\0WEBP" + SCRIPT.encode(),
    "mhtml": b"MIME-Version: 1.0\r\nContent-Type: text/html\r\n\r\n" + SCRIPT.encode(),
    "zip": b"PK\x03\x04" + b"\0" * 40,
    "nothing": b"",
}


@pytest.mark.parametrize("name", UPLOADS)
@pytest.mark.parametrize("claimed", ["text/html", "image/svg+xml", "image/png"])
def test_upload_is_served_so_that_it_runs_nothing(house: House, name: str, claimed: str) -> None:
    headers = [("Content-Type", claimed)]
    made = house.ask(
        "POST", "/api/files", token=house.owner.token, headers=headers, data=UPLOADS[name]
    )
    assert made.status == 201, made.text
    content = f"/api/files/{made.json['id']}/content"
    for query in ("", "?name=page.html", "?save=true"):
        answer = house.ask("GET", content + query, token=house.owner.token)
        check_runs_nothing(answer)
        assert answer.body == UPLOADS[name]


def test_name_that_is_script_is_only_ever_data(house: House) -> None:
    made = house.ask("POST", "/api/sessions", {"title": SCRIPT}, token=house.owner.token).json
    path = f"/api/sessions/{made['id']}"
    turn = {"text": SCRIPT}
    assert house.ask("POST", f"{path}/turns", turn, token=house.owner.token).status == 202
    for target in (path, f"{path}/messages", f"{path}/turns", "/api/sessions", f"{path}/export"):
        answer = house.ask("GET", target, token=house.owner.token)
        assert answer.status == 200
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
    markdown = house.ask("GET", f"{path}/export?format=markdown", token=house.owner.token)
    assert markdown.headers["content-type"] == "text/markdown; charset=utf-8"
    assert markdown.headers["content-disposition"].startswith("attachment")
    assert markdown.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", [f"/{SCRIPT}", f"/api/sessions/{SCRIPT}", f"/v1/models/{SCRIPT}"])
def test_script_in_an_address_is_only_ever_data(house: House, path: str) -> None:
    answer = house.ask("GET", path.replace(" ", "%20"), token=house.owner.token)
    assert answer.status == 404
    assert "html" not in answer.headers["content-type"]
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/", "/sign-in", "/api/docs", "/nothing", "/api/me"])
def test_pages_run_our_own_script_alone_and_in_no_frame(house: House, path: str) -> None:
    policy = house.ask("GET", path).headers["content-security-policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == "'self'"
    assert rules["frame-ancestors"] == "'none'"
    assert rules["base-uri"] == "'none'"
    assert "unsafe" not in policy


# Paths.

OUTSIDE = [
    "../secret.txt",
    "../../secret.txt",
    "a/../../secret.txt",
    "./../secret.txt",
    "..",
    "/etc/passwd",
    "//etc/passwd",
    "/workspace/../../etc/passwd",
    "..\\secret.txt",
    "%2e%2e/secret.txt",
    "..%2fsecret.txt",
    "%252e%252e%252fsecret.txt",
    "..%c0%afsecret.txt",
    "link.txt",
    "folder/secret.txt",
    "folder",
    "loop",
    "/proc/self/environ",
    "/dev/zero",
    "pipe",
    "a%00.txt",
    "~/secret.txt",
    "file:///etc/passwd",
]


@pytest.fixture(scope="module")
def traps(house: House) -> SessionId:
    """A workspace with ways out of it."""
    session = SessionId(house.ids["session"])
    account = house.roost.app.of(house.owner.id)
    ground = house.run(account.workspace(session)).ground
    files = Path(ground.folders[0].host)
    files.mkdir(parents=True, exist_ok=True)
    (files.parent / "secret.txt").write_text(SECRET)
    (files.parent.parent / "secret.txt").write_text(SECRET)
    (files / "own.txt").write_text("mine")
    (files / "link.txt").symlink_to(files.parent / "secret.txt")
    (files / "folder").symlink_to(files.parent)
    (files / "loop").symlink_to("loop")
    os.mkfifo(files / "pipe")
    return session


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize("kind", ["files", "files/content"])
def test_path_does_not_get_out_of_the_workspace(
    house: House, traps: SessionId, path: str, kind: str
) -> None:
    quoted = path.replace("\\", "%5C")
    target = f"/api/sessions/{traps}/{kind}?path={quoted}"
    answer = house.ask("GET", target, token=house.owner.token)
    assert answer.status in (400, 404), answer.text[:200]
    assert SECRET not in answer.text
    assert "root:" not in answer.text


def test_file_of_the_workspace_itself_is_found(house: House, traps: SessionId) -> None:
    target = f"/api/sessions/{traps}/files/content?path=own.txt"
    answer = house.ask("GET", target, token=house.owner.token)
    check_runs_nothing(answer)
    assert answer.body == b"mine"


@pytest.mark.parametrize(
    "path",
    [
        "/plain/../../../../etc/passwd",
        "/plain/%2e%2e/%2e%2e/app.py",
        "/plain/..%2f..%2fapp.py",
        "/../../etc/passwd",
        "/.%00/etc/passwd",
        "/api/files/../../etc/passwd",
        "/api/files/..%2f..%2fetc%2fpasswd/content",
        "/plain/sign_in.js/",
        "/plain/",
        "/plain",
        "//plain/sign_in.js",
    ],
)
def test_path_of_a_page_does_not_get_out_of_its_folder(house: House, path: str) -> None:
    answer = house.ask("GET", path, token=house.owner.token)
    assert answer.status == 404
    assert "root:" not in answer.text
    assert "import " not in answer.text
