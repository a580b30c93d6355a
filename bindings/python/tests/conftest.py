"""What the tests share."""

import hashlib

import pytest

import lethe

NOTE = "Seen by Dr. Okafor on 03/05/2021. Henry Quill, MRN 4411223, feels better."


@pytest.fixture(scope="session")
def engine() -> lethe.Engine:
    """The fast bundle: what these tests are about does not depend on the bundle."""
    return lethe.Engine("en-fast")


@pytest.fixture(scope="session")
def note() -> str:
    """A note with identifiers."""
    return NOTE


@pytest.fixture(scope="session")
def redacted(engine: lethe.Engine, note: str) -> str:
    """The note, redacted by itself."""
    text = engine.redact(note).text
    assert "Okafor" not in text and "Quill" not in text
    return text


@pytest.fixture(scope="session")
def refusing() -> lethe.Engine:
    """An engine that refuses notes without a patient."""
    return lethe.Engine("en-fast", policy_text='mode = "custom"\npatient = { missing = "quarantine" }\n')


@pytest.fixture
def key_file(tmp_path):
    """A key file, with the permissions that it needs."""

    def write(name: str):
        file = tmp_path / f"{name}.toml"
        secret = hashlib.sha256(name.encode()).hexdigest()
        file.write_text(f'[[keys]]\nid = "a"\nsecret = "{secret}"\n')
        file.chmod(0o600)
        return file

    return write
