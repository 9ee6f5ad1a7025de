"""Tells which language a file is written in, by its name or its first line."""

from __future__ import annotations

import re

_EXTENSIONS = {
    "markdown": "md markdown mdown mkd mdx mdwn qmd rmd",
    "html": "html htm xhtml shtml",
    "json": "json geojson webmanifest ipynb har avsc map",
    "jsonc": "jsonc json5 code-workspace",
    "jsonl": "jsonl ndjson",
    "yaml": "yaml yml",
    "toml": "toml",
    "ini": "ini cfg conf cnf properties env editorconfig desktop service",
    "csv": "csv",
    "tsv": "tsv tab",
    "xml": "xml xsd xsl xslt svg rss atom plist pom csproj vcxproj xaml resx wsdl",
    "rst": "rst rest",
    "asciidoc": "adoc asciidoc",
    "tex": "tex latex sty cls bib",
    "python": "py pyi pyw pyx pxd",
    "javascript": "js mjs cjs jsx",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "java": "java",
    "c": "c h",
    "cpp": "cpp cc cxx c++ hpp hh hxx h++ ipp inl cu cuh ino",
    "csharp": "cs csx",
    "go": "go",
    "rust": "rs",
    "php": "php php3 php4 php5 phtml",
    "ruby": "rb rake gemspec ru podspec",
    "kotlin": "kt kts",
    "swift": "swift",
    "scala": "scala sc sbt",
    "bash": "sh bash zsh ksh bats",
    "lua": "lua",
    "sql": "sql ddl dml psql",
    "r": "r",
    "perl": "pl pm pod t",
    "haskell": "hs lhs",
    "elixir": "ex exs",
    "erlang": "erl hrl",
    "clojure": "clj cljs cljc edn",
    "ocaml": "ml mli",
    "fsharp": "fs fsi fsx",
    "julia": "jl",
    "dart": "dart",
    "groovy": "groovy gradle",
    "objective-c": "m mm",
    "powershell": "ps1 psm1 psd1",
    "batch": "bat cmd",
    "zig": "zig",
    "nim": "nim",
    "d": "d",
    "pascal": "pas pp",
    "fortran": "f f90 f95 f03 for",
    "ada": "adb ads",
    "lisp": "lisp lsp cl el scm rkt",
    "vb": "vb vbs bas",
    "assembly": "s asm",
    "css": "css",
    "scss": "scss sass",
    "less": "less",
    "vue": "vue",
    "svelte": "svelte",
    "graphql": "graphql gql",
    "protobuf": "proto",
    "thrift": "thrift",
    "terraform": "tf tfvars hcl",
    "cmake": "cmake",
    "makefile": "mk mak",
    "dockerfile": "dockerfile",
    "diff": "diff patch",
    "vim": "vim",
    "nix": "nix",
    "solidity": "sol",
    "verilog": "v sv vh",
    "vhdl": "vhd vhdl",
    "tcl": "tcl",
    "awk": "awk",
    "matlab": "mat",
}
_BY_EXTENSION = {extension: language for language, names in _EXTENSIONS.items() for extension in names.split()}

_BY_NAME = {
    "dockerfile": "dockerfile",
    "containerfile": "dockerfile",
    "makefile": "makefile",
    "gnumakefile": "makefile",
    "cmakelists.txt": "cmake",
    "gemfile": "ruby",
    "rakefile": "ruby",
    "vagrantfile": "ruby",
    "podfile": "ruby",
    "brewfile": "ruby",
    "jenkinsfile": "groovy",
    "pipfile": "toml",
    "cargo.lock": "toml",
    "poetry.lock": "toml",
    "uv.lock": "toml",
    "package-lock.json": "json",
    "composer.lock": "json",
    "yarn.lock": "",
    "go.mod": "go-module",
    ".bashrc": "bash",
    ".bash_profile": "bash",
    ".profile": "bash",
    ".zshrc": "bash",
    ".vimrc": "vim",
    ".gitconfig": "ini",
    ".editorconfig": "ini",
    ".env": "ini",
    ".npmrc": "ini",
    ".babelrc": "jsonc",
    ".eslintrc": "jsonc",
    ".prettierrc": "yaml",
    ".clang-format": "yaml",
    "sconstruct": "python",
    "wscript": "python",
    "build": "python",
    "build.bazel": "python",
    "workspace": "python",
    "pkgbuild": "bash",
    "readme": "markdown",
}

