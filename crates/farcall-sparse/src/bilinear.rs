//! Declaration of bilinear products with all derivatives of the first and second order.

/// Declares a product, bilinear in its operands `first` and `second`, as a derivative of a
/// [`Form`](crate::form::Form), with six ops that compute its derivatives.
///
/// For each of these arguments, the macro is given the argument's role in the form, the names of the argument
/// and of its derivatives, and its shape. The names follow the SDK's rule: `da` for a derivative of `a`, and
/// `ta` for a tangent where `da` has another meaning.
macro_rules! bilinear {
    (
        $(#[doc = $doc:literal])*
        mod $module:ident: $op:literal, $jvp:literal, $bwd:literal, $jvp_jvp:literal, $jvp_bwd:literal,
            $bwd_jvp:literal, $bwd_bwd:literal;
        form($form:ident :: $make:ident $(, $m:ident)?);
        operands($($operand:ident: $element:ident $shape:tt),*);
        first($ru:ident: $u:ident, $du:ident, $tu:ident, $dtu:ident, $tdu:ident, $ddu:ident; $us:tt);
        second($rv:ident: $v:ident, $dv:ident, $tv:ident, $dtv:ident, $tdv:ident, $ddv:ident; $vs:tt);
        result($rw:ident: $w:ident, $dw:ident, $tw:ident, $dtw:ident, $tdw:ident, $ddw:ident; $ws:tt);
        indices($($index:ident: $index_shape:tt),*);
        forward($($forward:tt)*);
        backward($($backward:tt)*);
        mixed($($mixed:tt)*);
        samples($samples:ident);
    ) => {
        $(#[doc = $doc])*
        #[expect(clippy::too_many_arguments, reason = "those of the signatures")]
        pub mod $module {
            use farcall_ffi::prelude::*;

            use crate::form::Role;
            use super::$form;

            fn form<'a>($($index: &'a AnyBuffer,)* $($m: i64)?) -> $form<'a> {
                let attr = None$(.or(Some((stringify!($m), $m))))?;
                $form::$make([$($index),*], [$(stringify!($index)),*], attr, Role::$rw)
            }

            $(#[doc = $doc])*
            #[handler(name = $op)]
            #[signature(($($operand: $element $shape),* $(, $m: i64)?) -> ($w: T $ws)
                where T: f32 | f64 | c64 | c128; I: s32 | s64; $($forward)*)]
            #[vjp(backward = bwd)]
            #[jvp(tangent = jvp, tangent(_) = t_)]
            #[samples(crate::samples::$samples)]
            pub fn op(
                context: &Context,
                $($operand: &AnyBuffer,)*
                $($m: i64,)?
                $w: &mut AnyBuffer,
            ) -> Result<()> {
                let out = (Role::$rw, stringify!($w), $w);
                let (u, v) = ((Role::$ru, stringify!($u), $u), (Role::$rv, stringify!($v), $v));
                form($($index,)* $($m)?).derive(context, [u, v], out, false)
            }

            /// Tangent of the product.
            #[handler(name = $jvp)]
            #[signature(($u: T $us, $($index: I $index_shape,)* $v: T $vs, $tu: T $us, $tv: T $vs
                $(, $m: i64)?)
                -> ($tw: T $ws) where T: f32 | f64 | c64 | c128; I: s32 | s64; $($forward)*)]
            #[jvp(tangent = jvp_jvp)]
            #[vjp(backward = jvp_bwd)]
            pub fn jvp(
                context: &Context,
                $u: &AnyBuffer,
                $($index: &AnyBuffer,)*
                $v: &AnyBuffer,
                $tu: &AnyBuffer,
                $tv: &AnyBuffer,
                $($m: i64,)?
                $tw: &mut AnyBuffer,
            ) -> Result<()> {
                let (u, v) = ((Role::$ru, stringify!($u), $u), (Role::$rv, stringify!($v), $v));
                let (tu, tv) = ((Role::$ru, stringify!($tu), $tu), (Role::$rv, stringify!($tv), $tv));
                let terms = [[tu, v], [u, tv]];
                form($($index,)* $($m)?).add_up(context, &terms, (Role::$rw, stringify!($tw), $tw))
            }

            /// Cotangents of the operands of the product.
            #[handler(name = $bwd)]
            #[signature(($u: T $us, $($index: I $index_shape,)* $v: T $vs, $dw: T $ws $(, $m: i64)?)
                -> ($du: T $us, $dv: T $vs) where T: f32 | f64 | c64 | c128; I: s32 | s64; $($backward)*)]
            #[jvp(tangent = bwd_jvp, tangent(_) = t_)]
            #[vjp(backward = bwd_bwd)]
            pub fn bwd(
                context: &Context,
                $u: &AnyBuffer,
                $($index: &AnyBuffer,)*
                $v: &AnyBuffer,
                $dw: &AnyBuffer,
                $($m: i64,)?
                $du: &mut AnyBuffer,
                $dv: &mut AnyBuffer,
            ) -> Result<()> {
                let (u, v) = ((Role::$ru, stringify!($u), $u), (Role::$rv, stringify!($v), $v));
                let dw = (Role::$rw, stringify!($dw), $dw);
                form($($index,)* $($m)?).add_up(context, &[[v, dw]], (Role::$ru, stringify!($du), $du))?;
                form($($index,)* $($m)?).add_up(context, &[[u, dw]], (Role::$rv, stringify!($dv), $dv))
            }

            /// Tangent of the tangent of the product.
            #[handler(name = $jvp_jvp)]
            #[signature(($u: T $us, $($index: I $index_shape,)* $v: T $vs, $tu: T $us, $tv: T $vs,
                $du: T $us, $dv: T $vs, $dtu: T $us, $dtv: T $vs $(, $m: i64)?) -> ($dtw: T $ws)
                where T: f32 | f64 | c64 | c128; I: s32 | s64; $($forward)*)]
            pub fn jvp_jvp(
                context: &Context,
                $u: &AnyBuffer,
                $($index: &AnyBuffer,)*
                $v: &AnyBuffer,
                $tu: &AnyBuffer,
                $tv: &AnyBuffer,
                $du: &AnyBuffer,
                $dv: &AnyBuffer,
                $dtu: &AnyBuffer,
                $dtv: &AnyBuffer,
                $($m: i64,)?
                $dtw: &mut AnyBuffer,
            ) -> Result<()> {
                let (u, v) = ((Role::$ru, stringify!($u), $u), (Role::$rv, stringify!($v), $v));
                let (tu, tv) = ((Role::$ru, stringify!($tu), $tu), (Role::$rv, stringify!($tv), $tv));
                let (du, dv) = ((Role::$ru, stringify!($du), $du), (Role::$rv, stringify!($dv), $dv));
                let (dtu, dtv) = ((Role::$ru, stringify!($dtu), $dtu), (Role::$rv, stringify!($dtv), $dtv));
                let terms = [[dtu, v], [tu, dv], [du, tv], [u, dtv]];
                form($($index,)* $($m)?).add_up(context, &terms, (Role::$rw, stringify!($dtw), $dtw))
            }

            /// Cotangents of the operands of the product's tangent.
            #[handler(name = $jvp_bwd)]
            #[signature(($u: T $us, $($index: I $index_shape,)* $v: T $vs, $tu: T $us, $tv: T $vs,
                $dtw: T $ws $(, $m: i64)?)
                -> ($du: T $us, $dv: T $vs, $dtu: T $us, $dtv: T $vs)
                where T: f32 | f64 | c64 | c128; I: s32 | s64; $($backward)*)]
            pub fn jvp_bwd(
                context: &Context,
                $u: &AnyBuffer,
                $($index: &AnyBuffer,)*
                $v: &AnyBuffer,
                $tu: &AnyBuffer,
                $tv: &AnyBuffer,
                $dtw: &AnyBuffer,
                $($m: i64,)?
                $du: &mut AnyBuffer,
                $dv: &mut AnyBuffer,
                $dtu: &mut AnyBuffer,
                $dtv: &mut AnyBuffer,
            ) -> Result<()> {
                let (u, v) = ((Role::$ru, stringify!($u), $u), (Role::$rv, stringify!($v), $v));
                let (tu, tv) = ((Role::$ru, stringify!($tu), $tu), (Role::$rv, stringify!($tv), $tv));
                let dtw = (Role::$rw, stringify!($dtw), $dtw);
                form($($index,)* $($m)?).add_up(context, &[[tv, dtw]], (Role::$ru, stringify!($du), $du))?;
                form($($index,)* $($m)?).add_up(context, &[[tu, dtw]], (Role::$rv, stringify!($dv), $dv))?;
                form($($index,)* $($m)?).add_up(context, &[[v, dtw]], (Role::$ru, stringify!($dtu), $dtu))?;
                form($($index,)* $($m)?).add_up(context, &[[u, dtw]], (Role::$rv, stringify!($dtv), $dtv))
            }

            /// Tangents of the cotangents of the product's operands.
            #[handler(name = $bwd_jvp)]
            #[signature(($u: T $us, $($index: I $index_shape,)* $v: T $vs, $dw: T $ws,
                $tu: T $us, $tv: T $vs, $tdw: T $ws $(, $m: i64)?) -> ($tdu: T $us, $tdv: T $vs)
                where T: f32 | f64 | c64 | c128; I: s32 | s64; $($backward)*)]
            pub fn bwd_jvp(
                context: &Context,
                $u: &AnyBuffer,
                $($index: &AnyBuffer,)*
                $v: &AnyBuffer,
                $dw: &AnyBuffer,
                $tu: &AnyBuffer,
                $tv: &AnyBuffer,
                $tdw: &AnyBuffer,
                $($m: i64,)?
                $tdu: &mut AnyBuffer,
                $tdv: &mut AnyBuffer,
            ) -> Result<()> {
                let (u, v) = ((Role::$ru, stringify!($u), $u), (Role::$rv, stringify!($v), $v));
                let (tu, tv) = ((Role::$ru, stringify!($tu), $tu), (Role::$rv, stringify!($tv), $tv));
                let (dw, tdw) = ((Role::$rw, stringify!($dw), $dw), (Role::$rw, stringify!($tdw), $tdw));
                let terms = [[tv, dw], [v, tdw]];
                form($($index,)* $($m)?).add_up(context, &terms, (Role::$ru, stringify!($tdu), $tdu))?;
                let terms = [[tu, dw], [u, tdw]];
                form($($index,)* $($m)?).add_up(context, &terms, (Role::$rv, stringify!($tdv), $tdv))
            }

            /// Cotangents of the operands of the backward op.
            #[handler(name = $bwd_bwd)]
            #[signature(($u: T $us, $($index: I $index_shape,)* $v: T $vs, $dw: T $ws,
                $ddu: T $us, $ddv: T $vs $(, $m: i64)?) -> ($du: T $us, $dv: T $vs, $ddw: T $ws)
                where T: f32 | f64 | c64 | c128; I: s32 | s64; $($mixed)*)]
            pub fn bwd_bwd(
                context: &Context,
                $u: &AnyBuffer,
                $($index: &AnyBuffer,)*
                $v: &AnyBuffer,
                $dw: &AnyBuffer,
                $ddu: &AnyBuffer,
                $ddv: &AnyBuffer,
                $($m: i64,)?
                $du: &mut AnyBuffer,
                $dv: &mut AnyBuffer,
                $ddw: &mut AnyBuffer,
            ) -> Result<()> {
                let (u, v) = ((Role::$ru, stringify!($u), $u), (Role::$rv, stringify!($v), $v));
                let (ddu, ddv) = ((Role::$ru, stringify!($ddu), $ddu), (Role::$rv, stringify!($ddv), $ddv));
                let dw = (Role::$rw, stringify!($dw), $dw);
                form($($index,)* $($m)?).add_up(context, &[[ddv, dw]], (Role::$ru, stringify!($du), $du))?;
                form($($index,)* $($m)?).add_up(context, &[[ddu, dw]], (Role::$rv, stringify!($dv), $dv))?;
                let terms = [[ddu, v], [u, ddv]];
                form($($index,)* $($m)?).add_up(context, &terms, (Role::$rw, stringify!($ddw), $ddw))
            }

            /// The product and its derivatives.
            pub const OPS: &[&OpDescriptor] = ops![op, jvp, bwd, jvp_jvp, jvp_bwd, bwd_jvp, bwd_bwd];
        }
    };
}
pub(crate) use bilinear;
