"""The Principal seam and its token file."""

import os
import stat

import pytest
from fairgate_scheduler.entrypoints.grpc.auth import Principal, TokenAuthenticator, TokenFileError, load_token
from fairgate_scheduler.entrypoints.grpc.errors import Unauthenticated

TOKEN = "t" * 43


def test_the_token_lets_the_local_principal_in():
    principal = TokenAuthenticator(TOKEN).authenticate([("user-agent", "x"), ("authorization", f"Bearer {TOKEN}")])
    assert principal == Principal("local", frozenset({"admin"}))


@pytest.mark.parametrize(
    "metadata",
    [
        [],
        [("authorization", "")],
        [("authorization", TOKEN)],
        [("authorization", f"Basic {TOKEN}")],
        [("authorization", "Bearer ")],
        [("authorization", f"Bearer {TOKEN}x")],
        [("authorization", f"Bearer {TOKEN[:-1]}")],
        [("authorization", "Bearer ä")],
        [("authorization-bin", f"Bearer {TOKEN}".encode())],
    ],
)
def test_nothing_else_does(metadata):
    with pytest.raises(Unauthenticated) as caught:
        TokenAuthenticator(TOKEN).authenticate(metadata)
    assert "authorization: Bearer" in caught.value.remedy
    assert TOKEN not in str(caught.value)


def test_a_missing_file_is_made_private_and_kept(tmp_path):
    file = tmp_path / "state" / "token"
    token = load_token(file)
    assert load_token(file) == token
    assert len(token) >= 32
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [each.name for each in file.parent.iterdir()] == ["token"]


def test_each_server_makes_its_own_token(tmp_path):
    assert load_token(tmp_path / "a") != load_token(tmp_path / "b")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o610, 0o644])
def test_a_file_that_others_can_touch_is_refused(tmp_path, mode):
    file = tmp_path / "token"
    load_token(file)
    file.chmod(mode)
    with pytest.raises(TokenFileError, match=f"{mode:04o}.*chmod 600"):
        load_token(file)


@pytest.mark.parametrize("content", ["", "short\n", "ä" * 40])
def test_a_file_without_a_token_is_refused(tmp_path, content):
    file = tmp_path / "token"
    file.touch(0o600)
    file.write_text(content)
    with pytest.raises(TokenFileError, match="holds no token"):
        load_token(file)


def test_a_symbolic_link_is_refused(tmp_path):
    load_token(tmp_path / "real")
    (tmp_path / "token").symlink_to(tmp_path / "real")
    with pytest.raises(TokenFileError, match="plain file"):
        load_token(tmp_path / "token")


def test_a_dangling_link_is_refused_and_makes_nothing(tmp_path):
    (tmp_path / "token").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(TokenFileError, match="plain file"):
        load_token(tmp_path / "token")
    assert not (tmp_path / "elsewhere").exists()


def test_a_pipe_does_not_hang_the_server(tmp_path):
    os.mkfifo(tmp_path / "token", 0o600)
    with pytest.raises(TokenFileError, match="plain file"):
        load_token(tmp_path / "token")
