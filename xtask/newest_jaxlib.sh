#!/bin/sh
# Runs the Python tests with jaxlib 0.12 (FFI 0.5), which needs Python 3.12 or later, in a separate Debian
# system. The tests use the artifacts built on this machine. They run Rust handlers in that jaxlib. In
# farcall's engine, they run the handlers of that jaxlib, and C++ handlers built with its headers. `cargo
# xtask test-newest` calls this script, as root, with debootstrap installed:
#
#     newest_jaxlib.sh EXAMPLES PACKAGE FOLDER [MIRROR]
#
# MIRROR defaults to the mirror in this machine's package sources.
#
# EXAMPLES has the libraries of the examples, PACKAGE the Python package. FOLDER is kept for the next run. The
# system uses this machine's certificates and pip settings (PIP_* variables).
set -eu
examples=$(realpath "$1")
package=$(realpath "$2")
folder=$3
mirror=${4:-}
checkout=$(realpath "$(dirname "$0")/..")
certificates=/etc/ssl/certs/ca-certificates.crt
# Increment the number in this name when the set of packages that this script installs changes.
complete=$folder/complete-4

inside() {
    env -i $(env | grep -E '^(PIP_[A-Z_]*|[a-zA-Z]*_(proxy|PROXY))=' | grep -v -E '^PIP_(FIND_LINKS|CERT)=') \
        HOME=/root PATH=/usr/bin:/bin PIP_CERT=$certificates SSL_CERT_FILE=$certificates \
        "$(command -v chroot)" "$folder" "$@"
}

if [ ! -e "$complete" ]; then
    if [ -z "$mirror" ]; then
        # Security mirrors do not contain a whole distribution.
        mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -v security | head -n 1)
    fi
    if [ -z "$mirror" ]; then
        echo "this machine has no sources of Debian packages: give the address of a mirror" >&2
        exit 1
    fi
    rm -rf "$folder"
    debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates,g++ trixie "$folder" "$mirror"
    cp "$certificates" "$folder$certificates"
    cp /etc/resolv.conf "$folder/etc/resolv.conf"
    cp /etc/hosts "$folder/etc/hosts"
    inside python3 -m venv /venv
    inside /venv/bin/pip install --quiet jax==0.12.0 jaxlib==0.12.0 numpy scipy flatbuffers \
        pypjrt==0.1.1 pytest pytest-timeout pytest-xdist
    touch "$complete"
fi

rm -rf "$folder/farcall"
mkdir -p "$folder/farcall/examples" "$folder/farcall/checkout/crates/farcall-ffi/tests" "$folder/farcall/checkout/crates/farcall/tests" "$folder/farcall/checkout/python"
cp "$examples"/lib*_ops.so "$examples/libfarcall_linalg.so" "$examples/libfarcall_sparse.so" "$examples/farcall" "$examples/lesson" "$folder/farcall/examples"
cp -r "$package" "$folder/farcall/package"
cp -r "$checkout/crates/farcall-ffi/tests/python" "$folder/farcall/checkout/crates/farcall-ffi/tests/python"
cp -r "$checkout/crates/farcall-ffi/include" "$folder/farcall/checkout/crates/farcall-ffi/include"
cp -r "$checkout/crates/farcall/tests/cc" "$folder/farcall/checkout/crates/farcall/tests/cc"
cp -r "$checkout/python/tests" "$checkout/python/backend_tests" "$folder/farcall/checkout/python"

# Runs the tests of a folder on a backend of JAX, by default on XLA's CPU backend.
tests() {
    echo "## $1"
    # On some processors for which this jaxlib uses YNNPACK, sums are unsupported: "Unsupported reduction
    # reduce_sum". The tests need eight devices.
    flags="--xla_force_host_platform_device_count=8 --xla_cpu_experimental_ynn_fusion_type="
    inside /usr/bin/env PYTHONPATH=/farcall/package FARCALL_EXAMPLES=/farcall/examples JAX_PLATFORMS="${2:-cpu}" \
        XLA_FLAGS="$flags" \
        FARCALL_JAX_FFI_LIB=/farcall/examples/libjax_ffi_ops.so PYTHONDONTWRITEBYTECODE=1 \
        /venv/bin/python -m pytest -q -p no:cacheprovider --numprocesses auto --dist loadfile --timeout 600 --timeout-method thread \
        "/farcall/checkout/$1" || failed=1
}
failed=0
tests crates/farcall-ffi/tests/python
# Tests that need the program `farcall`, Cargo or the folder `xtask` run outside of this system.
for outside in new reload jax_suite jax_tests jax_users; do
    rm "$folder/farcall/checkout/python/tests/test_$outside.py"
done
tests python/tests
tests python/backend_tests farcall
exit $failed
