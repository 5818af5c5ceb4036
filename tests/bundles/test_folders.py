"""Archives and folders: nothing leaves them, nothing stands for something else, nothing bursts."""

import io
import stat
import zipfile
from pathlib import Path

import pytest

from bundles.errors import BundleError
from bundles.folders import Limits, open_directory, open_zip, write_zip
from tests.bundles.files import archive


def refused(file: io.BytesIO, limits: Limits | None = None) -> str:
    with pytest.raises(BundleError) as caught:
        open_zip(file, limits)
    return str(caught.value)


def with_member(info: zipfile.ZipInfo, content: bytes = b"x") -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as opened:
        opened.writestr(info, content)
    return file


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("/etc/passwd", "absolute"),
        ("../secret", "leaves the bundle"),
        ("a/../../secret", "leaves the bundle"),
        ("C:/secret", "absolute"),
        ("a\\b", "backslash"),
        ("a//b", "empty part"),
        ("./a", "empty part, or a “.”"),
        ("a\nb", "can't be printed"),
        ("x" * 300, "too long"),
    ],
)
def test_names_stay_in_the_bundle(name: str, said: str) -> None:
    assert said in refused(archive({name: b"x", "holdfast.yaml": b""}))


def test_a_link_is_refused() -> None:
    info = zipfile.ZipInfo("data.csv")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    assert "data.csv: It is a link" in refused(with_member(info, b"/etc/passwd"))


def test_a_device_is_refused() -> None:
    info = zipfile.ZipInfo("data.csv")
    info.external_attr = (stat.S_IFCHR | 0o777) << 16
    assert "no plain file" in refused(with_member(info))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_is_there_once() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as opened:
        opened.writestr("a.csv", b"1")
        opened.writestr("a.csv", b"2")
    assert "a.csv: It is there twice" in refused(file)


def test_names_differ_by_more_than_case() -> None:
    assert "differs by case alone" in refused(archive({"a.csv": b"", "A.csv": b""}))


def test_a_file_is_no_folder() -> None:
    assert "a file and a folder" in refused(archive({"a": b"", "a/b": b""}))


def test_an_archive_that_would_burst_is_refused_before_it_is_unpacked() -> None:
    file = archive({"zeros.csv": b"0" * 30_000_000})
    assert "times as large as the archive" in refused(file)
    assert "a bundle has at most 1 MB" in refused(file, Limits(unpacked=1_000_000))


def test_ten_gigabytes_that_an_archive_announces_are_refused() -> None:
    file = archive({"a.csv": b"x"})
    announced = file.getvalue().replace(b"\x01\x00\x00\x00\x05", b"\xfe\xff\xff\xff\x05")
    assert "Unpacked it has" in refused(io.BytesIO(announced), Limits(ratio=10**12))


def test_too_many_files_are_refused() -> None:
    file = archive({f"{number}.csv": b"" for number in range(11)})
    assert "at most 10" in refused(file, Limits(files=10))


def test_what_lies_about_its_size_is_found_when_it_is_read() -> None:
    file = archive({"a.csv": b"x" * 50})
    lying = file.getvalue().replace(b"\x32\x00\x00\x00\x05", b"\x31\x00\x00\x00\x05")
    folder = open_zip(io.BytesIO(lying))
    with pytest.raises(BundleError, match=r"a.csv: It"):
        folder.read("a.csv")


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x03\x04" + b"\0" * 40])
def test_what_is_no_archive_is_refused(content: bytes) -> None:
    assert "no zip archive" in refused(io.BytesIO(content))


def test_the_folder_that_everything_is_in_is_passed_over() -> None:
    folder = open_zip(archive({"top/a.csv": b"x", "top/b/c.csv": b"", "__MACOSX/top/a": b""}))
    assert folder.names == ["a.csv", "b/c.csv"]
    assert folder.read("a.csv") == b"x"


def test_a_folder_on_disk_is_read_like_an_archive(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.csv").write_bytes(b"x")
    assert open_directory(tmp_path).read("data/a.csv") == b"x"
    (tmp_path / "link.csv").symlink_to("/etc/passwd")
    with pytest.raises(BundleError, match=r"link.csv: It is a link"):
        open_directory(tmp_path)


def test_the_same_files_make_the_same_archive() -> None:
    first, second = io.BytesIO(), io.BytesIO()
    for file in (first, second):
        write_zip(file, [("a", b"1"), ("b", b"2")])
    assert first.getvalue() == second.getvalue()
