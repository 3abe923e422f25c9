"""Runs the tests of the operator's actors with a database, without those that serve a file."""

from test_actors import (  # noqa: F401
    alice,
    test_a_client_has_no_actor,
    test_every_other_actor_is_stored_as_given,
    test_exports_and_loads_preserve_the_actors,
    test_the_actor_of_a_store_in_this_process_creates_and_deletes,
    test_the_history_report_shows_the_actor,
    test_without_an_actor_it_is_operator,
)
