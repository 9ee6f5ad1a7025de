"""Says, per programming language, which nodes of its tree-sitter grammar define something and how they are built.

Grammars are Python wheels ``tree_sitter_<language>``; each is loaded when the first file of its language is parsed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language, Parser

_CONTAINER_TYPES = {
    "python": "class_definition",
    "javascript": "class_declaration class",
    "typescript": "class_declaration abstract_class_declaration interface_declaration enum_declaration internal_module "
    "module class",
    "java": "class_declaration interface_declaration enum_declaration record_declaration annotation_type_declaration",
    "c": "struct_specifier union_specifier enum_specifier",
    "cpp": "struct_specifier union_specifier enum_specifier class_specifier namespace_definition",
    "csharp": "namespace_declaration class_declaration struct_declaration interface_declaration record_declaration "
    "enum_declaration",
    "go": "type_spec",
    "rust": "struct_item enum_item union_item trait_item impl_item mod_item",
    "php": "class_declaration interface_declaration trait_declaration enum_declaration namespace_definition",
    "ruby": "class module singleton_class",
    "kotlin": "class_declaration object_declaration companion_object",
    "swift": "class_declaration protocol_declaration",
    "scala": "class_definition object_definition trait_definition enum_definition given_definition",
    "bash": "",
    "lua": "",
}
_FUNCTION_TYPES = {
    "python": "function_definition",
    "javascript": "function_declaration generator_function_declaration method_definition",
    "typescript": "function_declaration generator_function_declaration method_definition function_signature "
    "method_signature abstract_method_signature type_alias_declaration",
    "java": "method_declaration constructor_declaration compact_constructor_declaration",
    "c": "function_definition type_definition preproc_function_def",
    "cpp": "function_definition type_definition preproc_function_def alias_declaration concept_definition",
    "csharp": "method_declaration constructor_declaration destructor_declaration property_declaration "
    "delegate_declaration operator_declaration indexer_declaration local_function_statement",
    "go": "function_declaration method_declaration type_alias",
    "rust": "function_item function_signature_item macro_definition type_item",
    "php": "function_definition method_declaration",
    "ruby": "method singleton_method",
    "kotlin": "function_declaration secondary_constructor type_alias",
    "swift": "function_declaration init_declaration deinit_declaration protocol_function_declaration "
    "subscript_declaration typealias_declaration",
    "scala": "function_definition function_declaration type_definition",
    "bash": "function_definition",
    "lua": "function_declaration",
}
_VALUED = ("arrow_function", "function_expression", "generator_function", "class", "function_definition")
_ASSIGNMENT_TYPES = {
    "javascript": "variable_declarator assignment_expression pair field_definition",
    "typescript": "variable_declarator assignment_expression pair public_field_definition",
    "lua": "assignment_statement field",
}
_WRAPPERS = frozenset(
    "decorated_definition export_statement template_declaration lexical_declaration variable_declaration "
    "expression_statement type_declaration linkage_specification ambient_declaration declaration".split()
)
_COMMENTS = frozenset("comment line_comment block_comment multiline_comment attribute_item doc_comment".split())
_BODIED = frozenset("struct_specifier union_specifier enum_specifier class_specifier mod_item".split())


@dataclass(frozen=True, slots=True)
class Grammar:
    """A loaded grammar and its table.

    ``containers`` are node types that hold further definitions (classes, namespaces), ``functions`` those that do not,
    ``assignments`` give a name to a value which is a definition if its type is in ``values``. ``wrappers`` surround a
    definition (decorators, ``export``), ``comments`` belong to what follows them. ``bodied`` types define something only
    where they have a body, and merely refer to it elsewhere.
    """

    language: Language
    containers: frozenset[str]
    functions: frozenset[str]
    assignments: frozenset[str]
    values: frozenset[str] = frozenset(_VALUED)
    wrappers: frozenset[str] = _WRAPPERS
    comments: frozenset[str] = _COMMENTS
    bodied: frozenset[str] = _BODIED

    def parser(self) -> Parser:
        """A new parser for the language; a parser is for one thread at a time."""
        made: Parser = import_module("tree_sitter").Parser(self.language)
        return made


_MODULES = MappingProxyType(
    {
        "python": ("tree_sitter_python", "language"),
        "javascript": ("tree_sitter_javascript", "language"),
        "typescript": ("tree_sitter_typescript", "language_typescript"),
        "tsx": ("tree_sitter_typescript", "language_tsx"),
        "java": ("tree_sitter_java", "language"),
        "c": ("tree_sitter_c", "language"),
        "cpp": ("tree_sitter_cpp", "language"),
        "csharp": ("tree_sitter_c_sharp", "language"),
        "go": ("tree_sitter_go", "language"),
        "rust": ("tree_sitter_rust", "language"),
        "php": ("tree_sitter_php", "language_php"),
        "ruby": ("tree_sitter_ruby", "language"),
        "kotlin": ("tree_sitter_kotlin", "language"),
        "swift": ("tree_sitter_swift", "language"),
        "scala": ("tree_sitter_scala", "language"),
        "bash": ("tree_sitter_bash", "language"),
        "lua": ("tree_sitter_lua", "language"),
    }
)

LANGUAGES = frozenset(_MODULES)
"""Languages that have a grammar."""


@cache
def grammar(language: str) -> Grammar:
    """The grammar of one of ``LANGUAGES``."""
    module, function = _MODULES[language]
    table = "typescript" if language == "tsx" else language
    return Grammar(
        import_module("tree_sitter").Language(getattr(import_module(module), function)()),
        frozenset(_CONTAINER_TYPES[table].split()),
        frozenset(_FUNCTION_TYPES[table].split()),
        frozenset(_ASSIGNMENT_TYPES.get(table, "").split()),
    )
