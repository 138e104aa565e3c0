"""Each service that a test starts gets a port of its own."""

from tests.support.service import free_port


def test_no_port_is_named_twice_before_the_others_were() -> None:
    ports = [free_port() for _ in range(300)]
    assert len(set(ports)) == len(ports)
