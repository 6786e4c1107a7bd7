"""What `roost ask` lets through to a terminal."""

from roost.cli.ask import harmless


def test_a_models_words_do_not_steer_the_terminal() -> None:
    said = "\x1b]0;title\x07\x1b[2JHi\tthere,\r\n\x9b31m\u65e5\u672c"
    assert harmless(said) == "]0;title[2JHi\tthere,\n31m\u65e5\u672c"
