"""What a release says beside its points and answers."""

from pointveil.lab.audit import subjects
from pointveil.lab.audit.neighbours import crowd, plain_world


def test_what_is_said_of_the_same_records_is_the_same_every_time() -> None:
    subject = subjects()["ugrid-uni"]

    texts = {subject.release(crowd(20), plain_world()).text for _ in range(3)}

    assert len(texts) == 1  # if every text is another, one that tells a secret is not noticed
    assert "survey" in texts.pop()