_INTERPRETERS = {
    "python": "python",
    "pypy": "python",
    "node": "javascript",
    "nodejs": "javascript",
    "deno": "typescript",
    "bun": "typescript",
    "ts-node": "typescript",
    "sh": "bash",
    "bash": "bash",
    "dash": "bash",
    "ksh": "bash",
    "zsh": "bash",
    "ash": "bash",
    "ruby": "ruby",
    "perl": "perl",
    "php": "php",
    "lua": "lua",
    "luajit": "lua",
    "rscript": "r",
    "awk": "awk",
    "gawk": "awk",
    "tclsh": "tcl",
    "julia": "julia",
    "scala": "scala",
    "kotlin": "kotlin",
    "swift": "swift",
    "make": "makefile",
    "pwsh": "powershell",
    "groovy": "groovy",
    "elixir": "elixir",
}
_SHEBANG = re.compile(
    r"#![ \t]*(?:\S*/)?(?:env[ \t]+(?:-\S+[ \t]+|\w+=\S+[ \t]+)*)?(?:\S*/)?([A-Za-z][A-Za-z\-]*)[\d.]*(?:[ \t\r\n]|$)"
)
_HTML = re.compile(r"\s*(?:<!doctype\s+html|<html[\s>])", re.IGNORECASE)
_CPP = re.compile(
    r"^\s*(?:class\s+\w+[^;(]*[{:]|namespace\s+\w*|template\s*<|using\s+\w|public:|private:|#include\s*<\w+>)",
    re.MULTILINE,
)
_OBJECTIVE_C = re.compile(r"^\s*(?:@(?:interface|implementation|protocol|import)\b|#import\b)", re.MULTILINE)

DATA = frozenset({"json", "jsonc", "jsonl", "yaml", "toml", "ini", "csv", "tsv", "xml"})
"""Languages whose text is data rather than prose or program."""

PROSE = frozenset({"", "rst", "asciidoc", "tex"})
"""Languages whose text is read as plain prose."""


def language_of(name: str, text: str) -> str:
    """The language of a file in lower case, "" for plain text.

    A well-known file name counts most, then the extension, then a shebang line, then an HTML doctype.
    """
    base = name.rsplit("/", 1)[-1].lower()
    if base in _BY_NAME:
        return _BY_NAME[base]
    if base.startswith(("dockerfile.", "containerfile.")):
        return "dockerfile"
    if base.startswith((".env.", "makefile.")):
        return "ini" if base[1] == "e" else "makefile"
    if "." in base:
        extension = base.rsplit(".", 1)[1]
        if extension in _BY_EXTENSION:
            return _settled(_BY_EXTENSION[extension], extension, text[:20_000])
        if extension in ("txt", "text", "log"):
            return ""
    shebang = _SHEBANG.match(text[:200])
    if shebang:
        return _INTERPRETERS.get(shebang[1].lower(), "")
    return "html" if _HTML.match(text[:500]) else ""


def _settled(language: str, extension: str, head: str) -> str:
    """``language``, where the extension leaves a choice decided by the text's beginning."""
    if extension == "h":
        if _OBJECTIVE_C.search(head):
            return "objective-c"
        return "cpp" if _CPP.search(head) else "c"
    if extension == "m" and not _OBJECTIVE_C.search(head) and re.search(r"^\s*(?:function\b|%)", head, re.MULTILINE):
        return "matlab"
    if extension == "mat":
        return ""
    return language
