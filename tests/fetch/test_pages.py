"""Pages as Markdown, their encodings, and what files are called."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from openviking.ingest.fetch.charset import other_text, page_text
from openviking.ingest.fetch.client import Answer
from openviking.ingest.fetch.documents import documents_of
from openviking.ingest.fetch.page import markdown_of
from openviking.ingest.fetch.web_address import web_address

PAGE = """<!doctype html><html><head><title>Penguins — The Zoo</title><style>p{}</style></head><body>
<nav><a href="/">Home</a></nav><header role=banner>Menu</header><aside>Tickets</aside>
<main><h1>Penguins<a class="headerlink" href="#p">¶</a></h1><p>They eat <b>krill</b>, see <a href="../food#k">food</a>.</p>
<ul><li>one<ul><li>two</li></ul></li></ul><table><tr><th>Kind</th><th>kg</th></tr><tr><td>Emperor</td><td>40</td></tr></table>
<pre><code class="language-python">def eat(x):
    return x &lt; 3
</code></pre><img src="a.png" alt="a penguin"><script>steal()</script><form><input value="q"></form></main>
<footer>Imprint</footer></body></html>"""


def docs(body: bytes, url: str = "https://example.org/zoo/penguins.html", **headers: str) -> Mapping[str, bytes]:
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    return documents_of(Answer(200, web_address(url), told, body)).files


def test_a_page_keeps_what_a_reader_came_for() -> None:
    text = markdown_of(PAGE, "https://example.org/zoo/penguins.html").markdown
    for wanted in (
        "# Penguins", "**krill**", "[food](https://example.org/food#k)", "- one", "  * two", "| Emperor | 40 |",
        "```python\ndef eat(x):\n    return x < 3", "![a penguin](https://example.org/zoo/a.png)",
    ):  # fmt: skip
        assert wanted in text, (wanted, text)
    for unwanted in ("Home", "Menu", "Tickets", "steal", "Imprint", "¶", "<"):
        assert unwanted not in text.replace("x < 3", ""), (unwanted, text)


def test_a_page_without_heading_has_its_title_and_one_with_a_short_main_is_taken_whole() -> None:
    assert markdown_of("<title>Krill</title><p>Small.</p>", "https://a.org/").markdown == "# Krill\n\nSmall.\n"
    text = markdown_of(f"<main></main><p>{'outside ' * 50}</p>", "https://a.org/").markdown
    assert "outside" in text


def test_a_page_has_no_front_matter() -> None:
    page = markdown_of("<hr><p>title: Other<br>description: x</p><hr><hr><p>" + "krill " * 50, "https://example.org/")
    assert page.markdown.startswith("title: Other")


@pytest.mark.parametrize(
    "html",
    [
        "",
        " ",
        "<div id=app></div><script>render()</script>",
        "<p> </p><hr>",
        "<div>" * 3_000 + "deep" + "</div>" * 3_000,
    ],
    ids=["empty", "blank", "script", "rule", "deep"],
)
def test_what_has_no_text_of_its_own_stays_html_and_says_so(html: str) -> None:
    page = markdown_of(html, "https://a.org/")
    assert page.markdown == ""
    assert "kept as HTML" in page.why
    assert list(docs(html.encode(), content_type="text/html")) == ["penguins.html"]


@given(some.text("<>/=\"' \n&;#-!abpdivtablemainarticle\0\ud800ü", max_size=300))
@settings(max_examples=50)
def test_any_text_is_a_page(html: str) -> None:
    page = markdown_of(html, "https://a.org/b")
    assert page.markdown or page.why
    page.markdown.encode()


@pytest.mark.slow
@pytest.mark.parametrize(
    "html",
    [
        "<b>" * 300_000,
        "<table><tr><td>" * 50_000,
        "<a href='" * 200_000,
        "<" * 1_000_000,
        "<main><p>x</main>" * 20_000,
        "<!--" * 200_000,
    ],
)
def test_hostile_markup_takes_no_time(html: str) -> None:
    page = markdown_of(html, "https://a.org/")
    assert page.markdown or page.why


def test_the_encoding_of_a_page() -> None:
    for data, told, text in (
        ("äß".encode(), "text/html", "äß"),
        ("äß".encode("latin-1"), "text/html; charset=ISO-8859-1", "äß"),
        (b"\x80", "text/html; charset=latin1", "€"),
        ("企鹅".encode("gb18030"), 'text/html;charset="GB2312"', "企鹅"),
        ("ペンギン".encode("cp932"), "text/html; charset=Shift_JIS", "ペンギン"),
        (b"<meta charset=koi8-r>" + "пингвин".encode("koi8-r"), "text/html", "<meta charset=koi8-r>пингвин"),
        (b"<meta charset=utf-16>\xc3\xa4", "text/html", "<meta charset=utf-16>ä"),
        (b"\xef\xbb\xbf\xc3\xa4", "text/html; charset=latin1", "ä"),
        ("ä".encode("utf-16"), "text/html", "ä"),
        (b"\xc3\xa4", "text/html; charset=zip", "ä"),
        (b"\xc3\xa4", "text/html; charset=rot13", "ä"),
        (b"a\xffb\0", "text/html; charset=utf-8", "a\ufffdb\ufffd"),
    ):  # fmt: skip
        assert page_text(data, told) == text, (data, told)
    assert other_text("äöü".encode("latin-1"), "text/plain; charset=koi8-r") == "äöü".encode("latin-1").decode("koi8-r")
    assert other_text("äöü".encode(), "text/plain; charset=utf-8") is None
    assert other_text(b"plain", "text/plain") is None


@pytest.mark.parametrize(
    ("url", "told", "body", "names"),
    [
        ("/zoo/penguins.html", {"content_type": "text/html"}, PAGE, ["penguins.md", "penguins.html"]),
        ("/zoo/", {"content_type": "text/html; charset=utf-8"}, PAGE, ["zoo.md", "zoo.html"]),
        ("/", {"content_type": "application/xhtml+xml"}, PAGE, ["example.org.md", "example.org.html"]),
        ("/index.php?id=3", {"content_type": "text/html"}, PAGE, ["index.md", "index.html"]),
        ("/v1.2", {"content_type": "text/html"}, PAGE, ["v1.2.md", "v1.2.html"]),
        ("/x", {}, PAGE, ["x.md", "x.html"]),
        ("/x.html", {"content_type": "text/plain"}, PAGE, ["x.html"]),
        ("/a.md", {"content_type": "text/markdown"}, "# A", ["a.md"]),
        ("/README", {"content_type": "text/plain"}, "read", ["README"]),
        ("/Makefile", {"content_type": "text/plain"}, "all:", ["Makefile"]),
        ("/a.py", {"content_type": "text/plain; charset=utf-8"}, "x = 1", ["a.py"]),
        ("/api/things", {"content_type": "application/json"}, "{}", ["things.json"]),
        ("/paper", {"content_type": "application/pdf"}, "%PDF-1.7", ["paper.pdf"]),
        ("/2601.00014", {"content_type": "application/pdf"}, "%PDF-1.7", ["2601.00014.pdf"]),
        ("/get?f=1", {"content_disposition": 'attachment; filename="Q3 report.csv"'}, "a,b", ["Q3 report.csv"]),
        ("/get", {"content_disposition": "attachment; filename*=UTF-8''%C3%A4.txt"}, "a", ["ä.txt"]),
        ("/get", {"content_disposition": 'attachment; filename="../../etc/passwd"', "content_type": "text/plain"}, "a", ["passwd.txt"]),
        ("/get", {"content_disposition": 'attachment; filename="C:\\\\x\\\\.."'}, "a", ["get"]),
        ("/get.txt", {"content_disposition": "attachment; filename*=idna''%ff"}, "a", ["get.txt"]),
        ("/get.txt", {"content_disposition": "attachment; filename*1*=x''y;filename*"}, "a", ["get.txt"]),
        ("/get.txt", {"content_disposition": "attachment; filename*0*=zlib\0''%d8"}, "a", ["get.txt"]),
        ("/get.txt", {"content_disposition": "attachment; filename*;filename*1*=utf-8''a"}, "a", ["get.txt"]),
        ("/%2e%2e%2fetc%2fpasswd", {"content_type": "text/plain"}, "a", ["passwd.txt"]),
        ("/a%00b.txt", {}, "a", ["a_b.txt"]),
        ("/.abstract.md", {"content_type": "text/plain"}, "a", ["_abstract.md"]),
    ],
)  # fmt: skip
def test_names(url: str, told: dict[str, str], body: str, names: list[str]) -> None:
    assert list(docs(body.encode(), f"https://example.org{url}", **told)) == names


def test_a_text_in_an_encoding_that_only_its_server_knows_is_kept_and_read() -> None:
    data = "Пингвины едят криль".encode("koi8-r")[:9] + b"\n"
    files = docs(data, "https://example.org/a.txt", content_type="text/plain; charset=cp1251")
    assert files.get("a.txt") == data
    assert files.get("a.utf-8.txt", data.decode("cp1251").encode()) == data.decode("cp1251").encode()
