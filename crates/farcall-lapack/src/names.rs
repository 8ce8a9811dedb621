//! Names of the LAPACK and BLAS routines in use.

macro_rules! routines {
    ($($routine:ident: $s:literal $d:literal $c:literal $z:literal;)*) => {
        /// A routine, for any element type.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum Routine {
            $($routine,)*
        }

        impl Routine {
            pub(crate) const ALL: &[Routine] = &[$(Routine::$routine),*];
            pub(crate) const COUNT: usize = Routine::ALL.len();

            /// Returns the names for the element types s, d, c and z.
            pub(crate) fn names(self) -> [&'static str; 4] {
                match self {
                    $(Routine::$routine => [$s, $d, $c, $z],)*
                }
            }
        }
    };
}
routines! {
    Gemm: "sgemm" "dgemm" "cgemm" "zgemm";
    Trsm: "strsm" "dtrsm" "ctrsm" "ztrsm";
    Potrf: "spotrf" "dpotrf" "cpotrf" "zpotrf";
    Getrf: "sgetrf" "dgetrf" "cgetrf" "zgetrf";
    Geqrf: "sgeqrf" "dgeqrf" "cgeqrf" "zgeqrf";
    Geqp3: "sgeqp3" "dgeqp3" "cgeqp3" "zgeqp3";
    Orgqr: "sorgqr" "dorgqr" "cungqr" "zungqr";
    Ormqr: "sormqr" "dormqr" "cunmqr" "zunmqr";
    Gesdd: "sgesdd" "dgesdd" "cgesdd" "zgesdd";
    Syevd: "ssyevd" "dsyevd" "cheevd" "zheevd";
    Sytrd: "ssytrd" "dsytrd" "chetrd" "zhetrd";
    Geev: "sgeev" "dgeev" "cgeev" "zgeev";
    Gees: "sgees" "dgees" "cgees" "zgees";
    Gehrd: "sgehrd" "dgehrd" "cgehrd" "zgehrd";
    Gtsv: "sgtsv" "dgtsv" "cgtsv" "zgtsv";
}

impl Routine {
    /// Number of parameters that are letters.
    pub(crate) fn letters(self) -> usize {
        match self {
            Routine::Trsm => 4,
            Routine::Gemm | Routine::Ormqr | Routine::Syevd | Routine::Geev | Routine::Gees => 2,
            Routine::Potrf | Routine::Gesdd | Routine::Sytrd => 1,
            Routine::Getrf | Routine::Geqrf | Routine::Geqp3 => 0,
            Routine::Orgqr | Routine::Gehrd | Routine::Gtsv => 0,
        }
    }
}
