"""What a release says beside its points and answers."""

import pytest

from pointveil.lab.audit import subjects
from pointveil.lab.audit.neighbours import crowd, plain_world


@pytest.mark.parametrize(("method", "people"), [("ugrid-uni", 20), ("veil", 200), ("veil", 1000)])
def test_what_is_said_of_the_same_records_is_the_same_every_time(method: str, people: int) -> None:
    """With so many people `veil` asks for shapes in about half of the releases, as the noisy total decides."""
    subject = subjects()[method]

    texts = {subject.release(crowd(people), plain_world()).text for _ in range(6)}

    assert len(texts) == 1  # if every text is another, one that tells a secret is not noticed
    assert "survey" in texts.pop()
