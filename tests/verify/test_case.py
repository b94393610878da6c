"""Cases: how they are named, found in their file, and what they may return."""

from pathlib import Path
from types import ModuleType

import pytest

from scanify.errors import ScanifyError
from scanify.verify.cases.case import CaseError, CaseSpec, check_returned, find_function, parse_case


class Array:
    shape = (8, 16)
    dtype = "int32"


SPEC = CaseSpec(Path("/p/cases.py"), "gpt", "cases.py:gpt")


def module_of(source: str) -> ModuleType:
    module = ModuleType("cases")
    exec(source, vars(module))
    return module


def test_a_case_is_a_file_and_a_function(tmp_path: Path) -> None:
    (tmp_path / "cases.py").write_text("def gpt(module): ...")
    spec = parse_case("cases.py:gpt", tmp_path)
    assert spec == CaseSpec(tmp_path / "cases.py", "gpt", "cases.py:gpt")


def test_a_colon_in_a_directory_belongs_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "a:b").mkdir()
    (tmp_path / "a:b" / "cases.py").write_text("def gpt(module): ...")
    assert parse_case("a:b/cases.py:gpt", tmp_path).path == tmp_path / "a:b" / "cases.py"


@pytest.mark.parametrize(
    "text", ["", "cases.py", "cases.py:", ":gpt", "cases.py:gpt()", "cases.py:two words", "cases.py:1"]
)
def test_a_malformed_name_says_what_a_name_is(tmp_path: Path, text: str) -> None:
    (tmp_path / "cases.py").write_text("")
    with pytest.raises(ScanifyError, match=r"named FILE:FUNCTION, such as cases\.py:gpt; got"):
        parse_case(text, tmp_path)


def test_a_missing_file_is_named_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(ScanifyError) as raised:
        parse_case("cases.py:gpt", tmp_path)
    assert str(raised.value) == f"cases.py:gpt: the case file {tmp_path / 'cases.py'} does not exist"


def test_a_directory_is_not_a_case_file(tmp_path: Path) -> None:
    (tmp_path / "cases.py").mkdir()
    with pytest.raises(ScanifyError, match="is a directory"):
        parse_case("cases.py:gpt", tmp_path)


def test_a_file_that_is_not_python_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cases.txt").write_text("")
    with pytest.raises(ScanifyError, match=r"expected a Python file \(\.py\)"):
        parse_case("cases.txt:gpt", tmp_path)


def test_a_function_is_found_in_its_module() -> None:
    module = module_of("def gpt(module): return module, ()")
    assert find_function(module, SPEC) is vars(module)["gpt"]


def test_a_missing_function_lists_those_that_the_file_has() -> None:
    module = module_of("import os\nfrom os.path import join\ndef vit(m): ...\ndef bert(m): ...\ndef _help(): ...")
    with pytest.raises(CaseError) as raised:
        find_function(module, SPEC)
    assert str(raised.value) == "cases.py has no function 'gpt'; it has vit, bert"


def test_a_file_without_functions_says_so() -> None:
    with pytest.raises(CaseError, match="it defines no functions"):
        find_function(module_of("x = 1"), SPEC)


def test_a_case_that_is_no_function_is_refused() -> None:
    with pytest.raises(CaseError, match="not a function but an int"):
        find_function(module_of("gpt = 3"), SPEC)


@pytest.mark.parametrize("head", ["()", "(module, key)", "(*, module)"])
def test_a_case_that_cannot_take_the_module_alone_is_refused(head: str) -> None:
    with pytest.raises(CaseError) as raised:
        find_function(module_of(f"def gpt{head}: ..."), SPEC)
    assert f"must take one argument, the module of the model; it is gpt{head}" in str(raised.value)


@pytest.mark.parametrize("head", ["(module)", "(m, key=None)", "(*args)"])
def test_a_case_may_have_defaults(head: str) -> None:
    assert callable(find_function(module_of(f"def gpt{head}: ..."), SPEC))


def test_a_model_and_its_arguments_get_empty_keyword_arguments() -> None:
    assert check_returned((len, ("abc",)), SPEC) == (len, ("abc",), {})


def test_keyword_arguments_are_kept() -> None:
    assert check_returned((sorted, ([2, 1],), {"reverse": True}), SPEC) == (sorted, ([2, 1],), {"reverse": True})


@pytest.mark.parametrize(
    ("returned", "came"),
    [
        (None, "got None"),
        ([len, ()], "got a list"),
        ((len,), "got a tuple of 1 (builtin_function_or_method)"),
        ((), "got a tuple of 0"),
        ((len, (), {}, 1), "got a tuple of 4 (builtin_function_or_method, tuple, dict, int)"),
        ((3, ()), "with a model that can be called; got an int"),
        ((len, "abc"), "with a tuple of the call's arguments, such as (tokens,); got a str"),
        ((len, ["abc"]), "such as (tokens,); got a list"),
        ((len, Array()), "such as (tokens,); got an array int32[8, 16]"),
        ((len, (), None), "with a dict of the call's keyword arguments; got None"),
        ((len, (), {1: 2}), "with keyword arguments by name; got the key 1"),
    ],
)
def test_nonsense_says_what_was_expected_and_what_came(returned: object, came: str) -> None:
    with pytest.raises(CaseError) as raised:
        check_returned(returned, SPEC)
    message = str(raised.value)
    assert message.startswith("cases.py:gpt: expected the case to return (model, args) or (model, args, kwargs), ")
    assert came in message
    assert "def gpt(module): return" in message
