"""Signed notes, heads and cosignatures: the vectors of their specifications, and any change."""

import pytest

from scoring.transparency import notes
from scoring.transparency.merkle import EMPTY
from scoring.transparency.notes import COSIGNATURE, Checkpoint, Key, Note, Verifier
from scoring.verification.differences import Differs

# The key and note that golang.org/x/mod/sumdb/note and all who follow it are tested with.
PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
PETERS_KEY = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
PETERS_TEXT = (
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n"
)
PETERS_NOTE = PETERS_TEXT + (
    "\n— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpR"
    "Zb6KE6RyyBwJnAM=\n"
)
# The example of https://c2sp.org/tlog-cosignature
COSIGNED = (
    "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n"
    "— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv"
    "2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n"
    "— witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3"
    "b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==\n"
)
LOG = Key("log.example/c", bytes(32))
WITNESS = Key("witness.example", bytes([7] * 32), COSIGNATURE)
HEAD = Checkpoint("log.example/c", 0, EMPTY)


def test_the_published_note_is_signed_by_its_key() -> None:
    assert Note.parse(PETERS_NOTE).check(Verifier.parse(PETER)) == PETERS_TEXT


def test_signing_gives_the_published_note_byte_for_byte() -> None:
    key = Key.from_text(PETERS_KEY)
    assert str(notes.sign(PETERS_TEXT, key)) == PETERS_NOTE
    assert (str(key.verifier), key.to_text()) == (PETER, PETERS_KEY)


def test_no_part_of_a_key_is_a_key() -> None:
    for start in range(len(PETER)):
        for end in range(start + 1, len(PETER) + (start > 0)):
            with pytest.raises(ValueError, match="key"):
                Verifier.parse(PETER[start:end])


def test_a_key_is_kept_by_its_own_text_and_never_shown() -> None:
    assert LOG.to_text() not in repr(LOG)
    assert Key.from_text(LOG.to_text()) == LOG
    with pytest.raises(ValueError, match="no private key") as refused:
        Key.from_text(PETERS_KEY[:-4])
    assert "AYEK" not in str(refused.value)


def test_no_bit_of_a_note_can_be_changed() -> None:
    verifier, whole = Verifier.parse(PETER), PETERS_NOTE.encode()
    for at in range(8 * len(whole)):
        changed = bytearray(whole)
        changed[at // 8] ^= 1 << at % 8
        with pytest.raises((Differs, UnicodeDecodeError)):
            Note.parse(changed.decode()).check(verifier)


def test_the_published_head_and_its_cosignature_are_read() -> None:
    note = Note.parse(COSIGNED)
    head = Checkpoint.parse(note.text)
    assert (head.origin, head.size) == ("example.com/behind-the-sofa", 20_852_163)
    assert head.text == note.text
    assert int.from_bytes(note.signatures[1].content[:8]) == 1_679_315_147


def test_a_witness_signs_a_head_with_its_moment() -> None:
    note = notes.sign(HEAD.text, LOG).and_signed(WITNESS.sign(HEAD.text, 1_679_315_147))
    assert notes.open_checkpoint(str(note), LOG.verifier)[0] == HEAD
    assert note.signed_by([WITNESS.verifier]) == {WITNESS.verifier: 1_679_315_147}


def test_no_bit_of_a_cosignature_can_be_changed() -> None:
    signature = WITNESS.sign(HEAD.text, 1_679_315_147)
    for at in range(8 * len(signature.content)):
        changed = bytearray(signature.content)
        changed[at // 8] ^= 1 << at % 8
        false = notes.Signature(signature.name, signature.key_id, bytes(changed))
        with pytest.raises(Differs, match=r"witness\.example"):
            WITNESS.verifier.check(HEAD.text, false)


def test_the_newest_cosignature_of_a_witness_stands() -> None:
    first, second = (WITNESS.sign(HEAD.text, at) for at in (1, 2))
    note = notes.sign(HEAD.text, LOG).and_signed(first).and_signed(second)
    assert note.signed_by([WITNESS.verifier]) == {WITNESS.verifier: 2}
    assert len(note.signatures) == 2


def test_signatures_of_strangers_are_passed_over() -> None:
    note = Note.parse(COSIGNED)
    assert note.signed_by([LOG.verifier, WITNESS.verifier]) == {}
    with pytest.raises(Differs, match="did not sign"):
        note.check(LOG.verifier)


@pytest.mark.parametrize(
    "text",
    [
        "origin\n1\n",
        "\n1\n" + "A" * 43 + "=\n",
        "origin\n01\n" + "A" * 43 + "=\n",
        "origin\n1\nAAAA\n",
        "origin\n1\n" + "A" * 43 + "=\nextension\n",
        "origin\n1\n" + "A" * 43 + "=",
    ],
)
def test_what_is_no_head_is_refused(text: str) -> None:
    with pytest.raises(Differs, match="checkpoint"):
        Checkpoint.parse(text)


@pytest.mark.parametrize(
    "text", ["", "a\n", "a\n\n", "a\n\n— name AAAA\n", "a\n\n- n AAAAAAAAAA==\n"]
)
def test_what_is_no_note_is_refused(text: str) -> None:
    with pytest.raises(Differs):
        Note.parse(text)


@pytest.mark.parametrize("name", ["", "two words", "a+b", "a\x1fb"])
def test_a_name_that_no_signature_could_carry_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        Key(name, bytes(32))


def test_a_text_that_no_note_could_hold_is_not_signed() -> None:
    for text in ("no end", "tab\t\n"):
        with pytest.raises(ValueError, match="text"):
            LOG.sign(text)
    with pytest.raises(ValueError, match="moment"):
        WITNESS.sign("text\n")
