//! Errors in signatures: the message, the span, the notes.

use expect_test::{Expect, expect};
use farcall_sig::Signature;

#[track_caller]
fn check(text: &str, expected: Expect) {
    match text.parse::<Signature>() {
        Ok(signature) => panic!("accepted: {signature}"),
        Err(error) => expected.assert_eq(&error.render(text)),
    }
}

#[test]
fn grammar() {
    check(
        "",
        expect![[r#"
        expected `(`, found the end
          | 
          | ^
          = a signature begins with its operands and attributes: `(x: f32[n], …) -> (…)`"#]],
    );
    check(
        "x: f32[n] -> (y: f32[n])",
        expect![[r#"
        expected `(`, found `x`
          | x: f32[n] -> (y: f32[n])
          | ^
          = a signature begins with its operands and attributes: `(x: f32[n], …) -> (…)`"#]],
    );
    check(
        "(x: f32[n]) (y: f32[n])",
        expect![[r#"
        expected `->`, found `(`
          | (x: f32[n]) (y: f32[n])
          |             ^
          = the results follow: `-> (y: f32[n])`, or `-> ()` for none"#]],
    );
    check(
        "(x: f32[n]) -> y: f32[n]",
        expect![[r#"
        expected `(`, found `y`
          | (x: f32[n]) -> y: f32[n]
          |                ^
          = results are in parentheses: `-> (y: f32[n])`, or `-> ()` for none"#]],
    );
    check(
        "(x f32[n]) -> ()",
        expect![[r#"
        expected `:`, found `f32`
          | (x f32[n]) -> ()
          |    ^^^
          = a type follows the name: `x: f32[n]` for an operand, `eps: f32` for an attribute"#]],
    );
    check(
        "(x: f32[n) -> ()",
        expect![[r#"
        expected `,` or `]` after a dimension, found `)`
          | (x: f32[n) -> ()
          |          ^"#]],
    );
    check(
        "(x: f32[n] -> (y: f32[n])",
        expect![[r#"
        expected `,` or `)` after a parameter, found `->`
          | (x: f32[n] -> (y: f32[n])
          |            ^^"#]],
    );
    check(
        "(x: f32[n]) -> (y: f32[n]) what",
        expect![[r#"
        expected `where` or the end after the results, found `what`
          | (x: f32[n]) -> (y: f32[n]) what
          |                            ^^^^"#]],
    );
    check(
        "(x: f32[n]) -> (y: f32[n]) where n",
        expect![[r#"
            no property is given for `n`
              | (x: f32[n]) -> (y: f32[n]) where n
              |                                  ^
              = a clause is `T: f32 | f64`, `n: map`, `k: sum`, `k <= n` or `side_effect`"#]],
    );
    check(
        "(x: f32[n]) -> (y: f32[n]) where n: ",
        expect![[r#"
        expected `whole`, `map` or a reducer such as `sum`, found the end
          | (x: f32[n]) -> (y: f32[n]) where n: 
          |                                     ^"#]],
    );
    check(
        "(x: f32[n]) -> (y: f32[@])",
        expect![[r#"
        `@` has no meaning in a signature
          | (x: f32[n]) -> (y: f32[@])
          |                        ^"#]],
    );
    check(
        "(X: f32[n]) -> ()",
        expect![[r#"
        `X` cannot be the name of an operand or attribute
          | (X: f32[n]) -> ()
          |  ^
          = type names begin with a capital letter, other names with a lower-case letter"#]],
    );
    check(
        "(x: f32[N]) -> ()",
        expect![[r#"
        `N` cannot be a dimension
          | (x: f32[N]) -> ()
          |         ^
          = type names begin with a capital letter, other names with a lower-case letter"#]],
    );
    check(
        "(x: f32[_n]) -> ()",
        expect![[r#"
        `_n` cannot be a dimension
          | (x: f32[_n]) -> ()
          |         ^^
          = names begin with a letter"#]],
    );
    check(
        "(x: f32[n, *]) -> ()",
        expect![[r#"
        `*` can only be the first dimension
          | (x: f32[n, *]) -> ()
          |            ^
          = it stands for all leading batch dimensions at once"#]],
    );
    check(
        "(x: f32[n]) -> (y: f32)",
        expect![[r#"
        the result `y` has no dimensions
          | (x: f32[n]) -> (y: f32)
          |                    ^^^
          = a scalar is written `f32[]`"#]],
    );
    check(
        "(x: f32[(n+1]) -> ()",
        expect![[r#"
        expected `)`, found `]`
          | (x: f32[(n+1]) -> ()
          |             ^
          = the parenthesis is not closed"#]],
    );
    check(
        "(x: f32[99999999999999999999]) -> ()",
        expect![[r#"
        the number is too large
          | (x: f32[99999999999999999999]) -> ()
          |         ^^^^^^^^^^^^^^^^^^^^"#]],
    );
    check(
        "(x: f32[n]) -> (y: f32[2*n+]) ",
        expect![[r#"
        expected a dimension: a name, a number or an expression, found `]`
          | (x: f32[n]) -> (y: f32[2*n+]) 
          |                            ^"#]],
    );
    check(
        "(x: f32[n], é: f32) -> ()",
        expect![[r#"
        `é` has no meaning in a signature
          | (x: f32[n], é: f32) -> ()
          |             ^"#]],
    );
    check(
        "(x: f32[n],\n eps: f32 = 1e-6)\n-> (y: f32[n, m])",
        expect![[r#"
            `m` is neither a dimension of an operand nor an integer attribute
              | -> (y: f32[n, m])
              |               ^
              = dimensions here: `n`"#]],
    );
}

#[test]
fn element_types() {
    check(
        "(x: i32[n]) -> ()",
        expect![[r#"
        unknown element type `i32`
          | (x: i32[n]) -> ()
          |     ^^^
          = it is called `s32` here"#]],
    );
    check(
        "(x: float32[n]) -> ()",
        expect![[r#"
        unknown element type `float32`
          | (x: float32[n]) -> ()
          |     ^^^^^^^
          = it is called `f32` here"#]],
    );
    check(
        "(x: bool[n]) -> ()",
        expect![[r#"
        unknown element type `bool`
          | (x: bool[n]) -> ()
          |     ^^^^
          = it is called `pred` here"#]],
    );
    check(
        "(x: int64_t[n]) -> ()",
        expect![[r#"
        unknown element type `int64_t`
          | (x: int64_t[n]) -> ()
          |     ^^^^^^^
          = it is called `s64` here"#]],
    );
    check(
        "(x: half[n]) -> ()",
        expect![[r#"
        unknown element type `half`
          | (x: half[n]) -> ()
          |     ^^^^
          = it is called `f16` here"#]],
    );
    check(
        "(x: complex64[n]) -> ()",
        expect![[r#"
        unknown element type `complex64`
          | (x: complex64[n]) -> ()
          |     ^^^^^^^^^
          = it is called `c64` here"#]],
    );
    check(
        "(x: bf61[n]) -> ()",
        expect![[r#"
        unknown element type `bf61`
          | (x: bf61[n]) -> ()
          |     ^^^^
          = did you mean `bf16`?"#]],
    );
    check(
        "(x: T[n]) -> ()",
        expect![[r#"
        the types that `T` stands for are not declared
          | (x: T[n]) -> ()
          |     ^
          = add `where T: f32 | f64`, or `T: any`"#]],
    );
    check(
        "(x: F32[n]) -> ()",
        expect![[r#"
        the types that `F32` stands for are not declared
          | (x: F32[n]) -> ()
          |     ^^^
          = the element type is called `f32`"#]],
    );
    check(
        "(x: T[n], y: S[n]) -> () where T: f32",
        expect![[r#"
            the types that `S` stands for are not declared
              | (x: T[n], y: S[n]) -> () where T: f32
              |              ^
              = add `where S: f32 | f64`, or `S: any`
              = type variables here: `T`"#]],
    );
    check(
        "(x: T[n]) -> () where T: f32 | f46",
        expect![[r#"
        unknown element type `f46`
          | (x: T[n]) -> () where T: f32 | f46
          |                                ^^^
          = did you mean `f16` or `f64`?"#]],
    );
    check(
        "(x: T[n]) -> () where T: f32 | f32",
        expect![[r#"
        `f32` appears twice
          | (x: T[n]) -> () where T: f32 | f32
          |                                ^^^"#]],
    );
    check(
        "(x: T[n]) -> () where T: f32; T: f64",
        expect![[r#"
        the types of `T` are given twice
          | (x: T[n]) -> () where T: f32; T: f64
          |                               ^"#]],
    );
    check(
        "(x: T[n]) -> () where T, S: f32",
        expect![[r#"
        no operand or result has the type `S`
          | (x: T[n]) -> () where T, S: f32
          |                          ^"#]],
    );
    check(
        "(x: T[n]) -> () where t: f32",
        expect![[r#"
        `f32` is an element type
          | (x: T[n]) -> () where t: f32
          |                          ^^^
          = a type variable begins with a capital letter: `T: f32 | f64`"#]],
    );
    check(
        "(x: T[n]) -> () where T, n: f32",
        expect![[r#"
        `T` is a type among dimensions
          | (x: T[n]) -> () where T, n: f32
          |                       ^
          = type names begin with a capital letter, dimension names with a lower-case letter"#]],
    );
    check(
        "(x: T[n]) -> (y: complex(T)[n]) where T: f32 | bf16",
        expect![[r#"
        `complex(T)` is not defined where `T` is bf16
          | (x: T[n]) -> (y: complex(T)[n]) where T: f32 | bf16
          |                  ^^^^^^^^^^
          = `complex` is defined for f32 and f64"#]],
    );
    check(
        "(x: T[n]) -> (y: complx(T)[n]) where T: f32",
        expect![[r#"
        `complx` is not a function of element types
          | (x: T[n]) -> (y: complx(T)[n]) where T: f32
          |                  ^^^^^^
          = did you mean `complex`?
          = there are `complex(T)`, `real(T)` and `acc(T)`"#]],
    );
    check(
        "(x: f32[n]) -> (y: complex(f32)[n])",
        expect![[r#"
        `complex(f32)` does not depend on a type variable
          | (x: f32[n]) -> (y: complex(f32)[n])
          |                    ^^^^^^^^^^^^
          = write `c64`"#]],
    );
    check(
        "(x: f32[n]) -> (y: T[n]) where T: f32",
        expect![[r#"
        no operand determines `T`
          | (x: f32[n]) -> (y: T[n]) where T: f32
          |                    ^
          = `T` must be the element type of an operand"#]],
    );
    check(
        "(x: real(T)[n]) -> (y: T[n]) where T: f32 | c64",
        expect![[r#"
        no operand determines `T`
          | (x: real(T)[n]) -> (y: T[n]) where T: f32 | c64
          |     ^^^^^^^
          = `real(T)` is the same for several types of `T`"#]],
    );
}

#[test]
fn attributes() {
    check(
        "(x: f32[n], k: s64) -> ()",
        expect![[r#"
        unknown attribute type `s64`
          | (x: f32[n], k: s64) -> ()
          |                ^^^
          = as an attribute it is called `i64`
          = a scalar operand is written `s64[]`"#]],
    );
    check(
        "(x: f32[n], k: int) -> ()",
        expect![[r#"
        unknown attribute type `int`
          | (x: f32[n], k: int) -> ()
          |                ^^^
          = it is called `i64` here"#]],
    );
    check(
        "(x: f32[n], k: int64) -> ()",
        expect![[r#"
        unknown attribute type `int64`
          | (x: f32[n], k: int64) -> ()
          |                ^^^^^
          = it is called `i64` here"#]],
    );
    check(
        "(x: f32[n], k: float32 = 1.0) -> ()",
        expect![[r#"
        unknown attribute type `float32`
          | (x: f32[n], k: float32 = 1.0) -> ()
          |                ^^^^^^^
          = it is called `f32` here"#]],
    );
    check(
        "(x: f32[n], k: size_t) -> ()",
        expect![[r#"
        unknown attribute type `size_t`
          | (x: f32[n], k: size_t) -> ()
          |                ^^^^^^
          = it is called `i64` here"#]],
    );
    check(
        "(x: f32[n], k: bool_) -> ()",
        expect![[r#"
        unknown attribute type `bool_`
          | (x: f32[n], k: bool_) -> ()
          |                ^^^^^
          = it is called `bool` here"#]],
    );
    check(
        "(x: f32[n], k: complex64) -> ()",
        expect![[r#"
        unknown attribute type `complex64`
          | (x: f32[n], k: complex64) -> ()
          |                ^^^^^^^^^
          = an operand has dimensions: `x: f32[n]`"#]],
    );
    check(
        "(x: f32[n], k: T) -> ()",
        expect![[r#"
        `T` is an element type, and has no dimensions
          | (x: f32[n], k: T) -> ()
          |                ^
          = a scalar operand is written `T[]`; an attribute uses an attribute type"#]],
    );
    check(
        "(x: f32[n], k: stri) -> ()",
        expect![[r#"
        unknown attribute type `stri`
          | (x: f32[n], k: stri) -> ()
          |                ^^^^
          = did you mean `str`?
          = an operand has dimensions: `x: f32[n]`"#]],
    );
    check(
        "(k: i8 = 300) -> ()",
        expect![[r#"
        the default does not fit i8
          | (k: i8 = 300) -> ()
          |          ^^^
          = i8 is from -128 to 127"#]],
    );
    check(
        "(k: i64 = 1.5) -> ()",
        expect![[r#"
        the default must be a number of type i64
          | (k: i64 = 1.5) -> ()
          |           ^^^"#]],
    );
    check(
        "(k: bool = 1) -> ()",
        expect![[r#"
        the default must be `true` or `false`
          | (k: bool = 1) -> ()
          |            ^"#]],
    );
    check(
        "(k: f32 = 1e60) -> ()",
        expect![[r#"
        the default is too large for f32
          | (k: f32 = 1e60) -> ()
          |           ^^^^"#]],
    );
    check(
        "(k: str = left) -> ()",
        expect![[r#"
        the default must be a string, in quotes
          | (k: str = left) -> ()
          |           ^^^^"#]],
    );
    check(
        r#"(side: "left" | "right" = "rigth") -> ()"#,
        expect![[r#"
        "rigth" is not one of "left" | "right"
          | (side: "left" | "right" = "rigth") -> ()
          |                           ^^^^^^^
          = did you mean `right`?"#]],
    );
    check(
        r#"(side: "left" | "left") -> ()"#,
        expect![[r#"
        "left" appears twice
          | (side: "left" | "left") -> ()
          |                 ^^^^^^"#]],
    );
    check(
        r#"(side: str = "a\q") -> ()"#,
        expect![[r#"
        `\q` is not an escape
          | (side: str = "a\q") -> ()
          |                ^^
          = the escapes of a string are `\"`, `\\`, `\n` and `\t`"#]],
    );
    check(
        r#"(side: str = "a"#,
        expect![[r#"
        the string does not end
          | (side: str = "a
          |              ^^"#]],
    );
    check(
        "(k: [i64] = 1) -> ()",
        expect![[r#"
        expected `[`, found `1`
          | (k: [i64] = 1) -> ()
          |             ^
          = the default of an array is in brackets: `[1, 2]`"#]],
    );
    check(
        "(k: i64? = 1) -> ()",
        expect![[r#"
        `k` is optional and has a default
          | (k: i64? = 1) -> ()
          |          ^
          = with a default it need not be given: leave out `?`"#]],
    );
    check(
        "(k: dict = 1) -> ()",
        expect![[r#"
        a dictionary cannot have a default
          | (k: dict = 1) -> ()
          |            ^
          = one that may be missing is written `dict?`"#]],
    );
    check(
        "(x: f32[n] = 1) -> ()",
        expect![[r#"
        an operand cannot have a default
          | (x: f32[n] = 1) -> ()
          |            ^
          = an operand that may be missing is written `mask: pred[n]?`"#]],
    );
}

#[test]
fn names() {
    check(
        "(x: f32[n], x: f32) -> ()",
        expect![[r#"
        `x` names an attribute, but is the name of an operand already
          | (x: f32[n], x: f32) -> ()
          |             ^"#]],
    );
    check(
        "(x: f32[n]) -> (x: f32[n])",
        expect![[r#"
        `x` names a result, but is the name of an operand already
          | (x: f32[n]) -> (x: f32[n])
          |                 ^"#]],
    );
    check(
        "(x: f32[min]) -> ()",
        expect![[r#"
        `min` is a function, and cannot name a dimension
          | (x: f32[min]) -> ()
          |         ^^^"#]],
    );
    check(
        "(x: f32[n], mask: f32[n]?, y: f32[n]) -> ()",
        expect![[r#"
        the operand `y` follows an optional operand
          | (x: f32[n], mask: f32[n]?, y: f32[n]) -> ()
          |                            ^
          = write it before `mask`, or make it optional"#]],
    );
    check(
        "(xs: f32[n]..., y: f32[n]) -> ()",
        expect![[r#"
        the variadic operand `xs` must be the last
          | (xs: f32[n]..., y: f32[n]) -> ()
          |  ^^
          = `y` follows it; only attributes and other variadic operands may"#]],
    );
    check(
        "(mask: f32[n]?, xs: f32[n]...) -> ()",
        expect![[r#"
        an op cannot have both optional and variadic operands
          | (mask: f32[n]?, xs: f32[n]...) -> ()
          |                 ^^
          = a call's operands could not be told apart"#]],
    );
}

#[test]
fn dimensions() {
    check(
        "(x: f32[batch, rows]) -> (y: f32[row])",
        expect![[r#"
        `row` is neither a dimension of an operand nor an integer attribute
          | (x: f32[batch, rows]) -> (y: f32[row])
          |                                  ^^^
          = did you mean `rows`?"#]],
    );
    check(
        "(x: f32[m, n]) -> (y: f32[m, k])",
        expect![[r#"
            `k` is neither a dimension of an operand nor an integer attribute
              | (x: f32[m, n]) -> (y: f32[m, k])
              |                              ^
              = dimensions here: `m`, `n`"#]],
    );
    check(
        "(x: f32[2*n+1]) -> (y: f32[n])",
        expect![[r#"
        no operand determines `n`
          | (x: f32[2*n+1]) -> (y: f32[n])
          |           ^
          = `2*n+1` is not solved for it: `n` must stand alone in an operand, or be an attribute"#]],
    );
    check(
        "(x: f32[n], k: f32) -> (y: f32[k])",
        expect![[r#"
        the attribute `k` is f32; only an integer can be a size
          | (x: f32[n], k: f32) -> (y: f32[k])
          |                                ^"#]],
    );
    check(
        "(x: f32[n], k: i64?) -> (y: f32[k])",
        expect![[r#"
        the attribute `k` may be missing, so it cannot be a size
          | (x: f32[n], k: i64?) -> (y: f32[k])
          |                                 ^
          = give it a default instead of `?`"#]],
    );
    check(
        "(x: f32[n]) -> (y: f32[n/0])",
        expect![[r#"
        division by zero
          | (x: f32[n]) -> (y: f32[n/0])
          |                          ^"#]],
    );
    check(
        "(x: f32[n]) -> (y: f32[mni(n, 2)])",
        expect![[r#"
        `mni` is not a function of sizes
          | (x: f32[n]) -> (y: f32[mni(n, 2)])
          |                        ^^^
          = did you mean `min`?
          = there are `min`, `max`, `ceil_div`, `sum` and `len`"#]],
    );
    check(
        "(x: f32[n]) -> (y: f32[min(n)])",
        expect![[r#"
        `n` has one size
          | (x: f32[n]) -> (y: f32[min(n)])
          |                            ^
          = only a dimension that is written `n...` in a variadic operand has several"#]],
    );
    check(
        "(x: f32[n]) -> (y: f32[min(n+1)])",
        expect![[r#"
        `min` takes two or more sizes, or one dimension with dots
          | (x: f32[n]) -> (y: f32[min(n+1)])
          |                        ^^^^^^^^"#]],
    );
    check(
        "(x: f32[n]) -> (y: f32[ceil_div(n)])",
        expect![[r#"
        `ceil_div` takes two sizes
          | (x: f32[n]) -> (y: f32[ceil_div(n)])
          |                        ^^^^^^^^^^^"#]],
    );
    check(
        "(x: f32[n]) -> (y: f32[len(x)])",
        expect![[r#"
        `x` is one operand
          | (x: f32[n]) -> (y: f32[len(x)])
          |                            ^
          = `len` counts variadic operands"#]],
    );
    check(
        "(x: f32[n...]) -> ()",
        expect![[r#"
        `n...` differs between variadic operands, but `x` is one operand
          | (x: f32[n...]) -> ()
          |         ^
          = `x: f32[n...]...` would be any number of operands"#]],
    );
    check(
        "(xs: f32[n...]...) -> (y: f32[n])",
        expect![[r#"
        `n` differs between the variadic operands
          | (xs: f32[n...]...) -> (y: f32[n])
          |                               ^
          = `sum(n)`, `min(n)` and `max(n)` combine the sizes"#]],
    );
    check(
        "(xs: f32[n...]...) -> (y: f32[n...])",
        expect![[r#"
        `n...` differs between variadic operands, but `y` is one result
          | (xs: f32[n...]...) -> (y: f32[n...])
          |                               ^
          = `sum(n)`, `min(n)` and `max(n)` combine the sizes"#]],
    );
    check(
        "(a: f32[n], xs: f32[n...]...) -> ()",
        expect![[r#"
        `n` is written with dots in one place and without in another
          | (a: f32[n], xs: f32[n...]...) -> ()
          |                     ^"#]],
    );
    check(
        "(x: f32[n], mask: f32[n, m]?) -> (y: f32[m])",
        expect![[r#"
        `m` is only known if `mask` is given
          | (x: f32[n], mask: f32[n, m]?) -> (y: f32[m])
          |                                          ^"#]],
    );
    check(
        "(x: f32[n]) -> (y: f32[n]...)",
        expect![[r#"
        `y` is repeated for each entry of the variadic operands, but no operand is variadic
          | (x: f32[n]) -> (y: f32[n]...)
          |                 ^"#]],
    );
    check(
        "(x: f32[n]) -> (y: f32[*, n])",
        expect![[r#"
        `y` has `*`, but no operand has
          | (x: f32[n]) -> (y: f32[*, n])
          |                        ^"#]],
    );
    check(
        "(x: f32[n]) -> (y: f32[n]) where *: sum",
        expect![[r#"
        no operand has `*`
          | (x: f32[n]) -> (y: f32[n]) where *: sum
          |                                  ^"#]],
    );
    check(
        "(x: f32[*, n]) -> (y: f32[n])",
        expect![[r#"
        `y` has no `*`, but an operand has
          | (x: f32[*, n]) -> (y: f32[n])
          |                          ^^^
          = if it is reduced over the batch, say how: `*: sum`
          = if the kernel looks at the whole batch at once, say `*: whole`"#]],
    );
    check(
        "(x: f32[*, n]) -> (y: f32[*, n]) where *: sum",
        expect![[r#"
        no result is reduced over `*`: every result has `*`
          | (x: f32[*, n]) -> (y: f32[*, n]) where *: sum
          |                                        ^
          = a result that is reduced over the batch has no `*`"#]],
    );
}

#[test]
fn what_is_done_with_dimensions() {
    check(
        "(a: f32[m, k], b: f32[k, n]) -> (c: f32[m, n]) where m, p: map",
        expect![[r#"
            `p` is neither a dimension of an operand nor an integer attribute
              | (a: f32[m, k], b: f32[k, n]) -> (c: f32[m, n]) where m, p: map
              |                                                         ^
              = dimensions here: `k`, `m`, `n`"#]],
    );
    check(
        "(a: f32[m, k], b: f32[k, n]) -> (c: f32[m, n]) where m: map; k: smu",
        expect![[r#"
        unknown reducer `smu`
          | (a: f32[m, k], b: f32[k, n]) -> (c: f32[m, n]) where m: map; k: smu
          |                                                                 ^^^
          = did you mean `sum`?
          = a dimension is `whole`, `map`, or reduced by `sum`, `prod`, `max`, `min`, `and` or `or`"#]],
    );
    check(
        "(a: f32[m, k], b: f32[k, n]) -> (c: f32[m, n]) where m: map; k: mean",
        expect![[r#"
        unknown reducer `mean`
          | (a: f32[m, k], b: f32[k, n]) -> (c: f32[m, n]) where m: map; k: mean
          |                                                                 ^^^^
          = a dimension is `whole`, `map`, or reduced by `sum`, `prod`, `max`, `min`, `and` or `or`"#]],
    );
    check(
        "(a: f32[m, k], b: f32[k, n]) -> (c: f32[m, n]) where m: sum",
        expect![[r#"
            `m` is reduced, but every result has it
              | (a: f32[m, k], b: f32[k, n]) -> (c: f32[m, n]) where m: sum
              |                                                      ^
              = if each entry is independent, say `m: map`"#]],
    );
    check(
        "(a: f32[m, k], b: f32[k, n]) -> (c: f32[m, n]) where k: map",
        expect![[r#"
        `k` is mapped, but the result `c` does not have it
          | (a: f32[m, k], b: f32[k, n]) -> (c: f32[m, n]) where k: map
          |                                                      ^
          = say how the kernel reduces over it (`k: sum`), or leave it whole"#]],
    );
    check(
        "(a: f32[m, k]) -> (c: f32[m]) where m: map; k: sum; m: whole",
        expect![[r#"
        `m` is declared twice
          | (a: f32[m, k]) -> (c: f32[m]) where m: map; k: sum; m: whole
          |                                                     ^"#]],
    );
    check(
        "(x: f32[n, n]) -> (y: f32[n]) where n: map",
        expect![[r#"
        `n` is in `x` twice, so it cannot be split
          | (x: f32[n, n]) -> (y: f32[n]) where n: map
          |                                     ^"#]],
    );
    check(
        "(x: f32[n]) -> (y: f32[n], z: f32[2*n]) where n: map",
        expect![[r#"
        `n` is part of `2*n` in `z`, so it cannot be split
          | (x: f32[n]) -> (y: f32[n], z: f32[2*n]) where n: map
          |                                               ^
          = a dimension that is mapped or reduced stands alone"#]],
    );
    check(
        "(x: f32[n], k: i64) -> (y: f32[n]) where n: map; k <= n",
        expect![[r#"
        the condition `k <= n` is about all of `n`, so it cannot be split
          | (x: f32[n], k: i64) -> (y: f32[n]) where n: map; k <= n
          |                                          ^"#]],
    );
    check(
        "(x: f32[n], k: i64) -> (y: f32[k]) where k: map",
        expect![[r#"
        `k` is an attribute, not a dimension of the operands
          | (x: f32[n], k: i64) -> (y: f32[k]) where k: map
          |                                          ^"#]],
    );
    check(
        "(xs: f32[n...]...) -> (y: f32[sum(n)]) where n: map",
        expect![[r#"
        `n` differs between the variadic operands, so it cannot be split
          | (xs: f32[n...]...) -> (y: f32[sum(n)]) where n: map
          |                                              ^"#]],
    );
    check(
        "(x: f32[n]) -> () where n: sum",
        expect![[r#"
        `n` is reduced, but there is no result
          | (x: f32[n]) -> () where n: sum
          |                         ^"#]],
    );
    check(
        "(x: f32[n]) -> (y: f32[]) where n: and",
        expect![[r#"
        `y` may be f32, which `and` does not combine
          | (x: f32[n]) -> (y: f32[]) where n: and
          |                                 ^"#]],
    );
    check(
        "(x: T[n]) -> (y: T[]) where T: f32 | c64; n: max",
        expect![[r#"
        `y` may be c64, which `max` does not combine
          | (x: T[n]) -> (y: T[]) where T: f32 | c64; n: max
          |                                           ^"#]],
    );
    check(
        "(x: T[n]) -> (y: T[]) where T: any; n: sum",
        expect![[r#"
        `y` may be pred, which `sum` does not combine
          | (x: T[n]) -> (y: T[]) where T: any; n: sum
          |                                     ^"#]],
    );
    check(
        "(x: f32[*, n], acc: f32[n]) -> (y: f32[n] aliases acc) where *: sum",
        expect![[r#"
        `y` starts from the values of `acc`, which each part of `*` would include again
          | (x: f32[*, n], acc: f32[n]) -> (y: f32[n] aliases acc) where *: sum
          |                                                              ^
          = leave the dimension whole"#]],
    );
    check(
        "(x: f32[n], k: i64) -> (y: f32[n]) where k < p",
        expect![[r#"
            `p` is neither a dimension of an operand nor an integer attribute
              | (x: f32[n], k: i64) -> (y: f32[n]) where k < p
              |                                              ^
              = dimensions here: `n`, `k`"#]],
    );
    check(
        "(x: f32[n]) -> (y: f32[n]) where n: map; row: offset(n)",
        expect![[r#"
            `row` is not an operand, so it cannot be an offset
              | (x: f32[n]) -> (y: f32[n]) where n: map; row: offset(n)
              |                                          ^^^
              = declare it: `row: s32[]`"#]],
    );
    check(
        "(x: f32[n], row: f32[]) -> (y: f32[n]) where n: map; row: offset(n)",
        expect![[r#"
            `row` is an offset, so it is one number: `row: s32[]` or `row: s64[]`
              | (x: f32[n], row: f32[]) -> (y: f32[n]) where n: map; row: offset(n)
              |                                                      ^^^"#]],
    );
    check(
        "(x: f32[n], row: s32[]?) -> (y: f32[n]) where n: map; row: offset(n)",
        expect![[r#"
            `row` is an offset, so it is one number: `row: s32[]` or `row: s64[]`
              | (x: f32[n], row: s32[]?) -> (y: f32[n]) where n: map; row: offset(n)
              |                                                       ^^^"#]],
    );
    check(
        "(x: f32[n], row: s32[]) -> (y: f32[n]) where n: map; row: offset(m)",
        expect![[r#"
            `m` is not a dimension of an operand, so it has no offset
              | (x: f32[n], row: s32[]) -> (y: f32[n]) where n: map; row: offset(m)
              |                                                                  ^"#]],
    );
    check(
        "(x: f32[n], row: s32[]) -> (y: f32[n]) where n: map; row: offset(n); row: offset(n)",
        expect![[r#"
            `row` is declared twice
              | (x: f32[n], row: s32[]) -> (y: f32[n]) where n: map; row: offset(n); row: offset(n)
              |                                                                      ^^^"#]],
    );
    check(
        "(x: f32[n], row: s32[]) -> (y: f32[n]) where n: map; row, x: offset(n)",
        expect![[r#"
            `offset` applies to one operand
              | (x: f32[n], row: s32[]) -> (y: f32[n]) where n: map; row, x: offset(n)
              |                                                      ^^^
              = an offset belongs to a dimension: `row: offset(m)`"#]],
    );
    check(
        "(x: f32[n], row: s32[]) -> (y: f32[n]) where n: map; row: offset",
        expect![[r#"
            expected `(`, found the end
              | (x: f32[n], row: s32[]) -> (y: f32[n]) where n: map; row: offset
              |                                                                 ^
              = an offset belongs to a dimension: `row: offset(m)`"#]],
    );
    check(
        "(x: f32[n]) -> () where side_effect; side_effect",
        expect![[r#"
        `side_effect` appears twice
          | (x: f32[n]) -> () where side_effect; side_effect
          |                                      ^^^^^^^^^^^"#]],
    );
    check(
        "(x: f32[n]) -> () where side_effects",
        expect![[r#"
            no property is given for `side_effects`
              | (x: f32[n]) -> () where side_effects
              |                         ^^^^^^^^^^^^
              = did you mean `side_effect`?
              = a clause is `T: f32 | f64`, `n: map`, `k: sum`, `k <= n` or `side_effect`"#]],
    );
}

#[test]
fn memory_and_presence() {
    check(
        "(x: f32[n]) -> (y: f32[n] aliases z)",
        expect![[r#"
            there is no operand `z`
              | (x: f32[n]) -> (y: f32[n] aliases z)
              |                                   ^
              = operands here: `x`"#]],
    );
    check(
        "(x: f32[n]) -> (y: s32[n] aliases x)",
        expect![[r#"
        `y` is not of the type of `x`, which it aliases
          | (x: f32[n]) -> (y: s32[n] aliases x)
          |                                   ^
          = `y` is `s32[n]`
          = `x` is `f32[n]`"#]],
    );
    check(
        "(x: f32[m, n] column_major) -> (y: f32[m, n] aliases x)",
        expect![[r#"
        `y` is not of the type of `x`, which it aliases
          | (x: f32[m, n] column_major) -> (y: f32[m, n] aliases x)
          |                                                      ^
          = `y` is `f32[m, n]`
          = `x` is `f32[m, n] column_major`"#]],
    );
    check(
        "(x: f32[n]) -> (y: f32[n] aliases x, z: f32[n] aliases x)",
        expect![[r#"
        `y` aliases `x` already
          | (x: f32[n]) -> (y: f32[n] aliases x, z: f32[n] aliases x)
          |                                                        ^"#]],
    );
    check(
        "(b: f32[n], x: f32[n]?) -> (y: f32[n] aliases x)",
        expect![[r#"
        `x` may be missing, and then there is nothing to alias
          | (b: f32[n], x: f32[n]?) -> (y: f32[n] aliases x)
          |                                               ^
          = with `if x`, the result exists only if `x` is given"#]],
    );
    check(
        "(x: f32[n]) -> (y: f32[n] if x)",
        expect![[r#"
        the operand `x` is not optional
          | (x: f32[n]) -> (y: f32[n] if x)
          |                              ^
          = without `if x`, the result is always there"#]],
    );
    check(
        "(x: f32[n]) -> (y: f32[n]?)",
        expect![[r#"
        a result cannot be optional on its own
          | (x: f32[n]) -> (y: f32[n]?)
          |                          ^
          = with `if mask`, the result exists only if the optional operand `mask` is given"#]],
    );
    check(
        "(x: f32[n] column_major) -> ()",
        expect![[r#"
        `column_major` exchanges the last two dimensions
          | (x: f32[n] column_major) -> ()
          |            ^^^^^^^^^^^^
          = `[n]` has 1, without batch dimensions"#]],
    );
    check(
        "(x: f32[m, n] layout(0, 0)) -> ()",
        expect![[r#"
        the layout must name each dimension of `[m, n]` once
          | (x: f32[m, n] layout(0, 0)) -> ()
          |               ^^^^^^^^^^^^
          = the numbers are 0 to 1, without batch dimensions"#]],
    );
    check(
        "(x: f32[m, n] layout(m, n)) -> ()",
        expect![[r#"
        a layout must list numbers, not `m`
          | (x: f32[m, n] layout(m, n)) -> ()
          |                      ^
          = the first dimension after `*` is 0"#]],
    );
}

#[test]
fn bounds() {
    let deep = format!("(x: f32[{}n{}]) -> ()", "(".repeat(100_000), ")".repeat(100_000));
    assert_eq!(deep.parse::<Signature>().unwrap_err().message, "parentheses are nested deeper than 32");
    let long = format!("(x: f32[n{}]) -> ()", "+n".repeat(100_000));
    assert_eq!(long.parse::<Signature>().unwrap_err().message, "the signature's expressions are too long");
    let types = format!("(x: {}T{}[n]) -> () where T: f32", "acc(".repeat(1000), ")".repeat(1000));
    assert_eq!(types.parse::<Signature>().unwrap_err().message, "nested too deeply");
}

#[test]
fn any_dimensions() {
    check(
        "(x: f32[.., n]) -> ()",
        expect![[r#"
        `..` stands for all dimensions, and must be alone
          | (x: f32[.., n]) -> ()
          |         ^^
          = leading batch dimensions are `*`: `[*, n]`"#]],
    );
    check(
        "(x: f32[*, ..]) -> ()",
        expect![[r#"
        `..` stands for all dimensions, and must be alone
          | (x: f32[*, ..]) -> ()
          |            ^^
          = leading batch dimensions are `*`: `[*, n]`"#]],
    );
    check(
        "(x: f32[..) -> ()",
        expect![[r#"
        expected `]` after `..`, found `)`
          | (x: f32[..) -> ()
          |           ^"#]],
    );
    check(
        "(x: f32[..] column_major) -> ()",
        expect![[r#"
        a tensor of any number of dimensions is row-major
          | (x: f32[..] column_major) -> ()
          |             ^^^^^^^^^^^^"#]],
    );
    check(
        "(x: f32[*, n]) -> (y: f32[..])",
        expect![[r#"
        `y` can have any dimensions, but an operand has `*`
          | (x: f32[*, n]) -> (y: f32[..])
          |                          ^^^^
          = its batch dimensions are unknown: declare `*: whole`"#]],
    );
    check(
        "(x: f32[*, n]) -> (y: f32[..]) where *: sum",
        expect![[r#"
        `y` can have any dimensions, but an operand has `*`
          | (x: f32[*, n]) -> (y: f32[..]) where *: sum
          |                          ^^^^
          = its batch dimensions are unknown: declare `*: whole`"#]],
    );
    check(
        "(x: f32[n], y: f32[..]) -> (z: f32[..]) where n: sum",
        expect![[r#"
        `z` can have any dimensions, so `n` cannot be split
          | (x: f32[n], y: f32[..]) -> (z: f32[..]) where n: sum
          |                                               ^
          = its dimensions are unknown"#]],
    );
    check(
        "(x: f32[..], n: i64) -> (z: f32[n] aliases x)",
        expect![[r#"
        `z` is not of the type of `x`, which it aliases
          | (x: f32[..], n: i64) -> (z: f32[n] aliases x)
          |                                            ^
          = `z` is `f32[n]`
          = `x` is `f32[..]`"#]],
    );
    check(
        "(x: f32[..]) -> (y: f32[n])",
        expect![[r#"
        `n` is neither a dimension of an operand nor an integer attribute
          | (x: f32[..]) -> (y: f32[n])
          |                         ^"#]],
    );
}
