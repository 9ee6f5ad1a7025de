"""What the outline of a program says, in every language that has a grammar."""

from __future__ import annotations

from typing import Any

import pytest

from openviking.parse import parse
from openviking.parse.grammars import LANGUAGES

# Per file: a program, its outline as (depth, signature), and one definition with its documentation.
PROGRAMS: dict[str, tuple[str, list[tuple[int, str]], tuple[str, str]]] = {
    "a.py": (
        '''"""Module doc here."""
import os

# about f
@deco
def f(a, b=1) -> int:
    """Add two small numbers."""
    return a

class K(Base):
    """A K class."""
    def m(self): pass
    async def n(self):
        return 1
''',
        [
            (0, "def f(a, b=1) -> int"),
            (0, "class K(Base)"),
            (1, "def m(self)"),
            (1, "async def n(self)"),
        ],
        ("f", "Add two small numbers."),
    ),
    "a.js": (
        """// adds numbers
export function add(a, b) { return a + b }
export default class Foo extends Bar {
  /** Runs the whole thing. */
  run(x) { return x }
  handler = (e) => { e }
}
const arrow = async (x) => { return x }
exports.thing = function (y) { return y }
const o = { key: function() { return 1 } }
""",
        [
            (0, "export function add(a, b)"),
            (0, "export default class Foo extends Bar"),
            (1, "run(x)"),
            (1, "handler = (e)"),
            (0, "const arrow = async (x)"),
            (0, "exports.thing = function (y)"),
            (0, "key: function()"),
        ],
        ("add", "adds numbers"),
    ),
    "a.ts": (
        """export interface Shape { area(): number; name: string }
type Id = string | number
export abstract class Foo<T> implements Shape {
  private x = 1
  constructor(private a: number) {}
  async run(x: number): Promise<void> { }
  abstract go(): void
}
enum Color { Red, Green }
namespace NS { export function inner(): void {} }
// Returns what it gets.
export const fn = (a: string): string => a
declare function ext(a: number): void
""",
        [
            (0, "export interface Shape"),
            (1, "area(): number"),
            (0, "type Id = string | number"),
            (0, "export abstract class Foo<T> implements Shape"),
            (1, "constructor(private a: number)"),
            (1, "async run(x: number): Promise<void>"),
            (1, "abstract go(): void"),
            (0, "enum Color"),
            (0, "namespace NS"),
            (1, "export function inner(): void"),
            (0, "export const fn = (a: string): string"),
            (0, "declare function ext(a: number): void"),
        ],
        ("fn", "Returns what it gets."),
    ),
    "a.tsx": (
        """// Shows the whole page.
export const App = (p: Props) => <div>{p.a}</div>
function Other() { return <b/> }
""",
        [
            (0, "export const App = (p: Props)"),
            (0, "function Other()"),
        ],
        ("App", "Shows the whole page."),
    ),
    "a.java": (
        """package a.b;
/** Doc of A. */
@Entity
public class A extends B implements C {
  private int x;
  public A(int x) { this.x = x; }
  /** Returns the x coordinate. */
  @Override
  public int getX() { return x; }
  enum E { P, Q }
  record R(int a) {}
}
interface I { void foo(); }
""",
        [
            (0, "public class A extends B implements C"),
            (1, "public A(int x)"),
            (1, "public int getX()"),
            (1, "enum E"),
            (1, "record R(int a)"),
            (0, "interface I"),
            (1, "void foo()"),
        ],
        ("A", "Doc of A."),
    ),
    "a.c": (
        """#include <stdio.h>
#define MAX(a,b) ((a)>(b)?(a):(b))
/* A point in the plane. */
struct point { int x; int y; };
typedef struct { int a; } T;
static int *find(struct point *p, int n) { return 0; }
int main(void) { return 0; }
enum color { RED };
""",
        [
            (0, "#define MAX(a,b) ((a)>(b)?(a):(b))"),
            (0, "struct point"),
            (0, "typedef struct { int a; } T"),
            (0, "static int *find(struct point *p, int n)"),
            (0, "int main(void)"),
            (0, "enum color"),
        ],
        ("point", "A point in the plane."),
    ),
    "a.cpp": (
        """namespace ns {
/// Holds one value only.
template <typename T>
class Box : public Base {
 public:
  Box(int a) : a_(a) {}
  ~Box() {}
  T get() const { return a_; }
  bool operator==(const Box& o) const { return true; }
};
}
int ns::Box::other(int x) { return x; }
using Alias = int;
""",
        [
            (0, "namespace ns"),
            (1, "template <typename T> class Box : public Base"),
            (2, "Box(int a) : a_(a)"),
            (2, "~Box()"),
            (2, "T get() const"),
            (2, "bool operator==(const Box& o) const"),
            (0, "int ns::Box::other(int x)"),
            (0, "using Alias = int"),
        ],
        ("Box", "Holds one value only."),
    ),
    "a.cs": (
        """using System;
namespace App.Core {
  /// <summary>Holds the settings.</summary>
  [Serializable]
  public class Foo : Bar {
    public int Prop { get; set; }
    public Foo() {}
    public async Task<int> RunAsync(int x) { return 1; }
  }
  interface IFoo { void Do(); }
  record Rec(int A);
  enum E { A }
}
""",
        [
            (0, "namespace App.Core"),
            (1, "public class Foo : Bar"),
            (2, "public int Prop"),
            (2, "public Foo()"),
            (2, "public async Task<int> RunAsync(int x)"),
            (1, "interface IFoo"),
            (2, "void Do()"),
            (1, "record Rec(int A)"),
            (1, "enum E"),
        ],
        ("Foo", "Holds the settings."),
    ),
    "a.go": (
        """// Package p does.
package p

// Server answers all requests.
type Server struct { a int }
type ( X int
 Y interface { Do() } )
// Start starts it.
func (s *Server) Start(ctx context.Context) error { return nil }
func New() *Server { return nil }
""",
        [
            (0, "type Server"),
            (0, "type X int"),
            (0, "Y"),
            (0, "func (s *Server) Start(ctx context.Context) error"),
            (0, "func New() *Server"),
        ],
        ("Server", "Server answers all requests."),
    ),
    "a.rs": (
        """//! crate doc
/// A point in the plane.
#[derive(Debug)]
pub struct Point { x: i32 }
impl fmt::Display for Point {
    fn fmt(&self) -> i32 { 1 }
}
pub trait Shape { fn area(&self) -> f64; }
enum E { A }
mod inner { pub fn deep() {} }
macro_rules! mac { () => {} }
pub async fn go<T>(x: T) -> T { x }
""",
        [
            (0, "pub struct Point"),
            (0, "impl fmt::Display for Point"),
            (1, "fn fmt(&self) -> i32"),
            (0, "pub trait Shape"),
            (1, "fn area(&self) -> f64"),
            (0, "enum E"),
            (0, "mod inner"),
            (1, "pub fn deep()"),
            (0, "macro_rules! mac"),
            (0, "pub async fn go<T>(x: T) -> T"),
        ],
        ("Point", "crate doc A point in the plane."),
    ),
    "a.php": (
        """<?php
namespace App\\Models;
/** Somebody who logs in. */
class User extends Model {
    public function getName(): string { return $this->name; }
    private static function make() {}
}
interface I { public function x(); }
trait T { function t() {} }
function helper($a) { return $a; }
enum Suit { case A; }
""",
        [
            (0, "namespace App\\Models"),
            (0, "class User extends Model"),
            (1, "public function getName(): string"),
            (1, "private static function make()"),
            (0, "interface I"),
            (1, "public function x()"),
            (0, "trait T"),
            (1, "function t()"),
            (0, "function helper($a)"),
            (0, "enum Suit"),
        ],
        ("User", "Somebody who logs in."),
    ),
    "a.rb": (
        """# Doc of mod
module Mod
  class Foo < Bar
    # Greets somebody by name.
    def hello(name)
      puts name
    end
    def self.build; end
  end
end
def top; end
""",
        [
            (0, "module Mod"),
            (1, "class Foo < Bar"),
            (2, "def hello(name)"),
            (2, "def self.build"),
            (0, "def top"),
        ],
        ("Mod", "Doc of mod"),
    ),
    "a.kt": (
        """package a
/** Holds a point. */
data class P(val x: Int) {
    fun dist(o: P): Int { return 1 }
    companion object {
        fun of() = P(1)
    }
}
interface Shape {
    fun area(): Double
}
object Single {
    fun go() {}
}
fun String.ext(a: Int): String = this
enum class C { A }
typealias N = Int
""",
        [
            (0, "data class P(val x: Int)"),
            (1, "fun dist(o: P): Int"),
            (1, "companion object"),
            (2, "fun of()"),
            (0, "interface Shape"),
            (1, "fun area(): Double"),
            (0, "object Single"),
            (1, "fun go()"),
            (0, "fun String.ext(a: Int): String"),
            (0, "enum class C"),
            (0, "typealias N = Int"),
        ],
        ("P", "Holds a point."),
    ),
    "a.swift": (
        """/// Holds all the state.
public class Foo: Bar {
    init(a: Int) { }
    func run(x: Int) -> Int { return x }
    deinit {}
}
struct S { var a: Int }
protocol P { func go() }
extension Foo { func more() {} }
enum E { case a }
func top() {}
""",
        [
            (0, "public class Foo: Bar"),
            (1, "init(a: Int)"),
            (1, "func run(x: Int) -> Int"),
            (1, "deinit"),
            (0, "struct S"),
            (0, "protocol P"),
            (1, "func go()"),
            (0, "extension Foo"),
            (1, "func more()"),
            (0, "enum E"),
            (0, "func top()"),
        ],
        ("Foo", "Holds all the state."),
    ),
    "a.scala": (
        """package a
/** Holds all the state. */
class Foo(a: Int) extends Bar {
  def run(x: Int): Int = x + 1
}
object Foo { def make() = new Foo(1) }
trait T { def go(): Unit }
case class P(x: Int)
enum Color { case Red }
""",
        [
            (0, "class Foo(a: Int) extends Bar"),
            (1, "def run(x: Int): Int"),
            (0, "object Foo"),
            (1, "def make()"),
            (0, "trait T"),
            (1, "def go(): Unit"),
            (0, "case class P(x: Int)"),
            (0, "enum Color"),
        ],
        ("Foo", "Holds all the state."),
    ),
    "a.sh": (
        """#!/bin/bash
# Greets whoever is there.
greet() { echo hi; }
function other { echo x; }
""",
        [
            (0, "greet()"),
            (0, "function other"),
        ],
        ("greet", "Greets whoever is there."),
    ),
    "a.lua": (
        """-- Adds two small numbers.
local function add(a, b) return a + b end
function M.sub(a) return a end
function M:meth(x) return x end
M.x = function(y) return y end
local t = { k = function() end }
""",
        [
            (0, "local function add(a, b)"),
            (0, "function M.sub(a)"),
            (0, "function M:meth(x)"),
            (0, "M.x = function(y)"),
            (0, "k = function()"),
        ],
        ("add", "Adds two small numbers."),
    ),
}


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_outline(name: str, checked: Any) -> None:
    text, outline, documented = PROGRAMS[name]
    document = parse(name, text)
    assert [(entry.depth, entry.signature) for entry in document.outline] == outline
    assert documented in [(entry.name, entry.lead) for entry in document.outline]
    (passage,) = checked(document, text)
    assert set(passage.symbol.split()) == {entry.name for entry in document.outline}


def test_every_grammar_has_a_program() -> None:
    assert {parse(name, text).language for name, (text, _, _) in PROGRAMS.items()} == LANGUAGES
